"""The reference engine: one step after the other, as close to the pseudocode as Python gets. Slow on purpose."""

from cascadebai_cli.engines.outcomes import Outcomes
from cascadebai_cli.engines.reward_table import RewardTable
from cascadebai_cli.engines.run import Run, Status, run_of
from cascadebai_cli.learners.kl_lucb import KLLucb
from cascadebai_cli.learners.protocol import Learner
from cascadebai_cli.learners.racing import LeastObservedFirst
from cascadebai_cli.model.feedback import Draw, Feedback


def run_reference(
    learner: Learner, outcomes: Outcomes | RewardTable, feedback: Feedback, max_steps: int | None = None
) -> Run:
    """Show lists until the learner stops, or `max_steps` lists were shown."""
    steps = observations = 0
    while not learner.finished and (max_steps is None or steps < max_steps):
        shown = learner.select()
        seen = feedback.reveal(shown, _draw(outcomes, steps))
        learner.observe(shown, seen)
        steps += 1
        observations += len(seen)
    return _result(learner, steps, observations)


def _draw(outcomes: Outcomes | RewardTable, step: int) -> Draw:
    """Outcomes of the next step: of a table that row, else whatever each item answers next."""
    return outcomes.at(step) if isinstance(outcomes, RewardTable) else outcomes.next


def _result(learner: Learner, steps: int, observations: int) -> Run:
    if isinstance(learner, LeastObservedFirst):
        return run_of(learner.race, steps, learner.T)
    status: Status = "stopped" if learner.finished else "capped"
    counts = tuple(learner.T.tolist()) if isinstance(learner, KLLucb) else ()
    return Run(steps, status, observations, tuple(learner.recommendation), counts=counts)
