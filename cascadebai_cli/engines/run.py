"""What any engine returns of one trial."""

from dataclasses import dataclass
from typing import Literal

from cascadebai_cli.learners.racing import Race
from cascadebai_cli.model.instance import IntArray

Status = Literal["stopped", "capped"]


@dataclass(frozen=True)
class Run:
    """Outcome of one trial.

    Attributes:
        steps: number of lists shown, the time complexity; the cap if `status` is `capped`.
        status: `stopped` if the learner stopped by itself, `capped` if `max_steps` ended the run.
        observations: number of outcomes of survivors that were observed.
        recommendation: the items returned; of a capped run what the learner would return now, if it was to be asked.
        accepted: items in the order of acceptance (empty for learners that do not race).
        rejected: items in the order of rejection, those of one step in the order of the list of items.
        counts: number of observations of each item while it survived, length `L`; of racing learners and KL-LUCB++.
    """

    steps: int
    status: Status
    observations: int
    recommendation: tuple[int, ...]
    accepted: tuple[int, ...] = ()
    rejected: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()


def run_of(race: Race, steps: int, counts: IntArray) -> Run:
    """The run of a racing learner.

    Args:
        race: as it stands at the end.
        steps: number of lists shown.
        counts: observations of each item, shape `(L,)`.
    """
    return Run(
        steps=steps,
        status="stopped" if race.finished else "capped",
        observations=int(counts.sum()),
        recommendation=race.recommendation,
        accepted=tuple(race.accepted),
        rejected=tuple(race.rejected),
        counts=tuple(counts.tolist()),
    )
