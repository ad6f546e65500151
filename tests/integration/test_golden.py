"""What a user sees, letter for letter: the commands in `tests/golden/*.txt` still print and write what stands there.

A line that begins with `$ ` is a command, `> ` continues it, and `# ` is a remark. Below a command stands its stdout,
indented by two blanks, then its stderr behind `! `, then its exit code unless that is 0. The commands of a file run one
after the other in a directory that is empty at first:

- `cascadebai ...` is the program, run in this process;
- `try OLD NEW` lets the program check `good.yaml` with one text replaced by another, `try TEXT` a config that consists
  of this text; `⏎` stands for a line break;
- `page FILE` prints the words of a report, one line for each heading, paragraph and row of a table;
- everything else is run by bash.

Times, versions and places of this machine are replaced, and blanks at the end of a line are left out. `make golden`
writes the files anew; `git diff` then shows what a user will see of a change.
"""

import difflib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from sweeps import Called, call

import cascadebai_cli

GOLDEN = Path(__file__).parents[1] / "golden"
NAMES = sorted(path.name for path in GOLDEN.glob("*.txt"))
WRITE = os.environ.get("GOLDEN") == "write"
SHELL = {**os.environ, "LC_ALL": "C"}


@pytest.fixture(autouse=True)
def _same_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty directory to work in, modules of one's own found there, and lines of the same width."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "golden_learners", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("cascadebai_cli.live.state._new_tag", lambda: "tst")


@pytest.mark.parametrize("name", NAMES)
def test_a_user_sees_what_was_seen_before(name: str) -> None:
    expected = (GOLDEN / name).read_text(encoding="utf-8")
    seen = replayed(expected)
    if WRITE:
        (GOLDEN / name).write_text(seen, encoding="utf-8")
    elif seen != expected:
        pytest.fail(f"{difference(expected, seen, name)}\nif all of this is meant: make golden", pytrace=False)


def test_a_difference_is_found_and_shown() -> None:
    seen = replayed("# A remark.\n\n$ cascadebai --version\n  cascadebai 0.0\n\n$ cascadebai swep\n$ echo one\n")
    assert seen.startswith("# A remark.\n\n$ cascadebai --version\n  cascadebai VERSION\n\n$ cascadebai swep\n! ")
    assert seen.endswith("\n[exit code 2]\n\n$ echo one\n  one\n")
    assert replayed(seen) == seen
    shown = difference(seen, seen.replace("  one\n", "  two\n"), "a.txt")
    assert "-  one\n+  two" in shown


def test_the_help_of_every_verb_is_held() -> None:
    verbs = re.findall(r"^  (\w+)  ", call("--help").out.partition("Commands:")[2], re.MULTILINE)
    help_of = set(re.findall(r"^\$ cascadebai (\w+) --help$", (GOLDEN / "help.txt").read_text(), re.MULTILINE))
    assert len(verbs) > 10
    assert set(verbs) == help_of


def difference(expected: str, seen: str, name: str) -> str:
    """The lines that differ, with some around them."""
    lines = expected.splitlines(), seen.splitlines()
    return "\n".join(difflib.unified_diff(*lines, f"tests/golden/{name}", "seen now", n=4, lineterm=""))


def replayed(text: str) -> str:
    """The remarks and commands of a text, with what the commands print now."""
    return "\n".join(line for part in _parts(text) for line in _lines(part)).lstrip("\n") + "\n"


def _parts(text: str) -> list[str]:
    """Each block of remarks, and each command with the lines that continue it."""
    kept = "".join(f"{line}\n" for line in text.splitlines() if line.startswith(("# ", "$ ", "> ")) or line == ">")
    return re.findall(r"(?:^# .*\n)+|^\$ .*\n(?:^>.*\n)*", kept, re.MULTILINE)


def _lines(part: str) -> Iterator[str]:
    yield f"\n{part[:-1]}"
    if part.startswith("$"):
        code, out, err = _run(re.sub(r"(?m)^[$>] ?", "", part[:-1]))
        yield from (f"  {line}".rstrip() for line in _normal(out).splitlines())
        yield from (f"! {line}".rstrip() for line in _normal(err).splitlines())
        if code:
            yield f"[exit code {code}]"


