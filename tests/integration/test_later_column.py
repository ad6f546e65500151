"""A column that a later version adds: it goes on from journals without one, and this version leaves those with one."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import pandas as pd
import pytest
from sweeps import Called, environment, refusal, sweep, tables, write_config

import cascadebai_cli
from cascadebai_cli.version import __version__

RIGHT = '    Column("right", int, "how many items of the answer are good enough", check=_FROM_0, when="budget"),\n'
ADDED = {
    "store/columns.py": (
        (RIGHT, RIGHT + '    Column("named", int, "number of items named", check=_FROM_0, when="later"),\n'),
        ("    right: int | None = None\n", "    right: int | None = None\n    named: int | None = None\n"),
    ),
    "running/worker.py": (("        seconds=seconds,\n", "        seconds=seconds,\n        named=len(items),\n"),),
}
"""How a column is added, file by file: what stands there, and what takes its place."""
CALLS = """
import json, sys
from sweeps import call
print(json.dumps([call(*words) for words in json.load(sys.stdin)]))
"""


def newer_version(folder: Path) -> Path:
    """The package with one more column, as a folder to import it from."""
    shutil.copytree(Path(cascadebai_cli.__file__).parent, folder / "cascadebai_cli")
    for name, changes in ADDED.items():
        path = folder / "cascadebai_cli" / name
        text = path.read_text()
        for old, new in changes:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        path.write_text(text)
    return folder


def calls(package: Path, *commands: tuple[object, ...]) -> list[Called]:
    """Command lines of that version, in one process."""
    places = f"{package}:{Path(__file__).parents[1]}"
    done = subprocess.run(
        [sys.executable, "-c", CALLS],
        input=json.dumps([[str(word) for word in words] for words in commands]),
        env={**environment(), "PYTHONPATH": places},
        cwd=package,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return [Called(*each) for each in json.loads(done.stdout)]


class Story(NamedTuple):
    """`old` was swept by this version, all others by the newer one, which was called as `told` says."""

    config: Path
    folder: Path
    told: dict[str, Called]

    def journal(self, name: str) -> bytes:
        return (self.folder / name / "trials.journal").read_bytes()

    def rows(self, name: str) -> pd.DataFrame:
        return pd.read_csv(self.folder / name / "trials.csv", dtype=str, keep_default_na=False)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    folder = tmp_path_factory.mktemp("versions")
    config = write_config(folder)
    assert sweep(config, folder / "old").code == 0
    for name in ("finished", "longer"):
        shutil.copytree(folder / "old", folder / name)
    shutil.copytree(folder / "old", folder / "wrong")
    lines = (folder / "old" / "trials.journal").read_text().splitlines()
    texts = [f"{line.rpartition(',')[0]},,named=9" for line in lines]
    (folder / "wrong" / "trials.journal").write_text("".join(f"{text},{crc32(text.encode()):08x}\n" for text in texts))
    swept = {
        name: ("sweep", config, "--out", folder / name, "--backend", "sequential", "--trials", trials)
        for name, trials in (("finished", 6), ("longer", 8), ("new", 6))
    }
    twins = [
        ("merge", *(folder / name for name in names), "--out")
        for names in (("old", "new"), ("new", "old"), ("new", "wrong"))
    ]
    commands = {
        **swept,
        "summary": ("summary", folder / "old"),
        "verify": ("verify", "--reference", folder, "--only", "old", "--seed", 1, "--trials", 3, "--n-jobs", 1),
        "merged": (*twins[0], folder / "merged"),
        "merged otherwise": (*twins[1], folder / "merged otherwise"),
        "wrong": (*twins[2], folder / "refused"),
        "again": swept["longer"],
    }
    done = calls(newer_version(folder / "newer"), *commands.values())
    return Story(config, folder, dict(zip(commands, done, strict=True)))


def test_a_finished_sweep_stays_finished(story: Story) -> None:
    assert (story.told["finished"].code, story.told["finished"].err) == (
        0,
        "24 of 24 trials are there already, 0 to run\n",
    )
    assert story.journal("finished") == story.journal("old")


def test_its_table_has_the_column_with_no_value(story: Story) -> None:
    rows = story.rows("finished")
    assert rows.pop("named").unique().tolist() == [""]
    pd.testing.assert_frame_equal(rows, story.rows("old"))


def test_trials_that_are_added_have_a_value_beside_those_that_have_none(story: Story) -> None:
    code, _, err = story.told["longer"]
    assert (code, err.splitlines()[0]) == (0, "24 of 32 trials are there already, 8 to run")
    assert story.journal("longer").startswith(story.journal("old"))
    rows = story.rows("longer")
    assert ((rows["named"] == "") == (rows["trial"].astype(int) < 6)).all()
    assert (rows["named"] == rows["K"])[rows["trial"].astype(int) >= 6].all()
    assert story.told["again"].err == "32 of 32 trials are there already, 0 to run\n"


def test_tables_that_were_written_before_are_read_and_verified(story: Story) -> None:
    assert story.told["summary"].code == story.told["verify"].code == 0
    assert "bit for bit: 8 of 24 trials run again" in story.told["verify"].err


@pytest.mark.parametrize("name", ["merged", "merged otherwise"])
def test_of_a_trial_with_the_column_and_without_it_the_first_one_is_kept(story: Story, name: str) -> None:
    assert story.told[name].code == 0
    assert tables(story.folder / name) == tables(story.folder / "new")


def test_two_different_values_of_the_column_are_refused(story: Story) -> None:
    assert story.told["wrong"].code == 2
    assert "or ended differently; find out which is wrong and leave it out" in story.told["wrong"].err


@pytest.mark.parametrize("more", ["--backend=sequential", "--status", "--dry-run", "--collect", "--trials=9", "-q"])
def test_this_version_says_so_in_a_sentence_and_touches_nothing(story: Story, more: str) -> None:
    files = {path.name: path.read_bytes() for path in (story.folder / "longer").iterdir()}
    text = refusal("sweep", story.config, "--out", story.folder / "longer", more)
    assert text == (
        f"{story.folder / 'longer' / 'trials.journal'}: cascadebai {__version__} does not know column named, which it "
        "could not keep; use the newer version that wrote this file, or another directory\n"
    )
    assert {path.name: path.read_bytes() for path in (story.folder / "longer").iterdir()} == files


def test_this_version_does_not_merge_it(story: Story, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert "does not know column named" in refusal("merge", story.folder / "old", story.folder / "new", "--out", out)
    assert not out.exists()


def test_fresh_moves_it_aside(story: Story, tmp_path: Path) -> None:
    shutil.copytree(story.folder / "longer", tmp_path / "out")
    assert sweep(story.config, tmp_path / "out", "--fresh").code == 0
    assert (tmp_path / "out.old1" / "trials.journal").read_bytes() == story.journal("longer")
    assert tables(tmp_path / "out") == tables(story.folder / "old")
