"""Whether a worker runs the code of its parent: rows of two versions must not mix."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from cascadebai_cli.errors import CascadeError
from cascadebai_cli.learners.live import sent_along, take_in
from cascadebai_cli.learners.plugins import plugin_code
from cascadebai_cli.running.work import Block, BlockResult, Settings
from cascadebai_cli.running.worker import run_blocks
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.version import __version__


def _hash_of_package() -> str:
    folder = Path(__file__).parents[1]
    files = sorted((path.relative_to(folder).as_posix(), path) for path in folder.rglob("*.py"))
    return sha256(
        b"".join(f"{name} {sha256(path.read_bytes()).hexdigest()}\n".encode() for name, path in files)
    ).hexdigest()


PACKAGE = _hash_of_package()
"""Hash of the sources of this package, as they were when this process began to work."""


@dataclass(frozen=True)
class Code:
    """What a parent runs.

    Args:
        plugins: learner of one's own -> hash of its code.
        live: those of them that no process could import -> the class.
        version, package: of this package, and the hash of its sources.
    """

    plugins: Mapping[str, str]
    live: Mapping[str, type]
    version: str = __version__
    package: str = PACKAGE


def code_of(cells: Sequence[Cell]) -> Code:
    """The code that runs these cells in this process."""
    own = {cell.spec.algorithm for cell in cells if cell.is_own}
    return Code({name: plugin_code(name) for name in own}, sent_along(own))


def run_checked(code: Code, settings: Settings, blocks: list[Block]) -> list[BlockResult]:
    """`run_blocks` in a worker that has the code of its parent.

    Raises:
        CascadeError: if it has not, or as there.
    """
    if code.package != PACKAGE:
        raise CascadeError(
            f"a worker holds other sources of cascadebai (version {__version__}) than the sweep "
            f"(version {code.version}); install the same cascadebai on all machines and restart the workers"
        )
    take_in(code.live)
    for name in {block.cell.spec.algorithm for block in blocks if block.cell.is_own}:
        if code.plugins[name] != plugin_code(name):
            raise CascadeError(
                f"{name}: a worker holds other code than the sweep, of it or of what it imports; restart the workers "
                "of a cluster, undo changes made since the sweep began, or sweep with the new code into another --out"
            )
    return run_blocks(settings, blocks)
