"""Several result directories in one figure: names under which they hold different things are told apart."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

import pandas as pd

from cascadebai_cli.store.directory import Results
from cascadebai_cli.store.schema import PLACE
from cascadebai_cli.study.fields import Entry

Column = Literal["instance", "learner"]


def told_apart(studies: Sequence[Results]) -> tuple[Results, ...]:
    """The same results, with the directory in the names that several of them use for something different.

    That is an instance with other weights, a learner with other options, and a learner of which two directories
    hold the same cell.
    """
    columns: tuple[Column, Column] = ("instance", "learner")
    for column in columns:
        for name in list(_clashing(studies, column)):
            studies = [_renamed(one, column, name, _place(one, studies)) for one in studies]
    return tuple(studies)


def _clashing(studies: Sequence[Results], column: Column) -> Iterator[str]:
    points = pd.concat([results.summary.reindex(columns=PLACE) for results in studies])
    repeated = set(points.loc[points.duplicated(), "learner"]) if column == "learner" else set()
    for name in dict.fromkeys(name for results in studies for name in _entries(results, column)):
        entries = [found[name] for found in (_entries(results, column) for results in studies) if name in found]
        if len(entries) > 1 and (name in repeated or len({_content(entry) for entry in entries}) > 1):
            yield name


def _entries(results: Results, column: Column) -> dict[str, Entry]:
    return dict(results.instances if column == "instance" else results.learners)


def _content(entry: Entry) -> str:
    return entry.model_dump_json(exclude={"name", "fit"})


def _place(results: Results, studies: Sequence[Results]) -> str:
    """The directory in short, if that tells it from the others."""
    shared = sum(other.directory.name == results.directory.name for other in studies) > 1
    return str(results.directory) if shared else results.directory.name


def _renamed(results: Results, column: Column, name: str, place: str) -> Results:
    if name not in _entries(results, column):
        return results
    new = f"{name} ({place})"
    key = f"{column}s"
    entries = [e.model_copy(update={"name": new}) if e.name == name else e for e in getattr(results.study, key)]
    summary = results.summary.assign(**{column: results.summary[column].replace({name: new})})
    return replace(results, study=results.study.model_copy(update={key: tuple(entries)}), summary=summary)
