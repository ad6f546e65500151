"""Shards of a grid from several machines, merged: the same bytes as in one sweep, and nothing else goes in."""

import json
import shutil

import pytest
from cases import mostly_slow
from sweeps import CONFIG, call, finished, refusal, sweep, tables, write_config

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.store.columns import TrialRow
from cascadebai_cli.store.journal import Stored, encode, write_journal

PLUGIN = """\
from cascadebai_cli.learners.cascadebai import CascadeBAI


class Mine(CascadeBAI):
    \"\"\"{what}\"\"\"
"""


@pytest.fixture
def whole(config, tmp_path):
    assert sweep(config, tmp_path / "whole").code == 0
    return tables(tmp_path / "whole")


def shards(config, folder, of, *more):
    places = [folder / f"shard{number}" for number in range(1, of + 1)]
    for number, place in enumerate(places, 1):
        assert sweep(config, place, "--shard", f"{number}/{of}", *more).code == 0
    return places


def merged(*places, out):
    return call("merge", *places, "--out", out)


def edited(place, **values):
    path = place / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_five_shards_in_five_directories_give_the_bytes_of_one_sweep(config, tmp_path, whole):
    places = shards(config, tmp_path, 5)
    rows = [len(Stored.read(place).rows) for place in places]
    assert sum(rows) == 24
    assert max(rows) - min(rows) <= 1
    before = [(place / "trials.journal").read_bytes() for place in places]
    code, out, err = merged(*places[::-1], out=tmp_path / "all")
    assert (code, err) == (0, "")
    assert out.startswith("24 trials: ")
    assert tables(tmp_path / "all") == whole
    assert [(place / "trials.journal").read_bytes() for place in places] == before
    manifest = json.loads((tmp_path / "all" / "manifest.json").read_text())
    assert (manifest["complete"], len(manifest["parts"])) == (True, 5)
    assert call("report", tmp_path / "all", "--out", tmp_path / "page.html").code == 0
    assert "merged from" in (tmp_path / "page.html").read_text()


def test_shards_of_a_grid_in_any_order_give_the_bytes_of_one_sweep(config, tmp_path):
    learners = "[{name: a, algorithm: cascadebai, K: [3, 1]}, {name: b, algorithm: batrac, b: 2, K: [2, 1]}]"
    config.write_text(CONFIG.format(trials=3).replace("K: [1, 2]\n", f"learners: {learners}\n"))
    assert sweep(config, tmp_path / "whole").code == 0
    assert merged(*shards(config, tmp_path, 2)[::-1], out=tmp_path / "all").code == 0
    assert tables(tmp_path / "all") == tables(tmp_path / "whole")


def test_a_shard_from_before_gaps_were_kept_is_merged(config, tmp_path, whole):
    first, second = shards(config, tmp_path, 2)
    cells = json.loads((first / "manifest.json").read_text())["cells"]
    edited(first, cells={key: {**content, "gap": None} for key, content in cells.items()})
    assert merged(first, second, out=tmp_path / "all").code == 0
    assert tables(tmp_path / "all") == whole


def test_a_shard_from_before_all_options_were_kept_is_merged(config, tmp_path, whole):
    first, second = shards(config, tmp_path, 2)
    cells = json.loads((first / "manifest.json").read_text())["cells"]
    assert {cell.pop("order of the learner") for cell in cells.values()} == {"T"}
    edited(first, cells=cells)
    assert merged(first, second, out=tmp_path / "all").code == 0
    assert tables(tmp_path / "all") == whole


def test_a_sweep_goes_on_from_what_was_merged(config, tmp_path, whole):
    first, second, _ = shards(config, tmp_path, 3)
    code, _, err = merged(first, second, out=tmp_path / "all")
    assert code == 1
    assert err.startswith("8 trials are missing; ")
    assert "8 of 24 trials" in call("sweep", config, "--out", tmp_path / "all", "--dry-run").out
    assert sweep(config, tmp_path / "all").code == 0
    assert tables(tmp_path / "all") == whole
    assert len(json.loads((tmp_path / "all" / "manifest.json").read_text())["parts"]) == 2


