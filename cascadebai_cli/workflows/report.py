"""The verb `report`, which writes one page about some result directories."""

import base64
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from cascadebai_cli.analysis.cells import averaged, cells_with
from cascadebai_cli.analysis.claims import claims_of_config
from cascadebai_cli.analysis.results import StudyResults, load_results
from cascadebai_cli.analysis.tables import cells_printed, figure_data, tables_of
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.problem import FloatArray
from cascadebai_cli.running.watch import SILENT, Watch
from cascadebai_cli.store.columns import (
    BOUND_FITS_CSV,
    BUDGETS_CSV,
    FITS_CSV,
    ORDERS_CSV,
    RATIOS_CSV,
    SUMMARY_CSV,
    WEIGHTED_FITS_CSV,
    names_of,
    printed,
)
from cascadebai_cli.store.files import refuse_to_replace, table_bytes, write_bytes
from cascadebai_cli.study.fields import Enough, Entry, as_written
from cascadebai_cli.study.kinds import AXES
from cascadebai_cli.study.plot import Plot
from cascadebai_cli.text import Head, Table, count, number, parameter, spans
from cascadebai_cli.version import __version__
from cascadebai_cli.workflows.plot import Drawing, Written, drawing

# --- The parts of a page, as finished text --------------------------------------------------------------------------

_Facts = Mapping[str, str]


@dataclass(frozen=True)
class _PageTable(Table):
    """A table under a caption.

    Args:
        columns, rows: contents of the table; the first text of a row is its name.
        caption: what the table holds.
        csv: the table as a CSV file for download, empty for none.
        name: name of that file.
    """

    caption: str = ""
    csv: str = ""
    name: str = ""

    @property
    def link(self) -> str:
        """Link to the file that needs no network."""
        return _data_uri(self.csv.encode(), "text/csv")


@dataclass(frozen=True)
class _PagePicture:
    """A figure.

    Args:
        alternative: description for readers who do not see it.
        data: its numbers; `None` for a drawing without numbers.
    """

    title: str
    alternative: str
    svg: bytes
    data: _PageTable | None = None

    @property
    def width(self) -> float:
        """Width in inches at which the figure was drawn."""
        found = re.search(rb'<svg[^>]*? width="([0-9.]+)pt"', self.svg)
        return float(found[1]) / 72 if found else 6.75

    @property
    def source(self) -> str:
        """Source of the image, as a data URI."""
        return _data_uri(self.svg, "image/svg+xml")


@dataclass(frozen=True)
class _Section:
    """The section of a study.

    Args:
        name: short name of the study, for links.
        remarks: what a reader must know before the numbers, such as missing trials.
        settings, provenance: pairs of a name and a text.
    """

    title: str
    name: str
    remarks: Sequence[str] = ()
    pictures: Sequence[_PagePicture] = ()
    tables: Sequence[_PageTable] = ()
    settings: _Facts = field(default_factory=dict)
    provenance: _Facts = field(default_factory=dict)
    times: _PageTable | None = None

    @property
    def anchor(self) -> str:
        """Anchor of the section for links."""
        return "study-" + re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


def _data_uri(content: bytes, media: str) -> str:
    """Return a data URI that holds `content`."""
    return f"data:{media};base64,{base64.b64encode(content).decode()}"


# --- The page as HTML -----------------------------------------------------------------------------------------------


