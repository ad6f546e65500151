"""The whole paper, and a study beyond it: `python -m experiments.reproduce [--fast] [--n-jobs N] [NAME ...]`.

Sweeps, fits, bounds, figures and the report of every artefact, the cheap ones first. What is there already is not run
again, so the same command goes on after an interruption.
"""

import argparse
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from experiments.artefacts import ARTEFACTS, BEYOND, CONFIGS, FAST, RESULTS, Artefact

INCOMPLETE, INTERRUPTED = 1, 130
NOTICEABLE = 0.1
"""A share of the time that was expected from which on an artefact says something about the speed of the machine."""

Command = list[str]


@dataclass
class Clock:
    """Guesses how long the rest takes, from the times on two cores and the pace so far."""

    expected: Mapping[str, float]
    spent: float = 0.0
    planned: float = 0.0

    def left(self, names: Sequence[str]) -> str:
        """Time for the artefacts of these names, in words."""
        pace = self.spent / self.planned if self.planned else 1.0
        return _words(pace * sum(self.expected[name] for name in names))

    def learn(self, name: str, seconds: float) -> None:
        """Take in how long an artefact took, unless nearly all of it was there already."""
        if seconds > NOTICEABLE * self.expected[name]:
            self.spent += seconds
            self.planned += self.expected[name]


def _words(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds > 5400 else f"{max(1, round(seconds / 60))} min"


def reduced_config(artefact: Artefact, folder: Path) -> Path:
    """Write the config of an artefact with its reduced values into `folder`."""
    config: dict[str, Any] = yaml.safe_load(artefact.config.read_text(encoding="utf-8"))
    unknown = set(artefact.fast) - set(config)
    if unknown:
        raise KeyError(f"{artefact.config} has no {', '.join(unknown)} to reduce")
    config |= artefact.fast
    for instance in config["instances"]:
        if "path" in instance:
            instance["path"] = os.path.relpath(artefact.config.parent / instance["path"], folder)
    config["title"] = f"{config['title']}, reduced: {_changes(artefact.fast)}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / artefact.config.name
    path.write_text(yaml.safe_dump(config, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return path


def _changes(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {_short(value)}" for key, value in values.items())


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return f"{value['from']} to {value['to']} in steps of {value['step']}"
    return ", ".join(map(str, value)) if isinstance(value, list) else f"{value:,}"


def commands(artefact: Artefact, config: Path, directory: Path, n_jobs: int) -> Iterator[Command]:
    """What makes an artefact, as arguments of `cascadebai`."""
    yield ["sweep", str(config), "--out", str(directory), "--n-jobs", str(n_jobs)]
    yield ["fit", str(directory)]
    yield ["plot", str(directory)]
    for kind in artefact.further:
        yield ["plot", str(directory), "--kind", kind]
    for name in artefact.figures:
        yield ["plot", str(directory), "--config", str(CONFIGS / f"{name}.yaml")]
    yield ["bounds", str(config), "--results", str(directory), "--csv", str(directory / "bounds.csv")]


def reproduce(artefacts: Sequence[Artefact], fast: bool, n_jobs: int) -> int:
    """Make the artefacts and the report; the exit code is 1 if something failed or some trial is missing."""
    place = FAST if fast else RESULTS
    clock = Clock({one.name: one.fast_seconds if fast else one.seconds for one in artefacts})
    directories: list[Path] = []
    worst = 0
    for number, artefact in enumerate(artefacts, 1):
        rest = [one.name for one in artefacts[number - 1 :]]
        _say(
            f"[{number} of {len(artefacts)}] {artefact.name}: {artefact.shows}; about {clock.left(rest[:1])}, "
            f"about {clock.left(rest)} for all that is left"
        )
        config = reduced_config(artefact, place / "configs") if fast else artefact.config
        start = time.monotonic()
        worst = max(worst, _make(commands(artefact, config, place / artefact.name, n_jobs)))
        clock.learn(artefact.name, time.monotonic() - start)
        directories.append(place / artefact.name)
        # After each artefact, so that a reader need not wait for the last one.
        worst = max(worst, _run(["report", *map(str, directories), "-o", str(place / "report.html")]))
    _say(f"done{', but not all of it, see above' if worst else ''}: open {place / 'report.html'}")
    return worst


def _make(steps: Iterator[Command]) -> int:
    return max(_run(step) for step in steps)


def _run(command: Command) -> int:
    """Run a command of `cascadebai`, in a process of its own so that it may be interrupted as usual.

    Sweeps and fits are shown as they are; the others warn of the same trials again, and are shown if they fail.

    Raises:
        SystemExit: if it was interrupted or refused.
    """
    _say("$ " + shlex.join(["cascadebai", *command]))
    shown = command[0] in ("sweep", "fit")
    words = [sys.executable, "-m", "cascadebai_cli", *command]
    done = subprocess.run(words, capture_output=not shown, text=True, check=False)
    if done.returncode != 0 and done.stderr:
        _say(done.stderr.rstrip())
    if done.returncode not in (0, INCOMPLETE):
        sys.exit(INTERRUPTED if done.returncode < 0 else done.returncode)
    return done.returncode


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    """Read the command line and make what it asks for."""
    artefacts = sorted((*ARTEFACTS, *BEYOND), key=lambda one: one.seconds)
    names = [artefact.name for artefact in artefacts]
    parser = argparse.ArgumentParser(description="Reproduce the paper, or some of its artefacts.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}; all if none is given")
    parser.add_argument("--fast", action="store_true", help="at a reduced size, in a few minutes, into results/fast")
    parser.add_argument("--n-jobs", type=int, default=-1, help="processes; -1 is one a core")
    given = parser.parse_args()
    for name in given.names:
        if name not in names:
            parser.error(f"{name} is not an artefact; choose from {', '.join(names)}")
    chosen = [artefact for artefact in artefacts if not given.names or artefact.name in given.names]
    try:
        sys.exit(reproduce(chosen, given.fast, given.n_jobs))
    except KeyboardInterrupt:
        _say("interrupted; the same command goes on from there")
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
