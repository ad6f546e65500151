"""What a log of clicks and views asks: which items there are, and how hard it is to tell the best ones."""

from dataclasses import dataclass
from pathlib import Path

from cascadebai_cli.analysis.click_log import Shrinkage, shrink, suggested_epsilon
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.click_rates import ClickRateFile, read_click_counts
from cascadebai_cli.model.instance import Instance
from cascadebai_cli.study.fields import SMALLEST_RISK
from cascadebai_cli.text.numbers import count
from cascadebai_cli.theory.lower import lower_bound

MOST_ITEMS = 20_000
MOST_BYTES = 100 * 2**20
MOST_NEEDED = 1_000_000
"""Page views beyond which a plan is not simulated but refused: rates that are nearly tied."""


@dataclass(frozen=True)
class Columns:
    """Columns of a log: names of the items, numbers of clicks, and how often each was looked at."""

    items: str
    clicks: str
    views: str


@dataclass(frozen=True, eq=False)
class Question:
    """A log, and what is to be found in it.

    Attributes:
        file: the log.
        names, clicks, views: of the items, in the order of the file.
        shrunk: their rates.
        problem: the instance with these rates.
        delta: largest probability of a wrong answer.
        bound: page views that any learner needs on average; nan for `epsilon > 0`.
    """

    file: Path
    names: tuple[str, ...]
    clicks: tuple[float, ...]
    views: tuple[float, ...]
    shrunk: Shrinkage
    problem: Instance
    delta: float
    bound: float


def question_of(file: Path, columns: Columns, K: int, delta: float, epsilon: float) -> Question:
    """Read a log.

    Raises:
        ConfigError: if the file or a value is not usable, or the items are tied or nearly so.
    """
    names, clicks, views = _read(file, columns)
    shrunk = shrink(clicks, views)
    problem = _problem(shrunk, K, delta, epsilon)
    bound = lower_bound(problem, delta)
    _refuse_near_ties(problem, bound)
    return Question(file, names, clicks, views, shrunk, problem, delta, bound)


def _read(path: Path, columns: Columns) -> tuple[tuple[str, ...], tuple[float, ...], tuple[float, ...]]:
    if not path.is_file():
        raise ConfigError(f"{path} is not a file; name a CSV file with one row an item")
    if path.stat().st_size > MOST_BYTES:
        raise ConfigError(f"{path} has more than {MOST_BYTES >> 20} MB; keep one row an item and the columns needed")
    log = ClickRateFile(path, clicks=columns.clicks, views=columns.views, item=columns.items)
    names, clicks, views = read_click_counts(log)
    if len(names) > MOST_ITEMS:
        raise ConfigError(
            f"{path} has {count(len(names))} items, {count(MOST_ITEMS)} is the most; "
            "keep those that might be among the best"
        )
    return names, clicks, views


def _problem(shrunk: Shrinkage, K: int, delta: float, epsilon: float) -> Instance:
    if not SMALLEST_RISK <= delta < 1:
        raise ConfigError(
            f"--delta {delta:g} is no probability; give one between {SMALLEST_RISK:g} and 1, such as 0.05"
        )
    if len(shrunk.rates) <= K:
        raise ConfigError(f"-K {K} is not less than the {len(shrunk.rates)} items of the file; choose a smaller K")
    if not 0 <= epsilon < 1:
        raise ConfigError(f"--epsilon {epsilon:g} is no tolerance; give 0 or more, and less than 1")
    ordered = sorted(shrunk.rates.tolist(), reverse=True)
    if epsilon == 0 and ordered[K - 1] <= ordered[K]:
        tied = sum(rate == ordered[K] for rate in ordered)
        raise ConfigError(
            f"{tied} items are tied at w({K}) = {ordered[K]:.4g}, so nothing can tell which are the best {K}; "
            f"accept near misses with --epsilon {suggested_epsilon(ordered[K]):g}, or choose another K"
        )
    return Instance(shrunk.rates, K, epsilon)


def _refuse_near_ties(problem: Instance, bound: float) -> None:
    if bound > MOST_NEEDED:
        K, w = problem.K, problem.sorted_weights
        raise ConfigError(
            f"w({K}) = {w[K - 1]:.6g} and w({K + 1}) = {w[K]:.6g} are nearly tied: every learner needs more than "
            f"{count(bound)} page views on average; accept near misses with "
            f"--epsilon {suggested_epsilon(w[K - 1]):g}, or choose another K"
        )
