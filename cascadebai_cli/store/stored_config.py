"""The part of `manifest.json` that tables, figures and reports rely on: somebody may have edited the file."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.store.files import AGAIN


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class _Coefficients(_Part):
    c1: float | None = None
    c2: float | None = None
    r2: float | None = None
    p_value: float | None = None


class _Fit(_Part):
    model: str
    published: _Coefficients | None = None


class _Instance(_Part):
    name: str
    fit: _Fit | None = None


class _Learner(_Part):
    name: str
    algorithm: str | None = None
    sigma: Any = None

    @field_validator("sigma")
    @classmethod
    def _positive(cls, value: Any, info: ValidationInfo) -> Any:
        """A learner of one's own may mean something else by it."""
        if info.data.get("algorithm") == "cascadebai" and not (isinstance(value, int | float) and value > 0):
            raise PydanticCustomError("not_positive", "not positive")
        return value


class _Plot(_Part):
    kind: str = "scaling"


class _Config(_Part):
    study: Annotated[str, Field(pattern=r"^[^/\\]+$")] | None = None
    title: str | None = None
    seed: int | None = None
    trials: int = 0
    delta: list[float] | None = None
    epsilon: list[float] | None = None
    max_steps: int | None = None
    instances: list[_Instance] | None = None
    learners: list[_Learner] | None = None
    plot: _Plot | None = None


_KINDS = {
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "float_type": "a number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_type": "a mapping",
    "not_positive": "a positive number",
    "string_pattern_mismatch": "a name without slashes",
    "string_type": "text",
}
"""What pydantic did not find -> what is right, in words."""


def check_config(path: Path, config: Mapping[str, Any]) -> None:
    """Refuse a stored config with a value of another kind than a sweep writes.

    Raises:
        ConfigError: if there is one.
    """
    try:
        _Config.model_validate(config)
    except ValidationError as error:
        raise ConfigError(f"{path}: {_sentence(error.errors(include_url=False)[0])}") from None


def _sentence(error: ErrorDetails) -> str:
    key = ".".join(["config", *map(str, error["loc"])])
    if error["type"] == "missing":
        return f"key {key} is missing; this is not the manifest of a sweep"
    shown = json.dumps(error["input"])
    short = shown if len(shown) <= 60 else shown[:57] + "..."
    return f"{key}: {short} is not {_KINDS.get(error['type'], 'valid')}; {AGAIN}"
