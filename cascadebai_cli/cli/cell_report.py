"""What `cascadebai run` prints of a cell."""

from typing import TYPE_CHECKING

from cascadebai_cli.text.clean import for_table
from cascadebai_cli.text.numbers import count, duration, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cascadebai_cli.workflows.run import CellRun

MOST_NAMED = 200
"""Items that are named."""


def cell_report(done: "CellRun") -> str:
    """Some lines about a cell."""
    lines = {
        "steps (page views)": _steps(done),
        "observations per step": f"{done.observations:.4g}",
        "errors": _errors(done),
        "time": f"{duration(done.seconds)} for {_trials(done)}, {duration(done.trial_seconds)} a trial",
    }
    if done.found:
        lines[f"items found in {done.found_in} of {_trials(done)}"] = _names(done.found)
    width = max(map(len, lines))
    text = [f"  {name.ljust(width)}  {value}" for name, value in lines.items()]
    return "\n".join([f"{done.cell.label} (cell {done.cell.cell_id})", *text])


def _names(items: "Sequence[str]") -> str:
    more = len(items) - MOST_NAMED
    return ", ".join(map(for_table, items[:MOST_NAMED])) + (f" and {count(more)} more" if more > 0 else "")


def _trials(done: "CellRun") -> str:
    return f"{done.trials} trial{'s' * (done.trials != 1)}"


def _steps(done: "CellRun") -> str:
    text = f"mean {count(done.mean_steps, 1)}"
    if done.sd_steps is not None:
        text += f", sd {count(done.sd_steps, 1)}"
    return text + f", {_trials(done)}" + (f", {done.capped} of them capped" if done.capped else "")


def _errors(done: "CellRun") -> str:
    if not done.stopped:
        return "unknown, no trial stopped before the cap"
    low, high = done.wrong_interval
    share = f"{percent(done.wrong / done.stopped, 1)} (95 % interval {percent(low, 1)} to {percent(high, 1)})"
    which = "trials" if done.cell.answers else "trials that stopped"
    return f"{done.wrong} of {done.stopped} {which}: {share}"