def _render_page(title: str, version: str, claims: _PageTable, sections: Sequence[_Section]) -> str:
    """Return the whole page, without scripts, clock times and anything that is loaded from elsewhere.

    Args:
        claims: what the paper says, what was found, and the verdict.
    """
    style = files(__package__).joinpath("report.css").read_text(encoding="utf-8")
    return _template().render(title=title, version=version, claims=claims, sections=sections, style=style)


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader(__package__, ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2")


# --- What the page says of its studies ------------------------------------------------------------------------------

_CAPTIONS = {
    FITS_CSV: "Fit of the model that the config names to the mean steps",
    WEIGHTED_FITS_CSV: "The same, weighted by the errors of the trials; a lack of fit near 1 is chance, the exponent "
    "is the b of c1 x^b + c2",
    BOUND_FITS_CSV: "The same model fitted to the upper bound",
    BUDGETS_CSV: "Budgets from which on the error rate is below 10, 5 and 1 %; inf: beyond the largest budget of the "
    "study, 0: below the smallest",
    ORDERS_CSV: "In how many settings each learner does better, as well or worse than the one that it is compared "
    "with; settings that the cap leaves open are not counted",
}
"""Tables of `fit` that the page shows, with their captions."""
_LEFT_OUT = ("study", "rows_sha256", "best_model", "loglog_low", "loglog_high", "published_r2")

_MEANS = "Mean steps and error rates, each with its 95 % interval"
_RATIOS = "Mean steps of each learner divided by those of another"
_MOST_MEANS = 200
"""Most rows of the tables of means, of ratios and of weights."""
_MOST_CELLS = 5_000
_CLAIMED = (
    "What the paper claims (Zhong, Cheung and Tan, Best Arm Identification for Cascading Bandits in the Fixed "
    "Confidence Setting, ICML 2020), what came out here, and how the two compare. A sentence holds, nearly holds "
    "or fails. A number agrees if its interval lies within the tolerance of the published one, else it is lower "
    "or higher. Open means that the study has no data for it, and not decided that more trials could still decide "
    "it either way."
)
_LOWER = (
    " Some slopes are lower than published, for no reason that the text of the paper gives: perhaps its authors read "
    "one table of rewards again and again. That is a guess; docs/paper.md says what speaks for it."
)
_OF_THE_PAPER = "Best arm identification for cascading bandits: the paper and this run"


def report(
    directories: Sequence[Path],
    *,
    out: Path,
    title: str | None = None,
    where: Sequence[str] = (),
    watch: Watch = SILENT,
) -> Written:
    """Write one page with claims, figures, their data, settings and run times.

    Args:
        title: its heading; by default made of the titles of the studies.
        where: conditions `COLUMN=VALUE[,VALUE...]`; the page is about the cells that meet all of them.

    Raises:
        ConfigError: if a directory is not that of a sweep, or has too many cells for a page, or the folder of
            `out` is not there.
        CascadeError: if the page cannot be written.
    """
    refuse_to_replace(out)
    if not out.parent.is_dir():
        raise ConfigError(f"--out {out}: there is no folder {out.parent}; make it, or name a file in another one")
    studies = [_chosen(load_results(directory), where) for directory in watch.once(directories)]
    for results in studies:
        results.tell_gaps(watch.warn)
    page = _render_page(title or _title(studies), __version__, _claims(studies), list(_numbered(studies, watch)))
    write_bytes(out, page.encode())
    return Written((out,), not any(results.missing for results in studies))


def _chosen(results: StudyResults, where: Sequence[str]) -> StudyResults:
    if where:
        cells = set(cells_with(results.cells, where)["cell_id"])
        about = {cell_id: content for cell_id, content in results.manifest.cells.items() if cell_id in cells}
        results = results.of_cells(cells).derived(manifest=results.manifest.model_copy(update={"cells": about}))
    if len(results.summary) > _MOST_CELLS:
        raise ConfigError(
            f"{results.directory} has {count(len(results.summary))} cells, more than the {count(_MOST_CELLS)} that a "
            "page holds; choose with --where, such as --where K=2"
        )
    return results


def _title(studies: Sequence[StudyResults]) -> str:
    if all(results.study.claims == "paper" for results in studies):
        return _OF_THE_PAPER
    return "; ".join(dict.fromkeys(results.study.title or results.name for results in studies))


def _numbered(studies: Sequence[StudyResults], watch: Watch) -> Iterator[_Section]:
    """Yield a section for each study, with different names even if studies have the same."""
    for i, results in enumerate(studies):
        again = sum(other.name == results.name for other in studies[:i])
        yield _section(results, f"{results.name} {again + 1}" if again else results.name, watch)


def _claims(studies: Sequence[StudyResults]) -> _PageTable:
    columns = [Head(name) for name in ("study and instance", "claim", "published", "here", "verdict")]
    rows = [
        (f"{results.name}, {claim.where}", *claim[1:]) for results in studies for claim in claims_of_config(results)
    ]
    return _PageTable(columns, rows, _CLAIMED + _LOWER * any(row[-1] == "lower" for row in rows))


def _section(results: StudyResults, name: str, watch: Watch) -> _Section:
    pictures, refusals, left_out = _pictures(results, watch)
    return _Section(
        title=results.study.title or results.name,
        name=name,
        remarks=[*_reuse(results), *results.missing, *results.capped, *results.doubts, *refusals, *left_out],
        pictures=pictures,
        tables=[
            *([_data(results, results.study.plot.kind)] if refusals else []),
            *([] if results.study.claims else _of_ones_own(results)),
            *_tables(results),
        ],
        settings=settings(results),
        provenance=_provenance(results),
        times=_times(results),
    )


def _reuse(results: StudyResults) -> list[str]:
    users = "Users are named, or lists are shuffled: the paper's claims, which are about its own users, do not apply."
    if results.study.independent:
        return [users] if results.study.claims and results.study.has_users else []
    return [f"Rewards are {results.study.rewards}: claims and bounds, which are about independent ones, do not apply."]


def _pictures(results: StudyResults, watch: Watch) -> tuple[list[_PagePicture], list[str], list[str]]:
    """Return the figures that `plot` draws, page by page, why others cannot be drawn, and which cells are left out."""
    pictures: list[_PagePicture] = []
    refusals: list[str] = []
    left_out: list[str] = []
    for kind in _kinds(results):
        asked = results.study.plot if kind == results.study.plot.kind else Plot(kind=kind)
        try:
            drawn = drawing([results], asked)
        except ConfigError as error:
            refusals.append(f"no figure: {error}")
            continue
        drawn.warn_of_letters(results.name, watch)
        pictures += _pages(drawn, results)
        left_out += [drawn.chart.left_out] if drawn.chart and drawn.chart.left_out else []
    return pictures, list(dict.fromkeys(refusals)), left_out


def _pages(drawn: Drawing, results: StudyResults) -> Iterator[_PagePicture]:
    svgs = drawn.files("svg", [results])
    for nth, svg in enumerate(svgs, 1):
        page = f" (page {nth} of {len(svgs)})" if len(svgs) > 1 else ""
        data = None
        if drawn.chart and nth == 1:
            cells = averaged(results, drawn.chart.plot.average).of_cells(drawn.chart.points["cell_id"])
            data = _data(cells, drawn.plot.kind)
        yield _PagePicture(drawn.title + page, drawn.alternative, svg, data)


def _kinds(results: StudyResults) -> list[str]:
    """Return the kind of the study's own figure and, if there are upper bounds, those that show the bounds."""
    growth = results.study.plot.figure.about == "growth"
    further = ["bounds", "schematic"] if growth and results.bounds["upper"].notna().any() else []
    return [results.study.plot.kind, *further]


def _data(results: StudyResults, kind: str) -> _PageTable:
    return _table("One row a point or bar", figure_data(results, kind), f"{results.name}_{kind}.csv")


def _tables(results: StudyResults) -> Iterator[_PageTable]:
    """Yield the tables of `fit` that readers want; that of the ratios is left out, as it is as long as the data."""
    for table in tables_of(results, files=_CAPTIONS):
        varying, above = names_of(table.rows, [*AXES])
        known = _published(table.rows)
        caption = _CAPTIONS[table.file] + (", beside the published one" if any(known.values()) else "")
        caption += f" ({above})" if above else ""
        left_out = {*_LEFT_OUT, *AXES, *(name for name in known if not known[name])} - set(varying)
        yield _table(caption, table.rows, f"{results.name}_{table.file}", left_out)


def _of_ones_own(results: StudyResults) -> Iterator[_PageTable]:
    """Yield what a reader of a study of one's own looks for first: means and errors, ratios, and the weights."""
    if len(results.summary) <= _MOST_MEANS:
        yield _as_printed(_MEANS, cells_printed(results.cells), results.summary, f"{results.name}_{SUMMARY_CSV}")
        for table in tables_of(results, files=[RATIOS_CSV]):
            yield _as_printed(_RATIOS, table.printed, table.rows, f"{results.name}_{RATIOS_CSV}")
    if weights := list(islice(_weights_in_words(results), _MOST_MEANS)):
        heads = [Head("instance", True), Head("L"), Head("K"), Head("weights", True)]
        yield _PageTable(heads, weights, "Weights, the largest first")


def _as_printed(caption: str, table: Table, rows: pd.DataFrame, file: str) -> _PageTable:
    caption = f"{caption} ({table.above})" if table.above else caption
    return _PageTable(table.columns, table.rows, caption, table_bytes(rows).decode(), file)


def _published(rows: pd.DataFrame) -> dict[str, bool]:
    """Return for each column of published values whether it has any."""
    return {str(name): bool(rows[name].notna().any()) for name in rows if str(name).startswith("published_")}


def _times(results: StudyResults) -> _PageTable | None:
    return None if results.times.empty else _table("Seconds on one core", results.times)


def _table(caption: str, rows: pd.DataFrame, file: str = "", left_out: Collection[str] = ()) -> _PageTable:
    """Return a table of texts for readers, with all numbers in full as a file."""
    table = printed(rows, (), [str(name) for name in rows if name not in left_out])
    return _PageTable(table.columns, table.rows, caption, table_bytes(rows).decode() if file else "", file)


# --- The facts about a study that the page states: name -> text -----------------------------------------------------

_UNKNOWN = "unknown"


def settings(results: StudyResults) -> dict[str, str]:
    """Return the config in words: grid, trials, cap, instances with their weights, learners with their options."""
    study = results.study
    facts = {name: spans(results.summary[name].unique().tolist()) for name in ("L", "K")}
    facts |= {name: ", ".join(map(parameter, getattr(study, name))) for name in AXES if name not in facts}
    facts |= {
        "trials a cell": _trials(study.trials),
        "cap on the steps": count(study.max_steps) if study.max_steps else "none",
        "order of the items": study.order,
        "engine": study.engine,
        "rewards": str(study.rewards or "independent"),
    }
    facts |= {"feedback": study.feedback} if study.feedback != type(study).model_fields["feedback"].default else {}
    facts |= {"users": as_written(study.users.model_dump(mode="json"))} if study.users else {}
    facts |= {f"instance {name}": _words(entry) for name, entry in results.instances.items()}
    return facts | {f"learner {name}": _words(entry) for name, entry in results.learners.items()}


def _weights_in_words(results: StudyResults) -> Iterator[tuple[str, str, str, str]]:
    """Yield instance, `L`, `K` and the weights in descending order, once for each; nothing where they are not known."""
    seen = set()
    for cell in results.summary.to_dict("records"):
        name, L, K = place = cell["instance"], cell["L"], cell["K"]
        key = str(results.manifest.cells.get(cell["cell_id"], {}).get("weights", ""))
        weights = None if place in seen else results.weights_of(name, L, K, key)
        seen.add(place)
        if weights is not None:
            yield str(name), str(L), str(K), _levels(weights)


def _levels(weights: FloatArray, most: int = 12) -> str:
    """Return weights in descending order, equal ones once with their number."""
    levels, times = np.unique(weights, return_counts=True)
    words = [
        number(float(level)) + (f" ({n} items)" if n > 1 else "")
        for level, n in zip(levels[::-1], times[::-1], strict=True)
    ]
    rest = [f"... {number(float(levels[0]))} ({count(len(words))} different ones)"] if len(words) > most else []
    return ", ".join([*words[:most], *rest])


def _trials(trials: int | Enough) -> str:
    if isinstance(trials, int):
        return count(trials)
    aims = trials.model_dump(exclude_none=True)
    return ", ".join(f"{name.replace('_', ' ')} {parameter(value)}" for name, value in aims.items())


def _provenance(results: StudyResults) -> dict[str, str]:
    """Return hashes, seed, versions, commit, machine and dates of a sweep."""
    manifest = results.manifest
    return {
        "hash of the config": manifest.config_hash,
        "hash of the rows (trials.csv)": results.rows_sha256,
        "root seed": str(manifest.seed),
        "engine version": _pairs(manifest.engine_version),
        "versions": _pairs(manifest.versions),
        "git commit": commit_text(manifest.git),
        "machine": _machine(manifest.machine),
        **({"merged from": f"{len(manifest.parts)} directories"} if manifest.parts else {}),
        "started": manifest.start,
        "ended": manifest.end or _UNKNOWN,
        "complete": "yes" if manifest.complete else "no",
    }


def _words(entry: Entry) -> str:
    """Return the keys of an entry that are set, apart from its name and its `fit`."""
    values = entry.model_dump(mode="json", exclude={"name", "fit"})
    return ", ".join(_word(key, value) for key, value in values.items() if value not in (None, []))


def _word(key: str, value: Any) -> str:
    if key in ("family", "algorithm"):
        return str(value)
    if key == "weights" and isinstance(value, list) and len(value) > 6:
        return f"{len(value)} weights"
    return f"{key} = {', '.join(map(str, value)) if isinstance(value, list) else as_written(value)}"


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items()) or _UNKNOWN


def commit_text(git: Mapping[str, Any] | None, digits: int | None = None) -> str:
    """Return a commit, cut to `digits` if given, and whether the code was changed since."""
    if not git:
        return _UNKNOWN
    return f"{str(git.get('commit', _UNKNOWN))[:digits]}{', with changes' if git.get('dirty') else ''}"


def _machine(machine: Mapping[str, Any]) -> str:
    """Return the machine in words, without its name, which says nothing about the numbers."""
    system, processor, cores = (machine.get(name, _UNKNOWN) for name in ("system", "processor", "cores"))
    return f"{system}, {processor}, {cores} cores"
