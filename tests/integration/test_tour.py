"""The notebook is what its script makes, and a kernel runs it to its end."""

import json
from typing import Any

import pytest

from experiments import tour


def outputs(cell: Any) -> list[Any]:
    """What a cell shows as text, and of which kinds the rest is."""
    return [
        output.get("text") or [output["data"].get("text/plain"), sorted(output["data"])]
        for output in cell.get("outputs", [])
    ]


@pytest.fixture(scope="module")
def committed() -> Any:
    return json.loads(tour.NOTEBOOK.read_text(encoding="utf-8"))


def test_the_notebook_has_the_cells_of_the_script(committed: Any) -> None:
    made = tour.notebook_of(tour.CELLS.read_text(encoding="utf-8"))
    assert [(c["id"], c["cell_type"], "".join(c["source"])) for c in committed["cells"]] == [
        (c["id"], c["cell_type"], c["source"]) for c in made["cells"]
    ]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_kernel_runs_it_and_shows_what_is_committed(committed: Any) -> None:
    """`make tour` makes it anew; `nbclient` and what it needs warn of themselves."""
    ran = json.loads(json.dumps(tour.run(tour.notebook_of(tour.CELLS.read_text(encoding="utf-8")))))
    shown = [outputs(cell) for cell in ran["cells"]]
    if committed["metadata"]["language_info"]["version"] == tour.PYTHON:
        assert shown == [outputs(joined(cell)) for cell in committed["cells"]]
    assert any("image/png" in kinds for cell in shown for _, kinds in (o for o in cell if isinstance(o, list)))
    assert not any(output.get("name") == "stderr" for cell in ran["cells"] for output in cell.get("outputs", []))


def joined(cell: Any) -> Any:
    """A cell of a file, whose texts are lists of lines."""
    return {**cell, "outputs": [_joined(output) for output in cell.get("outputs", [])]}


def _joined(output: Any) -> Any:
    data = {kind: "".join(text) for kind, text in output.get("data", {}).items()}
    return {**output, "data": data, **({"text": "".join(output["text"])} if "text" in output else {})}


def test_a_cell_that_raises_is_found_out() -> None:
    made = tour.notebook_of("# %% [markdown]\n# Text\n#\n# more\n\n# %%\n1 / 0\n")
    assert made["cells"][0]["source"] == "Text\n\nmore"
    with pytest.raises(Exception, match="ZeroDivisionError"):
        tour.run(made)
