"""`plan.json` is what its JSON Schema says, with and without a budget."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from sweeps import call

from cascadebai_cli.planning.files import PlanFile

LOG = "ad,clicks,views\na,500,1000\nb,450,1000\nc,60,1000\nd,50,1000\ne,5,10\n"
FEW = ("-K", "2", "--learner", "cascadebai-kl", "--trials", "2", "--n-jobs", "1", "--quiet")


@pytest.mark.parametrize(
    "more",
    [
        (),
        pytest.param(("--per-day", "100", "--epsilon", "0.05"), marks=pytest.mark.slow),
        ("--budget", "200", "--sure", "0.9"),
    ],
)
def test_a_plan_is_what_its_schema_says(more: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(LOG)
    columns = ("--items", "ad", "--clicks", "clicks", "--views", "views")
    found: dict[str, Any] = json.loads(call("plan", "log.csv", *columns, *FEW, *more, "--format", "json").out)
    judge = Draft202012Validator(json.loads(call("schema", "plan").out))
    assert [error.message for error in judge.iter_errors(found)] == []
    assert PlanFile.model_validate(found).model_extra == {}, "keys that are not described"
    for key in ("log", "rates", "items"):
        assert not judge.is_valid({name: value for name, value in found.items() if name != key})
    assert not judge.is_valid({**found, "schema": 0})
    assert not judge.is_valid({**found, "log": {**found["log"], "items": "five"}})
