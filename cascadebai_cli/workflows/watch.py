"""What a workflow tells while it works; whoever calls it decides what becomes of that."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from cascadebai_cli.running.work import BlockResult


class Counter(Protocol):
    """Takes in results of blocks, in the order in which they come."""

    def update(self, result: "BlockResult") -> None:
        """Some more trials are done."""

    def expect(self, missing: Sequence[int]) -> None:
        """So many more trials of each cell are about to run."""


class Watch(Protocol):
    """Follows a workflow."""

    def warn(self, text: str) -> None:
        """Something that the user must know, in one sentence."""

    def remark(self, text: str) -> None:
        """Something that the user may want to know, in one sentence."""

    def trials(
        self, missing: Sequence[int], so_far: Callable[[], str] | None = None
    ) -> AbstractContextManager[Counter]:
        """So many trials of each cell are about to run; `so_far` tells in a few words what those that ended say."""


class _Deaf:
    def update(self, result: "BlockResult") -> None:
        pass

    def expect(self, missing: Sequence[int]) -> None:
        pass


class Silent:
    """A `Watch` that nobody looks at."""

    def warn(self, text: str) -> None:
        """Says nothing."""

    def remark(self, text: str) -> None:
        """Says nothing."""

    def trials(
        self, missing: Sequence[int], so_far: Callable[[], str] | None = None
    ) -> AbstractContextManager[Counter]:
        """Counts nothing."""
        return nullcontext(_Deaf())


SILENT = Silent()
