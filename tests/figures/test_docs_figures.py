"""The pictures of docs/figures.md are what its lines of YAML draw: `make figures` draws them anew."""

from pathlib import Path

import pytest
from cases import mostly_slow
from matplotlib.testing.compare import compare_images
from sweeps import ROOT

from experiments.figures import PAGE, Example, examples, write

FOLDER = ROOT / PAGE.parent
EXAMPLES = {example.file.stem: example for example in examples(ROOT / PAGE)}
TOLERANCE = 0.1
MOST_BYTES = 60_000


def test_there_are_eight_each_with_its_lines() -> None:
    assert len(EXAMPLES) == 8
    assert (ROOT / PAGE).read_text(encoding="utf-8").count("![") == 8
    assert {path.stem for path in (FOLDER / "figures").glob("*.png")} == set(EXAMPLES)


@pytest.mark.parametrize("name", mostly_slow(EXAMPLES, {"column", "bars", "together"}))
def test_the_picture_is_the_one_of_its_lines(name: str, tmp_path: Path) -> None:
    example = EXAMPLES[name]
    write(example.figure(ROOT), tmp_path / "now.png")
    assert compare_images(str(FOLDER / example.file), str(tmp_path / "now.png"), TOLERANCE) is None
    assert (FOLDER / example.file).stat().st_size < MOST_BYTES


def test_other_words_give_another_picture(tmp_path: Path) -> None:
    example = EXAMPLES["column"]
    other = Example(example.directories, example.plot.model_copy(update={"log": ("y",)}), example.file)
    write(other.figure(ROOT), tmp_path / "now.png")
    assert compare_images(str(FOLDER / example.file), str(tmp_path / "now.png"), TOLERANCE) is not None
