"""Small slips on the command line: each is one sentence that says what is meant, and nothing is written."""

import pytest
from typer.testing import CliRunner

from cascadebai_cli.cli.app import app, main
from cascadebai_cli.errors import CascadeError


def told(*arguments):
    """Return the error of a command."""
    done = CliRunner().invoke(app, [str(word) for word in arguments])
    assert isinstance(done.exception, CascadeError), done.output
    assert done.exception.exit_code == 2
    return str(done.exception)


def test_a_trial_and_a_number_of_trials_exclude_each_other(config):
    assert told("run", config, "--trial", 2, "--trials", 7).startswith("--trial and --trials exclude each other")


def test_a_trial_has_a_number_that_a_cell_can_have(config):
    assert f"--trial {10**20} is too large" in told("run", config, "--trial", 10**20)


def test_a_list_is_no_longer_than_there_are_items(config):
    assert "list_length is 50, but there are only 6 items" in told(
        "check", config, "--set", "learners.0.list_length=50"
    )


def test_a_file_in_place_of_a_directory_is_bad_usage(config, tmp_path):
    (tmp_path / "file").write_text("mine")
    assert "as a file is there" in told("sweep", config, "--out", tmp_path / "file", "-q")
    assert (tmp_path / "file").read_text() == "mine"


def test_the_file_of_a_module_is_no_module(config):
    assert "write nowhere, the module, and not its file" in told("run", config, "--plugin", "nowhere.py:Mine")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("init", "new.yaml", "--from"), "(line 2: clicks '1.200,0' is not a number such as 1200 or 0.5)"),
        (
            ("plan", "--items", "item", "--clicks", "clicks", "--views", "views", "-K", 1),
            "say --decimal , if the comma",
        ),
    ],
)
def test_decimal_commas_are_named_with_their_line(arguments, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text("item;clicks;views\na;1.200,0;10.000,0\nb;30,5;900,0\nc;10;800\n")
    assert text in told(*arguments, "log.csv")
    assert not (tmp_path / "new.yaml").exists()


def test_the_same_directory_twice_counts_once_on_a_page(config, tmp_path, capsys):
    results, page = tmp_path / "results", tmp_path / "page.html"
    sweep = ["sweep", config, "--out", results, "-q", "--n-jobs", 1]
    for arguments in (sweep, ["report", results, results, "--out", page]):
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in arguments])
        assert not ended.value.code
    assert "is named twice and counts once" in capsys.readouterr().err
    assert page.exists()
