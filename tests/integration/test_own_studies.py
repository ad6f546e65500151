"""Studies of one's own on the command line: values given there, families of one's own, tables of what varies."""

from sweeps import call

from cascadebai_cli.study.config import load_study, setting
from cascadebai_cli.workflows.failures import Repeat
from cascadebai_cli.workflows.studies import Given


def test_set_changes_cells_and_stands_in_the_command_that_repeats_a_trial(config, tmp_path):
    directory = tmp_path / "d"
    given = ("--set", "delta=0.3", "--set", "instances.0.w_star=1 - 1/L")
    assert call("sweep", config, "--out", directory, "--n-jobs", 1, "--quiet", *given).code == 0
    assert ",0.3,0.0," in (directory / "trials.csv").read_text()
    cell = load_study(config, [setting("delta=0.3")]).cells[-1]
    printed = call("run", config, "--cell", cell.cell_id, "--n-jobs", 1, "--set", "delta=0.3").out
    assert cell.cell_id in printed
    command = Repeat(config, 5, Given(settings=["delta=0.3"], max_steps=9).words).command(cell, 2)
    assert "--set delta=0.3 --max-steps 9 --trial 2" in command
