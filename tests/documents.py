"""The blocks of code in the documents, run as a reader would.

- `console`: a line that begins with `$ ` is a command, `> ` goes on with it; what stands below is what it prints to
  stdout, `...` for anything; nothing below means that only its success counts. `one$ ` is a machine of its own to the
  reader, and the same one here.
- `python`, `yaml` and others whose first line is a comment with nothing but a file name: that file, for the commands;
  the comment is part of it, as it is for a reader who copies the block.
- `python` else: run, with the names of the blocks before it. `yaml` else: keys of a config, which must be valid.

`<!-- skip: next "reason" -->` leaves the next block out.
"""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import chdir, redirect_stdout
from doctest import ELLIPSIS, OutputChecker
from io import StringIO
from pathlib import Path
from unittest import SkipTest

import yaml
from sweeps import ROOT, call, environment
from sybil import Example, Sybil
from sybil.document import Document
from sybil.parsers.markdown import CodeBlockParser, SkipParser

from cascadebai_cli.study.config import load_study
from cascadebai_cli.study.document import load_yaml
from cascadebai_cli.study.plot import Plot

SIMULATING = ("run", "sweep", "plan")
"""Verbs whose workers would take longer to start than the trials of a page, and would stay where they were started."""
COMMAND = re.compile(r"(?:\w+)?\$ (.*)")
FILE = re.compile(r"# ([\w./-]+\.\w+)")
BASE = {
    "seed": 1,
    "L": 20,
    "K": 2,
    "instances": [{"name": "setting 1", "family": "two_level", "w_star": "1/K", "w_prime": "1/K**2"}],
}
"""What the keys of a page stand in."""


def run_page(path: Path, folder: Path) -> tuple[int, list[str]]:
    """Run the blocks of a page in a folder that looks like a clone.

    Returns:
        how many ran, and the reasons of those that did not.

    Raises:
        AssertionError: with place and difference, where one does not do what the page says.
    """
    for name in ("configs", "experiments"):
        (folder / name).symlink_to(ROOT / name)
    if "results/reference" in path.read_text(encoding="utf-8"):
        shutil.copytree(ROOT / "results" / "reference", folder / "results" / "reference")
    ran, skipped = 0, []
    with chdir(folder):
        for example in page(path):
            try:
                example.evaluate()
                ran += isinstance(example.parsed, str)  # a skip is an example too
            except SkipTest as reason:
                skipped.append(str(reason))
    return ran, skipped


def page(path: Path) -> Iterator[Example]:
    """Blocks and skips of a page, in its order."""
    parsers = [CodeBlockParser(language, run) for language, run in LANGUAGES.items()]
    return iter(Sybil(parsers=[*parsers, SkipParser()]).parse(path))


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block, and what it prints."""
    command, printed = "", list[str]()
    for line in text.splitlines():
        found = COMMAND.fullmatch(line)
        if found and command:
            yield command, "\n".join(printed)
        if found:
            command, printed = found[1], []
        elif line.startswith("> ") and not printed:
            command += f"\n{line[2:]}"
        else:
            printed.append(line)
    yield command, "\n".join(printed)


def _console(example: Example) -> str | None:
    for command, expected in commands(example.parsed):
        code, out = _answer(command)
        if code:
            return f"{command}\nends with exit code {code}\n{out}"
        if expected.strip() and not OutputChecker().check_output(_flush(expected), _flush(out), ELLIPSIS):
            return f"{command}\nprints\n{out}\nand not\n{expected}"
    return None


def _flush(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines()) + "\n"


def _answer(command: str) -> tuple[int, str]:
    """Exit code and output; our own commands run in this process, which has read its modules already."""
    words = shlex.split(command, comments=True)
    if words[0] != "cascadebai" or {"|", "<", "&&"} & set(words):
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=_environment(), timeout=120)
        return done.returncode, done.stdout + (done.stderr if done.returncode else "")
    words, target = (words[:-2], words[-1]) if ">" in words else (words, None)
    called = call(*words[1:], *(("--n-jobs", 1) if words[1] in SIMULATING else ()))
    if target:
        Path(target).write_text(called.out, encoding="utf-8")
    return called.code, called.out if not called.code else called.out + called.err


def _environment() -> Mapping[str, str]:
    found = environment()
    return {**found, "PATH": f"{Path(sys.executable).parent}:{found['PATH']}"}


def _python(example: Example) -> str | None:
    if not _saved(example):
        with redirect_stdout(StringIO()):
            exec(compile(example.parsed, f"{example.path}:{example.line}", "exec"), example.namespace)
    return None


def _yaml(example: Example) -> str | None:
    if _saved(example):
        return None
    keys = yaml.safe_load(example.parsed)
    if example.parsed.startswith("# results/"):
        Plot.model_validate(load_yaml(_written("plot.yaml", example.parsed)).data["plot"])
    elif keys.keys() == {"plot"}:
        Plot.model_validate(keys["plot"])
    else:
        load_study(_written("part.yaml", example.parsed + yaml.safe_dump(_missing(keys))))
    return None


def _missing(keys: Mapping[str, object]) -> dict[str, object]:
    zipped = keys.get("zip") or {}
    instances = keys.get("instances") or BASE["instances"]
    own = [{*one, "L"} if one["family"] in ("explicit", "csv") else one for one in instances]
    return {
        key: value
        for key, value in BASE.items()
        if key not in keys and key not in zipped and not all(key in one for one in own)
    }


def _written(name: str, text: str) -> Path:
    Path(name).write_text(text, encoding="utf-8")
    return Path(name)


def _saved(example: Example) -> bool:
    """Whether a block is a file, which is written then."""
    named = FILE.fullmatch(example.parsed.partition("\n")[0])
    if not named:
        return False
    Path(named[1]).parent.mkdir(parents=True, exist_ok=True)
    Path(named[1]).write_text(example.parsed, encoding="utf-8")
    return True


def _file(example: Example) -> str | None:
    return None if _saved(example) else "the first line names no file"


LANGUAGES = {"console": _console, "python": _python, "yaml": _yaml, "csv": _file, "ini": _file}
"""Language of a block -> what is done with it."""

BLOCK = re.compile(r"^```(\w*)$.*?^```$", re.MULTILINE | re.DOTALL)


def languages(text: str) -> list[str]:
    """Languages of the blocks of a page; a drawing has none."""
    return BLOCK.findall(text)


def document(path: Path) -> Document:
    """A page as the parsers see it."""
    return Sybil(parsers=[]).parse(path)
