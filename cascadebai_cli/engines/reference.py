"""The reference engine: one step after the other, as close to the pseudocode as Python gets. Slow on purpose."""

from cascadebai_cli.engines.outcomes import Outcomes
from cascadebai_cli.engines.run import Run, Status
from cascadebai_cli.learners.protocol import Learner
from cascadebai_cli.learners.racing import RacingLearner
from cascadebai_cli.model.feedback import Feedback


def run_reference(learner: Learner, outcomes: Outcomes, feedback: Feedback, max_steps: int | None = None) -> Run:
    """Show lists until the learner stops, or `max_steps` lists were shown."""
    steps = observations = 0
    while not learner.finished and (max_steps is None or steps < max_steps):
        shown = learner.select()
        seen = feedback.reveal(shown, outcomes.next)
        learner.observe(shown, seen)
        steps += 1
        observations += len(seen)
    return _result(learner, steps, observations)


def _result(learner: Learner, steps: int, observations: int) -> Run:
    status: Status = "stopped" if learner.finished else "capped"
    if not isinstance(learner, RacingLearner):
        return Run(steps, status, observations, tuple(learner.recommendation))
    race = learner.race
    return Run(
        steps=steps,
        status=status,
        observations=observations,
        recommendation=race.recommendation,
        accepted=tuple(race.accepted),
        rejected=tuple(race.rejected),
        counts=tuple(learner.T.tolist()),
    )