def _run(command: str) -> Called:
    words = [word.replace("⏎", "\n") for word in shlex.split(command)]
    match words[0]:
        case "cascadebai":
            return call(*words[1:])
        case "try":
            return _try(*words[1:])
        case "page":
            return Called(0, _words(Path(words[1]).read_text(encoding="utf-8")), "")
        case _:
            done = subprocess.run(["bash", "-c", command], capture_output=True, encoding="utf-8", env=SHELL)
            return Called(done.returncode, done.stdout, done.stderr)


def _try(old: str, new: str | None = None) -> Called:
    good = Path("good.yaml").read_text()
    assert new is None or good.count(old) == 1, f"{old} is not there, or more than once"
    Path("bad.yaml").write_text(old if new is None else good.replace(old, new))
    return call("check", "bad.yaml", "--pilot", "0")


class _Words(HTMLParser):
    """The lines of a page, with ` | ` between cells, the words for a picture and the name of a download."""

    def __init__(self) -> None:
        super().__init__()
        self.lines, self._style = [""], False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._style = tag == "style"
        self._break(tag)
        self.lines[-1] += " | " if tag in ("td", "th", "dd") and self.lines[-1] else ""
        self.lines[-1] += "".join(f"[{name}: {text}] " for name, text in attrs if name in ("alt", "download"))

    def handle_endtag(self, tag: str) -> None:
        self._style = False
        self._break(tag)

    def handle_data(self, data: str) -> None:
        self.lines[-1] += "" if self._style else " ".join(data.split())

    def _break(self, tag: str) -> None:
        if tag in BLOCKS and self.lines[-1]:
            self.lines.append("")


BLOCKS = {"title", "h1", "h2", "h3", "p", "li", "div", "tr", "caption", "summary", "figcaption", "figure", "section"}


def _words(page: str) -> str:
    words = _Words()
    words.feed(page)
    text, heading, times = "\n".join(words.lines).partition("\nSeconds on one core\n")
    return text + heading + re.sub(r"(?m)^(.+ \| \d+ \| ).+", r"\1...", times)


def _normal(text: str) -> str:
    """A text without what differs from machine to machine, from time to time and from version to version."""
    text = text.replace(str(Path.cwd()), "HERE").replace(cascadebai_cli.__version__, "VERSION")
    for pattern, instead in MACHINE.items():
        text = re.sub(pattern, instead, text, flags=re.MULTILINE)
    text = re.sub(r'"(?:machine|tables|versions)": \{[^}]+\}', _without_values, text)
    return re.sub(r"-?\d+\.\d+(?:e[-+]?\d+)?", _shorter, text)


def _without_values(block: re.Match[str]) -> str:
    return re.sub(r'^( *"[^"]+": )[^{\n]+?(,?)$', r"\1...\2", block[0], flags=re.MULTILINE)


def _shorter(number: re.Match[str]) -> str:
    """Six digits of a number, as the last ones depend on the processor; `~` says that it has up to ten, `~~` more."""
    digits = len(re.sub(r"e.*|\D", "", number[0]).strip("0"))
    return number[0] if digits <= 6 else f"{float(number[0]):.6g}" + ("~" if digits <= 10 else "~~")


MACHINE = {
    r'"git": (?:null|\{[^}]*\})': '"git": ...',
    r'^( *"(?:start|end)": )".*"': r"\1...",
    r"^(versions|git commit|machine|started|ended) \| .*": r"\1 | ...",
    r"^(  time  +)\d.* s for .*": r"\1...",
    r" +[\d.]+ s$": "  ...",
    r"about [\d.]+ s left": "about ... left",
    r"^\S+ of .* trials, .* time left .*\n": "",  # progress, which only a slow machine tells
    r'^  File ".*cascadebai_cli/.*\n(?:    .*\n)*': "",  # lines of the package in a traceback
}
"""Pattern -> what stands for it here."""
