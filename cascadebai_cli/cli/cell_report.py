"""What `cascadebai run` prints of a cell."""

import statistics
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cascadebai_cli.store.intervals import binomial_interval
from cascadebai_cli.text.numbers import duration

if TYPE_CHECKING:
    from cascadebai_cli.running.worker import Finished
    from cascadebai_cli.study.cells import Cell


def cell_report(cell: "Cell", rows: Sequence["Finished"], seconds: float) -> str:
    """Some lines about a cell.

    Args:
        cell: the cell.
        rows: its trials, at least one, with the items found.
        seconds: wall time of all of them.
    """
    lines = {
        "steps (page views)": _steps(rows),
        "observations per step": f"{sum(r.observations for r in rows) / max(sum(r.steps for r in rows), 1):.4g}",
        "errors": _errors(rows),
        "time": f"{duration(seconds)} for {_trials(rows)}, {duration(_mean([r.seconds for r in rows]))} a trial",
        **_items(cell, rows),
    }
    width = max(map(len, lines))
    text = [f"  {name.ljust(width)}  {value}" for name, value in lines.items()]
    return "\n".join([f"{cell.label} (cell {cell.cell_id})", *text])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _trials(rows: Sequence["Finished"]) -> str:
    return f"{len(rows)} trial{'s' * (len(rows) != 1)}"


def _steps(rows: Sequence["Finished"]) -> str:
    steps = [row.steps for row in rows]
    text = f"mean {_mean(steps):,.1f}"
    if len(steps) > 1:
        text += f", sd {statistics.stdev(steps):,.1f}"
    capped = sum(row.status == "capped" for row in rows)
    return text + f", {_trials(rows)}" + (f", {capped} of them capped" if capped else "")


def _errors(rows: Sequence["Finished"]) -> str:
    stopped = [row for row in rows if row.status == "stopped"]
    wrong = sum(not row.correct for row in stopped)
    if not stopped:
        return "unknown, no trial stopped before the cap"
    low, high = binomial_interval(wrong, len(stopped))
    share = f"{wrong / len(stopped):.1%} (95 % interval {low:.1%} to {high:.1%})"
    return f"{wrong} of {len(stopped)} trials that stopped: {share}"


def _items(cell: "Cell", rows: Sequence["Finished"]) -> dict[str, str]:
    """The set found most often, best item first."""
    sets = Counter(frozenset(row.items) for row in rows if row.status == "stopped")
    if not sets:
        return {}
    found, times = sets.most_common(1)[0]
    best_first = sorted(found, key=lambda item: (-cell.weights[item], item))
    names = ", ".join(cell.items[item] for item in best_first)
    return {f"items found in {times} of {_trials(rows)}": names}
