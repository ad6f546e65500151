"""A field of a record is an option of the command line and of Python, and is checked; nobody else lists it."""

import inspect
import re
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

import pytest
import typer
from sweeps import call
from typer.testing import CliRunner

import cascadebai_cli as cb
from cascadebai_cli.api.arguments import with_keywords
from cascadebai_cli.cli.console import completed, with_options
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.options import filled, option, record_options, refuse_outside
from cascadebai_cli.planning.options import OPTIONS


@dataclass(frozen=True)
class Dinner:
    """A record of an option of each type, and of a field that is none."""

    guests: int = option(2, "How many come.", "-G", least=1)
    main_dish: str | None = option(None, "What there is, unless --late.", metavar="DISH")
    wines: tuple[str, ...] | None = option(None, "Bottles; repeatable.")
    price: float | None = option(None, "Of all.", allowed=(lambda x: x >= 0, "no price", "0 or more"))
    late: bool = option(False, "Whether after nine.", in_python=False)
    place: Literal["home", "out"] = option("home", "Where.")
    cook: str = "somebody"

    def __post_init__(self) -> None:
        refuse_outside(self)


def typed(*words: str) -> Any:
    """Exit code, and what a verb with these options gets and prints."""
    app = typer.Typer()
    given: dict[str, Any] = {}

    @app.command()
    @completed
    @with_options(lambda: [Dinner])
    def dine(table: str, quiet: bool = False, **options: Any) -> None:
        """Dine."""
        given.update(table=table, quiet=quiet, **options)

    done = CliRunner().invoke(app, ["oak", *words], env={"COLUMNS": "200"})
    return done.exit_code, given, done.output


@with_keywords(Dinner)
def dine(table: str, *, quiet: bool = False, **options: Any) -> dict[str, Any]:
    """Dine.

    Args:
        table: where.
        quiet: whether nobody speaks.
    """
    return {"table": table, "quiet": quiet, **options}


def test_a_verb_has_the_options_of_a_record() -> None:
    code, given, _ = typed("-G", "3", "--main-dish", "fish", "--wines", "red", "--wines", "white", "--late")
    assert (code, given.pop("table"), given.pop("quiet")) == (0, "oak", False)
    assert filled(Dinner, given) == Dinner(3, "fish", ["red", "white"], late=True)  # type: ignore[arg-type]
    code, _, out = typed("--help")
    assert "-G" in out
    assert re.search(r"--main-dish +DISH .*What there is, unless --late\.", out)
    for words in (["-G", "0"], ["--place", "moon"], ["--cook", "me"], ["--price", "much"]):
        assert typed(*words)[0] == 2


def test_a_function_has_them_as_keywords_with_their_meanings() -> None:
    given = {"guests": 3, "wines": ["red"], "price": 2.0}
    assert dine("oak", guests=3, wines="red", price=2) == {"table": "oak", "quiet": False, **given}
    assert str(inspect.signature(dine)).startswith("(table: str, *, guests: int = 2, main_dish: str | None = None, ")
    assert (inspect.getdoc(dine) or "").splitlines()[2:6] == [
        "Args:",
        "    table: where.",
        "    guests: How many come.",
        "    main_dish: What there is, unless `late`.",
    ]
    with pytest.raises(TypeError, match="unexpected keyword argument 'late'"):
        dine("oak", late=True)


@pytest.mark.parametrize(
    ("keywords", "sentence"),
    [
        ({"guests": 2.5}, "guests: 2.5 is not a whole number; write one without quotes or decimals"),
        ({"guests": True}, "guests: true is not a whole number; write one without quotes or decimals"),
        ({"guests": None}, "guests: none is not a whole number; write one without quotes or decimals"),
        ({"guests": 0}, "guests: 0 is too small; write 1 or more"),
        ({"price": "2"}, "price: '2' is not a number; write one such as 0.1"),
        ({"place": "hom"}, "place: 'hom' is not known; did you mean home?"),
        ({"wines": 3}, "wines: 3 is not"),
    ],
)
def test_a_keyword_of_another_type_is_refused(keywords: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=f"^{re.escape(sentence)}"):
        dine("oak", **keywords)


def test_a_value_outside_its_range_is_refused_however_it_comes() -> None:
    with pytest.raises(ConfigError, match=r"^--price -0\.5 is no price; give 0 or more$"):
        filled(Dinner, {"price": -0.5})
    assert filled(Dinner, {"price": None, "table": "oak"}) == Dinner()
    assert [one.name for one in record_options(Dinner)] == [field.name for field in fields(Dinner)][:-1]
    assert set(asdict(Dinner())) == {field.name for field in fields(Dinner)}


def test_every_option_of_plan_is_in_its_help_and_among_its_keywords() -> None:
    shown, keywords = call("plan", "--help").out, inspect.signature(cb.plan).parameters
    options = list(record_options(*OPTIONS))
    assert len(options) > 15
    assert [one.flag for one in options if not re.search(rf"^  {one.flag} ", shown, re.MULTILINE)] == []
    assert [one.name for one in options if one.in_python != (one.name in keywords)] == []
