"""The verbs from Python: typed results, nothing printed, and everything told to whoever watches."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest
from sweeps import write_config

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.planning.plan import Layout, Wanted, plan
from cascadebai_cli.running.runner import Backend
from cascadebai_cli.running.watch import Follower, Watch
from cascadebai_cli.workflows.plot import plot
from cascadebai_cli.workflows.report import report
from cascadebai_cli.workflows.run import Choice, run
from cascadebai_cli.workflows.sweep import Given, Request, sweep
from cascadebai_cli.workflows.tables import bounds, fit
from cascadebai_cli.workflows.verify import verify

HERE = Backend("sequential")
CONFIG = "  - {name: three, family: two_level, w_star: 0.8, w_prime: 0.1, K: [1, 2, 3], fit: {model: K}}\n"


class Notes(Watch):
    """Writes everything down."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.remarks: list[str] = []
        self.lines: list[str] = []

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def remark(self, text: str) -> None:
        self.remarks.append(text)

    @contextmanager
    def progress(self, run: Follower) -> Iterator[Callable[[], None]]:
        self.lines = [f"{run.done} of {run.trials}"]
        yield lambda: self.lines.append(f"{run.done} of {run.trials}")


@pytest.fixture
def request_(tmp_path: Path) -> Request:
    return Request(write_config(tmp_path, extra=CONFIG), tmp_path / "results" / "study")


@pytest.fixture(autouse=True)
def silent(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """No workflow prints."""
    yield
    assert capfd.readouterr() == ("", "")


def test_a_sweep_tells_what_is_missing_and_then_that_nothing_is(request_: Request) -> None:
    before = request_.missing()
    assert [trials for _, trials, _ in before.cells] == [6] * 7
    assert (before.of_cells, before.wanted, before.seconds) == (7, 42, None)
    notes = Notes()
    done = sweep(request_.sweep(), backend=HERE, watch=notes)
    assert (done.directory, done.missing) == (request_.out, 0)
    assert (notes.lines[0], notes.lines[-1]) == ("0 of 42", "42 of 42")
    assert (notes.warnings, notes.remarks) == ([], [])
    assert request_.missing().cells == ()
    assert request_.only_tables() == done


def test_a_sweep_remarks_on_what_is_there(request_: Request) -> None:
    sweep(request_.sweep(), backend=HERE)
    more, notes = Request(request_.config, request_.out, given=Given(trials=8)), Notes()
    seconds = more.missing().seconds
    assert seconds is not None
    assert seconds > 0
    sweep(more.sweep(), backend=HERE, watch=notes)
    assert notes.remarks == ["42 of 56 trials are there already, 14 to run"]
    sweep(more.sweep(), backend=HERE, fresh=True, watch=notes)
    assert notes.remarks[1:] == [f"the earlier result is now in {request_.out}.old1"]


def test_tables_figure_page_and_bounds_of_a_sweep(request_: Request, tmp_path: Path) -> None:
    directory = sweep(request_.sweep(), backend=HERE).directory
    fitted = fit(directory)
    assert [table.file for table in fitted.tables] == ["fits.csv", "weighted_fits.csv", "models.csv", "bound_fits.csv"]
    assert all((directory / table.file).exists() for table in fitted.tables)
    assert fitted.whole
    assert plot([directory], out=tmp_path / "f.svg").files == (tmp_path / "f.svg",)
    page = report([directory], out=tmp_path / "page.html", title="A page")
    assert "<h1>A page</h1>" in page.files[0].read_text()
    (bounded,) = bounds(request_.config, results=directory).tables
    assert len(bounded.rows) == len(bounded.printed.rows) == 7
    assert bounded.rows["n"].eq(6).all()


def test_a_run_hands_over_each_cell_as_it_is_done(request_: Request) -> None:
    seen, notes = [], Notes()
    done = run(request_.config, Choice(instance="three", K=2), backend=HERE, watch=notes, each=seen.append)
    assert (list(done.cells), done.failed, notes.lines[-1]) == (seen, 0, "6 of 6")
    cell = done.cells[0]
    assert (cell.cell.K, cell.trials, cell.stopped, cell.capped) == (2, 6, 6, 0)
    assert cell.found == ("1", "2")
    with pytest.raises(FrozenInstanceError):
        cell.trials = 7  # type: ignore[misc]


def test_a_plan_asks_before_it_answers(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("ad,clicks,views\n" + "".join(f"ad {i},{900 - 100 * i},1000\n" for i in range(6)))
    asked = []
    layout = Layout("ad", "clicks", "views")
    notes = Notes()
    done = plan(log, layout, Wanted(2, trials=2), backend=HERE, watch=notes, begin=asked.append)
    guess = (
        r"first guess, from one simple law of the rates and 8 times the lower bound: a test takes some .* page views.*"
    )
    assert re.fullmatch(guess, notes.remarks[0])
    assert [(one.question, one.outcome) for one in asked] == [(done.question, None)]
    assert done.question.L == 6
    assert [item.name for item in done.items[:2]] == ["ad 0", "ad 1"]
    assert done.test is not None
    assert [learner.views.n for learner in done.test.learners] == [2, 2]


def test_a_sweep_is_its_own_baseline(request_: Request) -> None:
    directory, notes = sweep(request_.sweep(), backend=HERE).directory, Notes()
    found = verify(directory.parent, seed=3, trials=3, backend=HERE, watch=notes)
    assert (found.artefacts, found.moved, notes.warnings) == (("study",), (), [])
    assert notes.remarks[0] == "fresh trials have the root seed 3"
    assert notes.remarks[1] == "study: bit for bit: 14 of 42 trials run again"


def test_what_is_wrong_is_raised(request_: Request) -> None:
    with pytest.raises(ConfigError, match="no cell has K 9"):
        run(request_.config, Choice(K=9))
    with pytest.raises(ConfigError, match=r"holds no trials\.journal"):
        request_.only_tables()
