"""Small slips on the command line: each is one sentence that says what is meant, and nothing is written."""

import subprocess

import pytest
from sweeps import call, command, environment, finished, refusal, sweep
from synthetic import scaling_config, write_results
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


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--set", "K=2", "--set", "K=3"), "--set K: K is given twice; leave one out"),
        (("--set", "trials=7", "--trials", 5), "--trials: trials is given twice; leave one out"),
    ],
)
def test_a_key_has_one_value_on_the_command_line(config, words, sentence):
    assert told("check", config, "--pilot", 0, *words) == sentence


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
    [(("init", "new.yaml", "--from"), "(line 2: clicks '1.200,0' is not a number such as 1200 or 0.5)")],
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


EVENTS = {
    "times": (
        "time,item,position,clicked",
        [f"{1000 + i},{'abcd'[i % 4]},{i % 3},{int(i % 5 == 0)}" for i in range(40)],
    ),
    "plain": ("item,click", [f"{'abcd'[i % 4]},{int(i % 5 == 0)}" for i in range(40)]),
    "numbered": ("impression_id,item,click", [f"{i},{'ab'[i % 2]},{int(i % 5 == 0)}" for i in range(40)]),
    "words": ("item,clicked", ["a,true", "b,false", "a,false", "b,true"]),
    "no name": ("item,outcome", ["a,1", "b,0", "a,0", "b,1"]),
}


@pytest.mark.parametrize("name", EVENTS)
def test_a_log_of_events_is_no_file_of_rates(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    header, rows = EVENTS[name]
    (tmp_path / "log.csv").write_text("\n".join([header, *rows, ""]))
    assert "only 0 and 1, as in a log with one row for each event; " in told("init", "new.yaml", "--from", "log.csv")
    assert not (tmp_path / "new.yaml").exists()


def test_a_log_of_page_views_is_no_file_of_rates(tmp_path):
    (tmp_path / "log.csv").write_text("a,b,c\n1,0,\n0,1,1\n1,1,0\n")
    assert "as in a log with one row for each page view; " in told("init", "--from", tmp_path / "log.csv")


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("item,clicks,views\na,1,900\nb,0,800\nc,0,950\n", ("clicks: clicks", "views: views")),
        ("item,ctr,active\na,0.5,1\nb,0.25,0\nc,0.1,1\n", ("rate: ctr",)),
        ("item,weight\na,1\nb,0\nc,0\n", ("rate: weight",)),
    ],
)
def test_few_clicks_and_rates_of_0_and_1_are_read(text, keys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.csv").write_text(text)
    assert call("init", "--from", "items.csv").code == 0
    assert all(f"    {key} #" in (tmp_path / "items.yaml").read_text() for key in keys)


@pytest.fixture
def results(tmp_path):
    learners = [
        {"name": "one", "algorithm": "cascadebai"},
        {"name": "two", "algorithm": "cascadebai", "confidence": "kl"},
    ]
    config = scaling_config(1, K=[2, 3], learners=learners)
    return write_results(tmp_path / "made", config, lambda cell: 100.0 * cell["K"])


def test_words_are_no_axis_of_numbers(results):
    said = told("plot", results, "--x", "confidence")
    assert "confidence holds words such as lil, and no numbers; add confidence to --lines or --panels" in said


@pytest.mark.parametrize("word", ["-", ""])
def test_a_column_without_a_name_is_said_to_have_none(word, results):
    assert told("summary", results, "--sort", word) == "--sort names no column; write for example --sort K"


@pytest.mark.parametrize(
    ("value", "text"),
    [("0x10", "'0x10' is not a whole number; write 16"), ("1e3", "write 1000"), ("ten", "without quotes or decimals")],
)
def test_a_seed_in_another_notation_is_told_as_a_number(value, text, config):
    config.write_text(config.read_text().replace("seed: 5", f"seed: {value}"))
    assert text in told("check", config)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("schema", "foo"), "'foo' is not one of 'config', 'plan', 'manifest'."),
        (("plan", "log.csv", "--decimal", ";"), "';' is not one of '.', ','."),
        (("bounds", "study.yaml", "--format", "yaml"), "'yaml' is not one of 'text', "),
        (("sweep", "study.yaml", "--trials", "many"), "'many' should be a valid integer"),
        (("sweep", "study.yaml", "--trials", "0"), "'0' should be greater than or equal to 1"),
    ],
)
def test_a_value_that_an_option_does_not_take_is_named_with_what_it_takes(arguments, text):
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert f": {text}" in err
    assert "Value error" not in err


