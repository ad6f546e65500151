"""Write the numbers of the documents from results/reference: `python -m experiments.write_tables [--check]`.

What stands between `<!-- begin: NAME -->` and `<!-- end: NAME -->` is written by the block of that name below; the
rest of a document is left as it is.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cascadebai_cli.analysis.claims import claims_of
from cascadebai_cli.analysis.curves import MODELS
from cascadebai_cli.analysis.results import StudyResults, load_results
from cascadebai_cli.analysis.tables import study_table
from cascadebai_cli.store.columns import FITS_CSV, MANIFEST, WEIGHTED_FITS_CSV
from cascadebai_cli.store.trials import times_of
from cascadebai_cli.text import change, coefficient, count, difference, p_value, share, spans
from cascadebai_cli.workflows import init
from cascadebai_cli.workflows.report import commit_text
from experiments import budget_calibration, key_tables, published_tables, reference_tables
from experiments.artefacts import ARTEFACTS, REFERENCE, Artefact
from experiments.markdown import NOT_YET, plain, table

DOCUMENTS = (
    Path("README.md"),
    Path("experiments/README.md"),
    Path("experiments/published_numbers.md"),
    Path("docs/budget.md"),
    Path("docs/calibration.md"),
    Path("docs/configs.md"),
    Path("docs/exactness.md"),
    Path("docs/learners.md"),
    Path("docs/paper.md"),
    Path("docs/results.md"),
    Path("docs/sharp.md"),
    Path("docs/users.md"),
)
SCHEMAS = {Path(f"docs/{kind}.schema.json"): kind for kind in init.SCHEMAS}
"""File -> the kind of document that it describes."""
MARKED = re.compile(r"(<!-- begin: (?P<name>[\w-]+) -->)(?P<text>.*?)(<!-- end: (?P=name) -->)", re.DOTALL)


@cache
def results_of(name: str) -> StudyResults | None:
    """The reference of an artefact, `None` if it was not run yet."""
    directory = REFERENCE / name
    return load_results(directory) if (directory / MANIFEST).exists() else None


def artefacts() -> str:
    """What is made by which command, and how far it is."""
    header = ["artefact", "claim", "config", "command", "trials", "state"]
    return table(header, [_artefact_row(artefact) for artefact in ARTEFACTS])


def _artefact_row(artefact: Artefact) -> list[str]:
    results = results_of(artefact.name)
    trials = count(results.summary["n"].sum()) if results else ""
    state = NOT_YET if results is None else "; ".join(results.missing) or "complete"
    command = f"`python -m experiments.reproduce {artefact.name}`"
    link = f"[{artefact.config.name}](../{artefact.config.as_posix()})"
    return [artefact.shows, artefact.claim, link, command, trials, state]


def claims() -> str:
    """Every claim with the published value, ours and the verdict."""
    rows = []
    for artefact in ARTEFACTS:
        results = results_of(artefact.name)
        for claim in claims_of(results) if results else []:
            rows.append([f"{artefact.name}, {claim.where}", *map(plain, claim[1:4]), f"**{claim.verdict}**"])
        if results is None:
            rows.append([artefact.name, artefact.claim, "", NOT_YET, "**open**"])
    return table(["artefact", "claim", "published", "here", "verdict"], rows)


def verdicts() -> str:
    """How many claims of each artefact have which verdict."""
    rows = []
    for artefact in ARTEFACTS:
        results = results_of(artefact.name)
        found = [claim.verdict for claim in claims_of(results)] if results else []
        counted = ", ".join(f"{found.count(word)} {word}" for word in dict.fromkeys(found)) or NOT_YET
        rows.append([artefact.shows, artefact.claim, counted])
    return table(["artefact", "claim of the paper", "verdicts"], rows)


def table2() -> str:
    """Table 2: our fit, the same by the errors of the trials, and the published one below each other."""
    results = results_of("table1")
    if results is None:
        return NOT_YET
    header = ["instance", "model", "", "c1", "c2", "R²", "p-value", "c1 differs by"]
    fits, weighted = (study_table(results, file).rows.to_dict("records") for file in (FITS_CSV, WEIGHTED_FITS_CSV))
    rows = [line for pair in zip(fits, weighted, strict=True) for line in _fit_lines(*pair)]
    return table(header, rows, numbers=5)


def _fit_lines(row: Mapping[Any, Any], weighted: Mapping[Any, Any]) -> Iterator[list[str]]:
    quality = [share(row["r2"]), p_value(row["p_value"]), difference(row["c1"], row["published_c1"])]
    model = f"c1 {row['model']} + c2"
    yield [row["instance"], model, "here", coefficient(row["c1"]), coefficient(row["c2"]), *quality]
    published = [coefficient(row["published_c1"]), coefficient(row["published_c2"])]
    by_errors = [coefficient(weighted["c1"]), coefficient(weighted["c2"])]
    yield ["", "", "here, weighted", *by_errors, "", "", difference(weighted["c1"], row["published_c1"])]
    yield ["", "", "published", *published, share(row["published_r2"]), p_value(row["published_p_value"]), ""]


def means() -> str:
    """How far the mean steps are from the published line, over all `K`."""
    results = results_of("table1")
    if results is None:
        return NOT_YET
    rows = []
    for name in results.instances:
        ratio = _over_published(results, name)
        rows.append([name, *map(change, (ratio.min(), ratio.mean(), ratio.max()))])
    return table(["mean steps against the published line", "smallest", "mean", "largest"], rows, numbers=3)


def _over_published(results: StudyResults, name: str) -> "pd.Series[float]":
    """Relative difference of each mean of an instance from its published line."""
    fits = study_table(results, FITS_CSV).rows.set_index("instance").loc[name]
    cells = results.summary[results.summary["instance"] == name]
    line = fits["published_c1"] * MODELS[str(fits["model"])](cells["K"].to_numpy(dtype=float)) + fits["published_c2"]
    return pd.Series(cells["mean_steps"].to_numpy(dtype=float) / line - 1)


def lower() -> str | None:
    """`7 to 36 %`: by how much the means of rows 1, 2 and 4 of Table 2 are lower than the published lines."""
    results = results_of("table1")
    if results is None:
        return None
    chosen = [name for name in results.instances if name in ("setting 1", "setting 2", "setting 4")]
    parts = [_over_published(results, name) for name in chosen]
    below = -100 * np.concatenate(parts)
    return f"{below.min():.0f} to {below.max():.0f} %"


def runs() -> str:
    """Where the rows come from and what they took."""
    header = ["artefact", "L", "K", "trials a cell", "seed", "commit", "steps simulated", "hours of one core"]
    rows = []
    for artefact in ARTEFACTS:
        results = results_of(artefact.name)
        rows.append(_run_row(artefact.name, results) if results else [artefact.name, *[""] * 5, NOT_YET, ""])
    return table(header, rows, numbers=2)


def _run_row(name: str, results: StudyResults) -> list[str]:
    summary, manifest = results.summary, results.manifest
    commit = commit_text(manifest.git, digits=10)
    steps = float((summary["n"] * summary["mean_steps"]).sum())
    grid = [spans(summary[axis].unique().tolist()) for axis in ("L", "K")]
    hours = times_of(results.directory, results.summary)["seconds"].sum() / 3600
    trials, seed = str(results.study.trials), str(results.study.seed)
    return [name, *grid, trials, seed, commit, f"{steps:.2g}", f"{hours:.2f}"]


BLOCKS: Mapping[str, Callable[[], str | None]] = {
    "artefacts": artefacts,
    "claims": claims,
    "verdicts": verdicts,
    "table2": table2,
    "means": means,
    "lower": lower,
    "runs": runs,
    **published_tables.BLOCKS,
    **reference_tables.BLOCKS,
    **budget_calibration.BLOCKS,
    **key_tables.BLOCKS,
}
"""Name of a marked place -> what is written there, `None` to leave what is there.

