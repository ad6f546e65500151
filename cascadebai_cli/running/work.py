"""The work of a worker: what it is given, and what it gives back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from cascadebai_cli.engines.simulate import ENGINES
from cascadebai_cli.errors import CascadeError
from cascadebai_cli.learners.protocol import Learner
from cascadebai_cli.store.schema import TrialRow
from cascadebai_cli.study.cells import Cell

HAND_BACK_SECONDS = 20.0


class Begun(NamedTuple):
    """A trial that was paused; it goes on in any process.

    Attributes:
        trial: its number.
        learner: as it stands after `steps` steps.
        seconds: that these took.
    """

    trial: int
    learner: Learner
    steps: int
    seconds: float


class Block(NamedTuple):
    """Some trials of one cell.

    Attributes:
        cell: the cell; `items`, the names, may be left out.
        position: place of the cell in the grid.
        trials: numbers of the trials.
        twice: whether the first of them is run twice, to see that it can be repeated.
        begun: those of them that were paused.
    """

    cell: Cell
    position: int
    trials: tuple[int, ...]
    twice: bool = False
    begun: tuple[Begun, ...] = ()


def engine_versions() -> dict[str, int]:
    """Version of each engine of this program."""
    return {name: engine.version for name, engine in ENGINES.items()}


@dataclass(frozen=True)
class Settings:
    """What is the same for all blocks of a sweep.

    Args:
        seed: the root seed.
        fail_fast: whether a block ends at its first trial that raises.
        with_items: whether finished trials carry the items found and the clicks expected.
        engine_versions: of the parent; a worker with others refuses.
        seconds: after which trials that run side by side are handed back, those that have not ended paused.
    """

    seed: int
    fail_fast: bool = False
    with_items: bool = False
    engine_versions: Mapping[str, int] = field(default_factory=engine_versions)
    seconds: float = HAND_BACK_SECONDS


class NotRepeatable(CascadeError):
    """A learner of one's own whose rows nobody could make again; the sweep ends.

    Args:
        text: the sentence.
        algorithm: its name.
    """

    def __init__(self, text: str, algorithm: str) -> None:
        super().__init__(text, algorithm)
        self.algorithm = algorithm

    def __str__(self) -> str:
        return str(self.args[0])


class Failed(NamedTuple):
    """A trial that raised: the error in one line, and where it came from."""

    trial: int
    error: str
    trace: str


class BlockResult(NamedTuple):
    """What became of the trials of one block."""

    position: int
    finished: list[TrialRow]
    failed: list[Failed]
    paused: tuple[Begun, ...] = ()
