"""Tables to read on a terminal: plain text, aligned."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

Cells = Sequence[Sequence[str]]


def aligned(header: Sequence[str], rows: Cells, *, left: int = 1) -> str:
    """Text table with a rule under the header; the first `left` columns flush left, the others flush right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(_line(cells, widths, left) for cells in lines)


def _line(cells: Sequence[str], widths: Sequence[int], left: int) -> str:
    placed = [
        cell.ljust(width) if i < left else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(placed).rstrip()


def fits_text(fits: pd.DataFrame) -> str:
    """Our fit and, in the line below, the published one where the config carries it.

    Args:
        fits: as from `fits_table`.
    """
    header = ["instance", "learner", "model", "source", "c1", "se", "c2", "se", "R^2", "p-value", "points", "c1 diff."]
    rows: list[list[str]] = []
    for row in fits.to_dict("records"):
        rows.append(_our_line(row))
        if pd.notna(row["published_c1"]):
            rows.append(_published_line(row))
    known = bool(fits["published_c1"].notna().any())
    return aligned(header, rows, left=4) if known else aligned(header[:-1], [row[:-1] for row in rows], left=4)


def _our_line(row: dict[Any, Any]) -> list[str]:
    names = [str(row["instance"]), str(row["learner"]), f"c1 {row['model']} + c2", "here"]
    estimates = [coefficient(row[name]) for name in ("c1", "c1_se", "c2", "c2_se")]
    quality = [share(row["r2"]), p_value(row["p_value"]), str(row["n_points"])]
    return [*names, *estimates, *quality, difference(row["c1"], row["published_c1"])]


def _published_line(row: dict[Any, Any]) -> list[str]:
    c1, c2 = coefficient(row["published_c1"]), coefficient(row["published_c2"])
    quality = [share(row["published_r2"]), p_value(row["published_p_value"])]
    return ["", "", "", "published", c1, "", c2, "", *quality, "", ""]


def models_text(models: pd.DataFrame) -> str:
    """For each instance and learner by how much each model's AIC is above the smallest, and the log-log slope.

    Args:
        models: as from `models_table`.
    """
    curves = list(models.groupby(["instance", "learner", "L", "delta", "epsilon"], sort=False))
    names = list(dict.fromkeys(models["model"]))
    header = [
        "instance",
        "learner",
        "smallest AIC",
        *(f"AIC {name}" for name in names),
        "log-log slope",
        "95 % interval",
    ]
    return aligned(header, [_models_line(curve, names) for _, curve in curves], left=3)


def _models_line(curve: pd.DataFrame, names: Sequence[str]) -> list[str]:
    best = curve[curve["best"] == 1].iloc[0]
    # Points exactly on every curve have an AIC of -inf each.
    above = {
        row["model"]: row["aic"] - best["aic"] if row["aic"] > best["aic"] else 0.0 for row in curve.to_dict("records")
    }
    slope = [f"{best['loglog_slope']:.3f}", f"{best['loglog_low']:.3f} to {best['loglog_high']:.3f}"]
    differences = ["best" if name == best["model"] else f"+{above[name]:.1f}" for name in names]
    return [best["instance"], best["learner"], best["model"], *differences, *slope]


def coefficient(value: float) -> str:
    """Two decimals, as the paper prints them; empty if unknown."""
    return "" if pd.isna(value) else f"{value:.2f}" if abs(value) >= 0.1 or value == 0 else f"{value:.2g}"


def share(value: float) -> str:
    """Four decimals; empty if unknown."""
    return "" if pd.isna(value) else f"{value:.4f}"


def p_value(value: float) -> str:
    """Three digits; empty if unknown."""
    return "" if pd.isna(value) else f"{value:.2e}"


def difference(ours: float, theirs: float) -> str:
    """`ours` relative to `theirs` in per cent, with its sign; empty if there is nothing to compare with."""
    return "" if pd.isna(theirs) or theirs == 0 else f"{100 * (ours / theirs - 1):+.1f} %"


def digits(value: float) -> str:
    """Three significant digits, zeros included, without a power of ten down to 0.001."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:#.3g}"
