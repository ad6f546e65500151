"""What no sweep made is neither written to nor moved; what somebody has edited is not believed."""

import errno
import json
import os
from pathlib import Path

import pytest
from sweeps import call, refusal, sweep, tables, write_config


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# Directories of others

WEB_PROJECT = json.dumps({"name": "shop", "start_url": "/", "icons": [], "config": {}})


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("manifest.json", WEB_PROJECT),
        ("manifest.json", "{"),
        ("manifest.json", "[" * 100_000),
        ("summary.csv", "month,sales\nMay,3\n"),
        ("trials.csv", "patient,dose\n1,2\n"),
        ("trials.journal", "dear diary\n"),
        ("timings.csv", "lap\n1\n"),
        ("failures.log", "my own failures\n"),
    ],
)
@pytest.mark.parametrize("option", [None, "--fresh", "--dry-run", "--collect"])
def test_a_directory_of_somebody_else_is_refused_and_stays_as_it_is(
    config: Path, tmp_path: Path, name: str, content: str, option: str | None
) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "index.html").write_text("hello")
    (folder / name).write_text(content)
    before = files(folder)
    code, _, err = sweep(config, folder, *([option] if option else []))
    assert code == 2
    assert str(folder) in err
    assert files(folder) == before
    assert {path.name for path in tmp_path.iterdir()} == {"shop", config.name}


def test_a_directory_with_other_files_only_is_as_good_as_an_empty_one(config: Path, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "today.txt").write_text("x")
    assert sweep(config, tmp_path / "notes").code == 0
    assert (tmp_path / "notes" / "today.txt").read_text() == "x"


# Moving aside