def test_parts_of_a_grid_give_the_bytes_of_the_whole(tmp_path):
    text = CONFIG.format(trials=3)
    wide, low = text.splitlines()[-2:]
    parts = {
        "a": text.replace("K: [1, 2]", "K: [3, 4]"),
        "b": text.replace("K: [1, 2]", "K: 1"),
        "c": text.replace("K: [1, 2]", "K: 2").replace(low, ""),
        "d": text.replace("K: [1, 2]", "K: 2").replace(wide, "").replace("trials: 3", "trials: 2\ntitle: mine"),
        "e": text.replace("K: [1, 2]", "K: 2").replace(wide, ""),
    }
    for name, part in parts.items():
        (tmp_path / "study.yaml").write_text(part)
        assert sweep(tmp_path / "study.yaml", tmp_path / name).code == 0
    (tmp_path / "study.yaml").write_text(text.replace("K: [1, 2]", "K: [1, 2, 3, 4]"))
    assert sweep(tmp_path / "study.yaml", tmp_path / "whole").code == 0
    assert merged(*(tmp_path / name for name in parts), out=tmp_path / "all").code == 0
    assert tables(tmp_path / "all") == tables(tmp_path / "whole")
    made, one = (json.loads((tmp_path / name / "manifest.json").read_text()) for name in ("all", "whole"))
    assert (made["config"], made["config_hash"]) == (one["config"], one["config_hash"])


def test_twins_are_merged_and_trials_that_ended_otherwise_are_refused(config, tmp_path, whole):
    assert merged(tmp_path / "whole", tmp_path / "whole", out=tmp_path / "same").code == 0
    shutil.copytree(tmp_path / "whole", tmp_path / "copy")
    assert merged(tmp_path / "whole", tmp_path / "copy", out=tmp_path / "twins").code == 0
    assert tables(tmp_path / "twins") == tables(tmp_path / "same") == whole
    stored = Stored.read(tmp_path / "copy")
    rows = list(stored)
    wrong = rows[7]._replace(steps=rows[7].steps + 1)
    (tmp_path / "copy" / "trials.journal").write_bytes(b"".join(map(encode, [*rows[:7], wrong, *rows[8:]])))
    text = refusal("merge", tmp_path / "whole", tmp_path / "copy", "--out", tmp_path / "out")
    assert text.startswith(f"trial {wrong.trial} of cell {wrong.cell_id} has {rows[7].steps} steps and ")
    assert f"but {wrong.steps} and " in text
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("before", "after", "difference"),
    [
        ("seed: 5", "seed: 6", "seed is 5 in {} and 6 in {}"),
        ("seed: 5", "seed: 5\nengine: reference", "engine is skip-ahead in {} and reference in {}"),
        ("w_star: 0.9", "w_star: 0.8", "w_star is 0.9 in {} and 0.8 in {}"),
        ("seed: 5", "seed: 5\nmax_steps: 9", "max_steps is none in {} and 9 in {}"),
        ("delta: 0.2", "delta: 0.3\norder: as_given", "order is 'random' in {} and 'as_given' in {}"),
        ("K: [1, 2]\ndelta: 0.2", "K: 3\ndelta: 0.2\nmax_steps: 9", "max_steps is none in {} and 9 in {}"),
    ],
)
def test_a_difference_is_refused_by_name(tmp_path, before, after, difference):
    config, a, b = write_config(tmp_path), tmp_path / "a", tmp_path / "b"
    sweep(config, a, "--shard", "1/9")
    text = CONFIG.format(trials=6)
    assert before in text
    config.write_text(text.replace(before, after))
    sweep(config, b, "--shard", "2/9")
    text = refusal("merge", a, b, "--out", tmp_path / "out")
    assert text.startswith(f"{b} cannot be merged: ")
    assert difference.format(a, b) in text
    assert not (tmp_path / "out").exists()


def test_other_engines_are_refused(config, tmp_path):
    a, b = shards(config, tmp_path, 2)
    key = next(key for key in json.loads((b / "manifest.json").read_text()) if key.startswith("engine_version"))
    old = json.loads((b / "manifest.json").read_text())[key]
    edited(b, **{key: old + 1 if isinstance(old, int) else {name: number + 1 for name, number in old.items()}})
    assert f"{b} cannot be merged: engine" in refusal("merge", a, b, "--out", tmp_path / "out")


def test_rows_of_another_rule_are_refused_even_where_no_cell_is_common(tmp_path):
    kl = "learners: [{name: C, algorithm: cascadebai, confidence: kl}]\n"
    config = write_config(tmp_path, extra=kl)
    sweep(config, tmp_path / "a")
    config.write_text(config.read_text().replace("K: [1, 2]", "K: 3"))
    sweep(config, tmp_path / "b")
    cells = json.loads((tmp_path / "a" / "manifest.json").read_text())["cells"]
    older = {cell: {k: v for k, v in what.items() if k != "rule_version"} for cell, what in cells.items()}
    edited(tmp_path / "a", cells=older)
    text = refusal("merge", tmp_path / "a", tmp_path / "b", "--out", tmp_path / "out")
    assert f"rule_version is 1 in {tmp_path / 'a'} and 2 in {tmp_path / 'b'}" in text