def test_where_no_trial_has_ended_no_next_step_is_named(config, tmp_path):
    (tmp_path / "broken.py").write_text(
        "class Broken:\n"
        "    finished, recommendation = False, ()\n"
        "    def __init__(self, L, K, delta, epsilon): pass\n"
        "    def select(self): raise RuntimeError('never')\n"
        "    def observe(self, shown, outcomes): pass\n"
    )
    more = "learners:\n  - {name: broken, algorithm: 'broken:Broken'}\n"
    config.write_text(config.read_text() + more)
    done = finished("sweep", config, "--out", "out", "--n-jobs", 1, folder=tmp_path)
    assert done.returncode == 1
    assert "tables: out/trials.csv" in done.stdout
    assert "next:" not in done.stdout


@pytest.mark.parametrize("content", ["", "x", "[]", "{", '{"config": 5}'])
def test_a_damaged_manifest_is_called_so_and_stays(content, config, tmp_path):
    out = tmp_path / "out"
    assert sweep(config, out).code == 0
    (out / "manifest.json").write_text(content)
    before = {path: path.read_bytes() for path in out.iterdir()}
    said = refusal("sweep", config, "--out", out)
    assert said.startswith(f"{out / 'manifest.json'} is damaged, or is not the manifest of a sweep; nothing in ")
    assert {path: path.read_bytes() for path in out.iterdir()} == before


@pytest.mark.parametrize(
    "words", [("init",), ("plot", "../out"), ("summary", "../out"), ("merge", "../out", "--out", "x")]
)
def test_a_working_directory_that_is_gone_is_told(words, tmp_path):
    (tmp_path / "gone").mkdir()
    script = f"import os; os.rmdir(os.getcwd()); os.execv({command()[0]!r}, {command(*words)!r})"
    words = [command()[0], "-c", script]
    done = subprocess.run(
        words, cwd=tmp_path / "gone", env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "the working directory has been removed; change to one that is there" in done.stderr


def test_verify_without_a_reference_says_where_it_belongs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert told("verify", "--only", "nothing").endswith(
        "run verify in the folder of the project, or give --reference DIR"
    )


def test_a_process_that_a_learner_ends_is_told_with_its_cell(config, tmp_path):
    (tmp_path / "ending.py").write_text(
        "import os\n"
        "class Ending:\n"
        "    finished, recommendation = False, ()\n"
        "    def __init__(self, L, K, delta, epsilon): pass\n"
        "    def select(self): os._exit(3)\n"
        "    def observe(self, shown, outcomes): pass\n"
    )
    more = "learners:\n  - {name: ending, algorithm: 'ending:Ending'}\n"
    config.write_text(config.read_text().replace("K: [1, 2]", "K: 1") + more)
    done = finished("sweep", config, "--out", "out", "--n-jobs", 2, folder=tmp_path)
    assert done.returncode == 1
    assert "ended by a learner of your own; in work: " in done.stderr
    assert ", ending: L = 6, K = 1" in done.stderr


@pytest.mark.parametrize("name", ["trials.csv", "manifest.json", "trials.journal", "link.html"])
def test_no_page_and_no_table_replaces_what_a_sweep_has_written(name, config, tmp_path):
    out = tmp_path / "out"
    assert sweep(config, out).code == 0
    (out / "link.html").symlink_to(out / "summary.csv")
    before = {path: path.read_bytes() for path in out.iterdir()}
    for words in (("report", out, "--out", out / name), ("bounds", config, "--csv", out / name)):
        assert "is a file of a sweep and stays as it is; name another file" in refusal(*words)
    assert {path: path.read_bytes() for path in out.iterdir()} == before


def test_no_table_replaces_its_config(config):
    before = config.read_text()
    assert "is what this command reads and stays as it is" in told("bounds", config, "--csv", config)
    assert config.read_text() == before


def test_a_journal_that_is_a_link_is_called_so(config, tmp_path):
    out = tmp_path / "out"
    assert sweep(config, out).code == 0
    (out / "trials.journal").rename(tmp_path / "mine")
    (out / "trials.journal").symlink_to(tmp_path / "mine")
    code, _, err = sweep(config, out, "--trials", 7)
    assert (code, "a link is there, which is not followed; name another directory" in err) == (1, True)


def test_a_number_of_cores_that_is_none_is_told(config, monkeypatch):
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "many")
    assert "LOKY_MAX_CPU_COUNT is 'many'; write a whole number" in told("run", config, "--n-jobs", 2)
