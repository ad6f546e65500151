"""A study with a budget: its rows, its refusals, and what a study without one does not see of it."""

import json

import pytest
from sweeps import call, refusal, rows_in, sweep, tables

from cascadebai_cli.model.problem import Instance
from cascadebai_cli.running.worker import run_trial
from cascadebai_cli.store.columns import TABLES, TRIALS_CSV
from cascadebai_cli.study.config import load_study

CONFIG = """\
seed: 5
{top}
instances:
  - {{name: ramp, family: linear, L: 8, K: 3, w_max: 0.9, w_min: 0.2{instance}}}
learners:
  - {{name: uniform, algorithm: uniform}}
  - {{name: sar, algorithm: sar}}
  - {{name: CascadeBAI, algorithm: cascadebai, sigma: 0.1}}
"""
BUDGETS = "{from: 100, to: 450, times: 2}"


def write(folder, top=f"budget: {BUDGETS}", instance=""):
    path = folder / "study.yaml"
    trials = "" if "trials" in top else "trials: 6\n"
    path.write_text(CONFIG.format(top=trials + top, instance=instance))
    return path


def test_rows_say_budget_status_steps_and_how_many_are_right(tmp_path):
    config = write(tmp_path)
    assert sweep(config, tmp_path / "out").code == 0
    found, study = rows_in(tmp_path / "out"), load_study(config)
    cells = {cell.cell_id: cell for cell in study.cells}
    assert list(found[0]) == [*TABLES[TRIALS_CSV].names(), "budget", "right"]
    assert {(row["learner"], row["budget"]) for row in found} == {
        (learner, str(budget)) for learner in ("uniform", "sar", "CascadeBAI") for budget in (100, 200, 400)
    }
    fewer = 0
    for row in found:
        cell, trial = cells[row["cell_id"]], int(row["trial"])
        _, items = run_trial(5, cell, trial)
        best = set(Instance(cell.weights, 3).weights.argsort()[-3:].tolist())
        assert row["status"] == "answered"
        assert int(row["right"]) == len(best & set(items))
        assert row["correct"] == str(int(best == set(items)))
        fewer += int(row["steps"]) < int(row["budget"])
        assert int(row["steps"]) <= int(row["budget"])
        assert row["learner"] != "uniform" or row["steps"] == row["budget"]
    assert fewer


def test_a_summary_has_the_mean_of_right_items_and_counts_errors(tmp_path):
    assert sweep(write(tmp_path), tmp_path / "out").code == 0
    trials, cells = rows_in(tmp_path / "out"), rows_in(tmp_path / "out", "summary.csv")
    for cell in cells:
        mine = [row for row in trials if row["cell_id"] == cell["cell_id"]]
        assert float(cell["mean_right"]) == pytest.approx(sum(int(row["right"]) for row in mine) / 6)
        assert float(cell["error_rate"]) == pytest.approx(sum(row["correct"] == "0" for row in mine) / 6)
        assert (cell["budget"], cell["n_capped"]) == (mine[0]["budget"], "0")
    assert "budget" in call("summary", tmp_path / "out").out


def test_one_path_serves_all_budgets_unless_the_learner_knows_them(tmp_path):
    cells = load_study(write(tmp_path)).cells
    paths = {name: {cell.path_id for cell in cells if cell.learner == name} for name in ("uniform", "sar")}
    assert len(paths["uniform"]) == 1
    assert paths["sar"] == {cell.cell_id for cell in cells if cell.learner == "sar"}
    assert len({cell.cell_id for cell in cells}) == 9


def test_the_path_is_that_of_the_same_cell_without_a_budget(tmp_path):
    plain = CONFIG.replace("  - {{name: uniform, algorithm: uniform}}\n  - {{name: sar, algorithm: sar}}\n", "")
    path = tmp_path / "plain.yaml"
    path.write_text(plain.format(top="trials: 6", instance=""))
    (without,) = load_study(path).cells
    asked = [cell for cell in load_study(write(tmp_path)).cells if cell.learner == "CascadeBAI"]
    assert {cell.path_id for cell in asked} == {without.cell_id}
    stopped, items = run_trial(5, without, 0)
    (longest,) = load_study(write(tmp_path, f"budget: {stopped.steps + 1}")).cells[2:]
    answered, found = run_trial(5, longest, 0)
    assert (answered.steps, found) == (stopped.steps, items)


def test_a_sweep_that_goes_on_and_one_in_shards_have_the_bytes_of_a_whole_one(tmp_path):
    config = write(tmp_path)
    assert sweep(config, tmp_path / "whole").code == 0
    assert sweep(config, tmp_path / "part", "--trials", 2).code == 0
    assert sweep(config, tmp_path / "part").code == 0
    places = [tmp_path / f"shard{number}" for number in (1, 2)]
    for number, place in enumerate(places, 1):
        assert sweep(config, place, "--shard", f"{number}/2").code == 0
    assert call("merge", *places, "--out", tmp_path / "all").code == 0
    whole = tables(tmp_path / "whole")
    assert tables(tmp_path / "part") == whole == tables(tmp_path / "all")