def test_fresh_moves_everything_at_once(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed at any moment, the old result is whole in one place or the other."""
    out = tmp_path / "out"
    assert sweep(config, out).code == 0
    (out / "models.csv").write_text("old")
    before, moves, real = files(out), [], Path.rename

    def rename(path: Path, target: Path) -> Path:
        moves.append(path)
        return real(path, target)

    monkeypatch.setattr(Path, "rename", rename)
    assert sweep(config, out, "--fresh", "--seed", 9).code == 0
    assert moves == [out]
    assert files(tmp_path / "out.old1") == before
    assert "models.csv" not in files(out)


def test_killed_behind_the_move_the_same_command_starts_over(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, link = tmp_path / "out", tmp_path / "link"
    link.symlink_to(out)
    assert sweep(config, out).code == 0
    before = tables(out)

    def killed(place: Path, **_: bool) -> None:
        if not place.exists():
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", killed)
        assert sweep(config, link, "--fresh").code == 130
    assert not out.exists()
    assert sweep(config, link, "--fresh").code == 0
    assert tables(out) == tables(tmp_path / "out.old1") == before


def test_the_directory_that_one_is_in_is_not_moved(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sweep(config, tmp_path / "out").code == 0
    monkeypatch.chdir(tmp_path / "out")
    code, _, err = sweep(config, Path(), "--fresh")
    assert code == 2
    assert "run the same command from outside" in err
    assert sorted(os.listdir(tmp_path)) == ["out", config.name]


# Edited tables


@pytest.mark.parametrize("name", ["trials.csv", "summary.csv", "timings.csv"])
def test_an_edited_table_is_refused_until_it_is_collected_anew(tmp_path: Path, name: str) -> None:
    config, out = write_config(tmp_path), tmp_path / "out"
    config.write_text(config.read_text().replace("K: [1, 2]", "K: [1, 2, 3]"))
    assert sweep(config, out).code == 0
    before = files(out)
    text = (out / name).read_text()
    (out / name).write_text(text.replace(",0,", ",10,", 1) if ",0," in text else text + "\n")
    for verb in (["fit", out], ["plot", out], ["report", out, "--out", tmp_path / "page.html"]):
        code, _, err = call(*verb)
        assert code == 2
        assert err == (
            f"error: {out / name} is not the one that the sweep wrote; "
            f"`cascadebai sweep CONFIG --out {out} --collect` writes it again\n"
        )
    assert sweep(config, out, "--collect").code == 0
    assert files(out)[name] == before[name]
    assert call("fit", out).code == 0


def test_a_top_up_that_was_interrupted_leaves_tables_that_are_believed(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    assert sweep(config, out, "--trials", 2).code == 0
    monkeypatch.setattr("cascadebai_cli.running.sweep.OpenSweep.collect", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        sweep(config, out, "--trials", 6)
    assert "not the one that the sweep wrote" not in call("plot", out, "--out", tmp_path / "a.svg").err


# Fewer trials, odd names


def test_rows_that_are_kept_and_not_shown_are_remarked_on(config: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ("sweep", config, "--out", out, "--backend", "sequential")
    assert call(*options).code == 0
    code, _, err = call(*options, "--trials", 2)
    assert code == 0
    assert "16 rows of trials beyond those that are asked for are kept in the journal and not shown in the" in err
    assert "not shown" not in call(*options).err


@pytest.mark.parametrize("name", ["..yaml", "...yaml"])
def test_a_config_whose_name_is_a_directory_writes_nowhere(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    config.rename(tmp_path / name)
    for text in ("", "study: mine\n"):
        (tmp_path / name).write_text((tmp_path / name).read_text() + text)
        code, _, err = call("sweep", name, "--backend", "sequential", "--quiet")
        assert code == 2
        assert err.count("\n") == 1
        assert os.listdir(tmp_path) == [name]


def test_a_tilde_is_a_name_like_any_other(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert sweep(config, Path("~")).code == 0
    assert (tmp_path / "~" / "summary.csv").exists()


def test_names_of_items_do_not_steer_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "rates.csv").write_text('item,rate\n"\x1b[2Ja\nb",0.9\nc,0.2\nd,0.1\n')
    config = tmp_path / "study.yaml"
    config.write_text(
        "seed: 1\ntrials: 1\nK: 1\ninstances: [{name: mine, family: csv, path: rates.csv, item: item, rate: rate}]\n"
    )
    code, out, _ = call("run", config, "--n-jobs", 1)
    assert code == 0
    assert r"\x1b[2Ja\nb" in out
    assert "\x1b" not in out


def test_a_file_without_the_column_is_answered_with_a_few_names(tmp_path: Path) -> None:
    columns = [f"column{i}" for i in range(10_000)]
    (tmp_path / "wide.csv").write_text(f"{'x' * 100_000},{','.join(columns)}\n")
    code, _, err = call("plan", tmp_path / "wide.csv", "--items", "name", "--clicks", "clicks", "--views", "views")
    assert code == 2
    assert len(err) < 1000
    assert err.endswith("and 9993 more\n")


# Mount points, and tables of a million columns


def test_a_directory_that_cannot_be_renamed_is_left_as_it_is(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a mount point; what `rename` says of one is put in its place here."""
    out = tmp_path / "out"
    assert sweep(config, out).code == 0
    before = files(out)

    def busy(self: Path, target: Path) -> Path:
        raise OSError(errno.EBUSY, "Device or resource busy", str(self))

    monkeypatch.setattr(Path, "rename", busy)
    for _ in range(2):
        code, _, err = sweep(config, out, "--fresh")
        assert code == 1
        assert "is a mount point or in use; move its files yourself, or name another directory with --out" in err
    assert files(out) == before
    assert sorted(os.listdir(tmp_path)) == ["out", config.name]


@pytest.mark.parametrize("name", ["summary.csv", "trials.csv"])
def test_a_table_of_very_many_columns_is_refused_by_its_header(config: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    assert sweep(config, out).code == 0
    manifest = json.loads((out / "manifest.json").read_text())
    (out / "manifest.json").write_text(json.dumps({**manifest, "rows_sha256": None, "tables": {}}))
    header = ",".join(f"column{i}" for i in range(20_000))
    (out / name).write_text(f"{header}\n{header}\n")
    verb = ["verify", "--reference", tmp_path] if name == "trials.csv" else ["fit", out]
    assert f"{out / name}: the header has 100000 bytes or more, so no sweep wrote it" in refusal(*verb)


@pytest.mark.parametrize("text", ["{key}: 1", "instances: [{{name: x, family: '{key}:x'}}]", "seed: !{key} 1"])
def test_a_name_of_thousands_of_letters_is_not_echoed(tmp_path: Path, text: str) -> None:
    (tmp_path / "long.yaml").write_text(f"seed: 1\n{text.format(key='k' * 1000)}\n")
    sentence = refusal("check", tmp_path / "long.yaml")
    assert "kkk..." in sentence
    assert len(sentence) < 400
