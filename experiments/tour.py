"""The notebook `tour.ipynb`, made from `tour_cells.py` and run: `make tour`.

A cell begins with `# %%`, one of text with `# %% [markdown]`.
"""

import re
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbclient import NotebookClient

CELLS, NOTEBOOK = (Path(__file__).parent / name for name in ("tour_cells.py", "tour.ipynb"))
BEGIN = re.compile(r"^# %%(?P<text> \[markdown\])?$", re.MULTILINE)
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
"""Another one compiles the notebook's learner to other bytecode, so that its random numbers are others."""
LONGEST = 120
"""Seconds that a cell may take."""


def notebook_of(source: str) -> Any:
    """The notebook of a text with cells, not run."""
    make: Any = nbformat.v4
    return make.new_notebook(cells=list(_cells(source)), metadata={"language_info": {"name": "python"}})


def _cells(source: str) -> Iterator[Any]:
    make: Any = nbformat.v4
    begins = list(BEGIN.finditer(source))
    for number, (begin, end) in enumerate(zip(begins, [*begins[1:], None], strict=True)):
        content = source[begin.end() : end.start() if end else None].strip()
        text = begin["text"] is not None
        cell = make.new_markdown_cell(re.sub("^# ?", "", content, flags=re.M)) if text else make.new_code_cell(content)
        cell["id"] = sha256(f"{number}".encode()).hexdigest()[:8]  # the same ones each time
        yield cell


def run(notebook: Any) -> Any:
    """Run a notebook in a kernel of its own, in a folder that is gone afterwards; how far it was is not kept."""
    with TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        NotebookClient(notebook, timeout=LONGEST, resources=resources, record_timing=False).execute()
    for cell in notebook["cells"]:
        if "outputs" in cell:
            cell["outputs"] = [output for output in cell["outputs"] if not output.get("text", "").startswith("\r")]
    return notebook


def main() -> None:
    """Make the notebook."""
    notebook: Any = run(notebook_of(CELLS.read_text(encoding="utf-8")))
    notebook["metadata"] = {"language_info": {"name": "python", "version": PYTHON}}
    write: Any = nbformat.writes
    NOTEBOOK.write_text(write(notebook, version=4) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
