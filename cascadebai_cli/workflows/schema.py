"""JSON Schema of what the program reads and writes, made from the models that validate it."""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from cascadebai_cli.store.manifest import Manifest
from cascadebai_cli.study.schema import config_schema, schema_of
from cascadebai_cli.workflows.plan_schema import PlanFile

SCHEMAS: Mapping[str, Callable[[], dict[str, Any]]] = MappingProxyType(
    {
        "config": config_schema,
        "plan": lambda: schema_of(PlanFile, "plan.json of cascadebai plan"),
        "manifest": lambda: schema_of(Manifest, "manifest.json of a sweep of cascadebai"),
    }
)
"""Kind of a document -> its schema."""


def schema_text(kind: str) -> str:
    """The schema of a kind of document, a key of `SCHEMAS`, as JSON."""
    return json.dumps(SCHEMAS[kind](), indent=1, ensure_ascii=False)