def test_directories_with_other_budgets_are_merged(tmp_path):
    for name, top in {"small": "budget: 100", "large": "budget: [200, 400]", "all": "budget: [100, 200, 400]"}.items():
        assert sweep(write(tmp_path, top), tmp_path / name).code == 0
    assert call("merge", tmp_path / "large", tmp_path / "small", "--out", tmp_path / "merged").code == 0
    assert tables(tmp_path / "merged") == tables(tmp_path / "all")


def test_verify_runs_answers_again_bit_for_bit(tmp_path):
    config = write(tmp_path)
    assert sweep(config, tmp_path / "baseline" / "study").code == 0
    assert call("verify", "--reference", tmp_path / "baseline", "--configs", tmp_path, "--n-jobs", 1).code == 0
    path = tmp_path / "baseline" / "study" / "trials.csv"
    lines = path.read_text().splitlines()
    place = next(i for i, line in enumerate(lines) if line.endswith(",2"))
    lines[place] = lines[place][:-1] + "1"
    path.write_text("\n".join(lines) + "\n")
    manifest = path.with_name("manifest.json")
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "rows_sha256": None}))
    assert call("verify", "--reference", tmp_path / "baseline", "--configs", tmp_path, "--n-jobs", 1).code == 1


@pytest.mark.parametrize(
    ("top", "instance", "text"),
    [
        ("", "", "'uniform': uniform never stops by itself; write for example budget: 20000"),
        ("max_steps: 90", "", "'sar': sar needs to know when it is asked; write for example budget: 20000"),
        (
            "budget: 200\nmax_steps: 90",
            "",
            "'uniform': a budget ends a run as max_steps does; leave one of the two out",
        ),
        ("budget: 200\nrewards: {rows: 9}", "", "'uniform': a budget needs independent rewards; leave rewards out"),
        ("budget: 8", "", "'sar': budget is 8, but sar needs more steps than there are items, L = 8"),
        ("budget: {from: 9, to: 5}", "", "to: 5 is less than from: 9; exchange the two"),
        ("budget: {from: 9, to: 50, times: 1}", "", "times: 1 is no growth; write a number from 1.01"),
        ("budget: {from: 9, to: 50, step: 1}", "", "step: unknown key"),
        ("budget: 0", "", "budget: 0 is too small"),
        (
            "budget: 90\ntrials: {relative_error: 0.1, at_most: 9, at_least: 2}",
            "",
            "relative_error: a budget fixes the steps that this is about; use max_errors",
        ),
        ("", ", budget: 0", "budget: 0 is too small"),
    ],
)
def test_what_does_not_go_with_a_budget_is_refused_before_anything_runs(tmp_path, top, instance, text):
    assert text in refusal("sweep", write(tmp_path, top, instance), "--out", tmp_path / "out")


def test_a_grid_of_which_a_part_has_a_budget_is_refused(tmp_path):
    text = CONFIG.replace("  - {{name: uniform, algorithm: uniform}}\n  - {{name: sar, algorithm: sar}}\n", "")
    other = "  - {{name: other, family: linear, L: 8, K: 3, w_max: 1, w_min: 0}}\nlearners:"
    config = tmp_path / "study.yaml"
    config.write_text(text.replace("learners:", other).format(top="trials: 6", instance=", budget: 200"))
    assert "'other' has no budget, but others have; give all instances one, or none" in refusal("sweep", config)


PLUGIN = """\
class Mine:
    finished = False
    recommendation = ()

    def __init__(self, L, K, delta, epsilon):
        self.K = K

    def select(self):
        return [0]

    def observe(self, shown, outcomes):
        pass
"""


@pytest.mark.parametrize(
    ("answer", "code", "text"),
    [
        ("", 2, "a budget asks for the items before the learner has stopped; give the class a property answer"),
        ("    answer = (1, 0, 2)\n", 0, ""),
        ("    answer = (1, 0)\n", 1, "answer returned (1, 0); it has 3 different items"),
    ],
)
def test_a_learner_of_ones_own_is_asked_if_it_has_an_answer(tmp_path, monkeypatch, answer, code, text):
    name = f"mine_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(PLUGIN + answer)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    config = write(tmp_path, "budget: 20")
    done = sweep(config, tmp_path / "out", "--plugin", f"{name}:Mine")
    assert (done.code, text in done.err) == (code, True)
    if code == 0:
        mine = [row for row in rows_in(tmp_path / "out") if row["learner"] == "Mine"]
        assert {(row["steps"], row["status"]) for row in mine} == {("20", "answered")}
        assert len({row["right"] for row in mine}) > 1


def test_run_takes_a_budget_and_counts_all_trials(tmp_path):
    config = write(tmp_path)
    said = call("run", config, "--budget", 200, "--learner", "sar", "--n-jobs", 1)
    assert said.code == 0
    assert "budget = 200" in said.out
    assert "of 6 trials: " in said.out
    assert refusal("run", config, "--budget", 7).startswith("no cell has budget 7; choose from 100, 200, 400")
