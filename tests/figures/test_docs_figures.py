"""The pictures of the pages in docs are what the lines of YAML above them draw: `make figures` draws them anew."""

from pathlib import Path

import pytest
from cases import mostly_slow
from matplotlib.testing.compare import compare_images
from sweeps import ROOT

from experiments.figures import FOLDER, PAGES, Example, examples, write

DOCS = ROOT / FOLDER
EXAMPLES = {example.file.stem: example for example in examples(ROOT)}
TOLERANCE = 0.1
MOST_BYTES = 60_000


def test_there_are_twelve_each_with_its_lines() -> None:
    assert len(EXAMPLES) == 12
    assert [(DOCS / page).read_text(encoding="utf-8").count("![") for page in PAGES] == [10, 1, 1]
    assert {path.stem for path in (DOCS / "figures").glob("*.png")} == set(EXAMPLES)


@pytest.mark.parametrize("name", mostly_slow(EXAMPLES, {"column", "bars", "together"}))
def test_the_picture_is_the_one_of_its_lines(name: str, tmp_path: Path) -> None:
    example = EXAMPLES[name]
    write(example.figure(ROOT), tmp_path / "now.png")
    assert compare_images(str(DOCS / example.file), str(tmp_path / "now.png"), TOLERANCE) is None
    assert (DOCS / example.file).stat().st_size < MOST_BYTES


def test_other_words_give_another_picture(tmp_path: Path) -> None:
    example = EXAMPLES["column"]
    other = Example(example.directories, example.plot.model_copy(update={"log": ("y",)}), example.file)
    write(other.figure(ROOT), tmp_path / "now.png")
    assert compare_images(str(DOCS / example.file), str(tmp_path / "now.png"), TOLERANCE) is not None