@pytest.mark.parametrize("sizes", mostly_slow(["K: [1, 2]", "K: 3"], ["K: 3"]))
def test_a_changed_plugin_is_refused_even_where_no_cell_is_common(tmp_path, monkeypatch, sizes):
    """Hashes of a plugin are those of the moment of its import, so that two processes are needed."""
    config = write_config(tmp_path, extra="learners: [{name: mine, algorithm: 'mine:Mine'}]\n")
    for name, what in (("a", "One."), ("b", "Another one.")):
        (tmp_path / "mine.py").write_text(PLUGIN.format(what=what))
        done = finished("sweep", config, "--out", name, "--n-jobs", 1, "--shard", "1/9", folder=tmp_path)
        assert done.returncode == 0, done.stderr
        config.write_text(config.read_text().replace("K: [1, 2]", sizes))
    (tmp_path / "mine.py").unlink()
    assert "code is " in refusal("merge", tmp_path / "a", tmp_path / "b", "--out", tmp_path / "out")
    assert merged(tmp_path / "a", out=tmp_path / "out").code == 1


def test_data_files_of_one_name_must_have_one_content(tmp_path):
    config = tmp_path / "study.yaml"
    for name, rate, K in (("a", 0.5, 1), ("b", 0.4, 2)):
        (tmp_path / "rates.csv").write_text(f"item,rate\na,0.9\nb,{rate}\nc,0.1\n")
        config.write_text(
            f"seed: 1\ntrials: 1\nK: {K}\n"
            "instances: [{name: file, family: csv, path: rates.csv, item: item, rate: rate}]\n"
        )
        assert sweep(config, tmp_path / name).code == 0
    text = refusal("merge", tmp_path / "a", tmp_path / "b", "--out", tmp_path / "out")
    assert "the content of the data file rates.csv has changed" in text


def test_what_is_no_sweep_or_in_use_is_refused_and_left_alone(config, tmp_path, whole):
    (tmp_path / "empty").mkdir()
    assert "manifest.json is missing" in refusal("merge", tmp_path / "empty", "--out", tmp_path / "out")
    for out in ("whole", "web"):
        (tmp_path / "web").mkdir(exist_ok=True)
        (tmp_path / "web" / "manifest.json").write_text("{}")
        text = refusal("merge", tmp_path / "whole", "--out", tmp_path / out)
        assert text.startswith(f"--out {tmp_path / out} holds a manifest.json already")
    assert tables(tmp_path / "whole") == whole
    (tmp_path / "whole" / "trials.journal").unlink()
    assert "holds no trials.journal" in refusal("merge", tmp_path / "whole", "--out", tmp_path / "out")


@pytest.mark.parametrize("shard", ["", "0/3", "4/3", "1/0", "1/2/3", "a/b", "-1/2", "1.0/2", "1/9999999", "²/3"])
def test_a_shard_that_is_none_is_refused(config, tmp_path, shard):
    text = refusal("sweep", config, "--out", tmp_path / "out", "--shard", shard)
    assert text.startswith(f"--shard {shard} is not a part of a grid; write such as 2/5")
    assert not (tmp_path / "out").exists()


def test_a_directory_that_is_named_twice_is_said_and_counts_once(config, tmp_path):
    a, b = shards(config, tmp_path, 2)
    (tmp_path / "link").symlink_to(a)
    done = merged(a, a, tmp_path / "link", b, out=tmp_path / "all")
    assert done.code == 0
    assert done.out.startswith("24 trials: ")
    assert done.err.splitlines() == [
        f"{one} is named twice and counts once; was another directory meant?" for one in (a, tmp_path / "link")
    ]


def test_a_shard_of_which_nothing_is_missing_says_so(config, tmp_path, whole):
    done = call("sweep", config, "--out", tmp_path / "whole", "--shard", "1/3")
    assert (done.code, tables(tmp_path / "whole")) == (0, whole)
    assert "nothing is missing of shard 1/3: its 8 trials are there already" in done.err


def test_of_several_trials_that_ended_differently_the_first_is_told_with_its_places(tmp_path):
    parts = []
    for name, counts in {"a": (5, 5), "b": (6, 5), "c": (6, 7)}.items():
        (tmp_path / name).mkdir()
        rows = [TrialRow("00", trial, "stopped", steps, 9, True, 0.1) for trial, steps in enumerate(counts)]
        write_journal(tmp_path / name, rows)
        parts.append((name, Stored.read(tmp_path / name)))
    with pytest.raises(ConfigError, match="trial 0 of cell 00 has 5 steps and 9 observations in a, but 6 and 9 in b"):
        Stored.merged(parts)