A place within a line gets its text without line breaks.
"""


def filled(text: str, source: str = "") -> str:
    """The document with all marked places written anew.

    Raises:
        KeyError: if a place has no block.
    """

    def written(match: re.Match[str]) -> str:
        if match["name"] not in BLOCKS:
            raise KeyError(f"{source}: no block is called {match['name']}; there are {', '.join(BLOCKS)}")
        new = BLOCKS[match["name"]]()
        if new is None:
            return match[0]
        return f"{match[1]}\n{new}\n{match[4]}" if match["text"].startswith("\n") else f"{match[1]}{new}{match[4]}"

    return MARKED.sub(written, text)


def written() -> dict[Path, str]:
    """What each file should hold."""
    texts = {path: path.read_text(encoding="utf-8") for path in DOCUMENTS if path.exists()}
    schemas = {path: init.schema_text(kind) + "\n" for path, kind in SCHEMAS.items()}
    return {path: filled(text, str(path)) for path, text in texts.items()} | schemas


def outdated() -> dict[Path, str]:
    """Files that are not what this module would write, and that."""
    return {
        path: text for path, text in written().items() if not path.exists() or path.read_text(encoding="utf-8") != text
    }


def main() -> None:
    """Write the documents, or only say which are outdated."""
    parser = argparse.ArgumentParser(description="Write the numbers of the documents from results/reference.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a document is outdated")
    check = parser.parse_args().check
    found = outdated()
    for path, text in found.items():
        print(f"{path} is outdated" if check else f"{path} written")
        if not check:
            path.write_text(text, encoding="utf-8")
    sys.exit(1 if check and found else 0)


if __name__ == "__main__":
    main()
