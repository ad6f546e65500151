"""The words of a plot: those of a config or of a result directory, with those of the command line over them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from cascadebai_cli.analysis.together import told_apart
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.store.directory import Results
from cascadebai_cli.store.schema import MANIFEST
from cascadebai_cli.study.document import Document, Override, load_yaml
from cascadebai_cli.study.messages import mistakes
from cascadebai_cli.study.plot import Plot, refuse_unknown_words


def plot_words(studies: Sequence[Results], config: Path | None, given: Mapping[str, Any]) -> Plot:
    """What is to be drawn.

    Args:
        studies: the first one says what is drawn of all, unless a config does.
        config: a YAML file with `plot`.
        given: words of the command line; those of `where` and `labels` go beside the ones that are there.

    Raises:
        ConfigError: for a word that is not known, with the place where it stands and the nearest one.
    """
    document = reduce(Document.with_override, _overrides(given), _document(studies[0], config))
    try:
        plot = Plot.model_validate(document.data["plot"])
    except ValidationError as error:
        at, text = mistakes(error, document.data["plot"])[0]
        raise ConfigError(document.message(("plot", *at), text)) from None
    together = told_apart(studies)
    instances = {entry.name: entry for results in together for entry in results.study.instances}
    learners = {entry.name: entry for results in together for entry in results.study.learners}
    try:
        refuse_unknown_words(plot, list(instances.values()), list(learners.values()))
    except PydanticCustomError as error:
        context = error.context or {}
        raise ConfigError(document.message(("plot", *context["at"]), context["text"])) from None
    return plot


def _document(results: Results, config: Path | None) -> Document:
    if config is None:
        plot = results.study.plot.model_dump(mode="json")
        return Document(str(results.directory / MANIFEST), {"plot": plot}, {})
    document = load_yaml(config)
    if "plot" not in document.data:
        raise ConfigError(f"{config}: plot: missing; add lines such as plot: {{kind: curves}}")
    plot = document.data["plot"]
    return replace(document, data={"plot": {} if plot is None else plot})


def _overrides(given: Mapping[str, Any]) -> list[Override]:
    pairs = [
        (key, inner, value)
        for key, values in given.items()
        for inner, value in (values.items() if isinstance(values, dict) else [(None, values)])
    ]
    return [
        Override(f"--{key.replace('_', '-')}", ("plot", key, *([inner] if inner is not None else [])), value)
        for key, inner, value in pairs
    ]
