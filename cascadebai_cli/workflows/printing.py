"""Tables as text, in the format that a user wants."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from cascadebai_cli.analysis.tables import StudyTable
from cascadebai_cli.text.table import FORMATS
from cascadebai_cli.workflows.outputs import table_bytes

FormatName = Literal["text", "markdown", "latex", "csv", "json"]


def in_format(tables: Sequence[StudyTable], name: FormatName) -> str:
    """Tables one after the other.

    Args:
        tables: what to print.
        name: `text`, `markdown` or `latex` of what a reader wants to see; `csv` or `json` of all rows and columns with
            all digits, several as one object of lists in JSON and under a comment with their names in CSV.
    """
    if name == "json":
        return json.dumps({Path(table.file).stem: json.loads(_json(table)) for table in tables}, indent=2)
    if name == "csv":
        alone = len(tables) == 1
        parts = [("" if alone else f"# {table.file}\n") + table_bytes(table.rows).decode() for table in tables]
        return "\n".join(parts).rstrip("\n")
    return "\n\n".join(FORMATS[name](table.printed) for table in tables)


def _json(table: StudyTable) -> str:
    return str(table.rows.to_json(orient="records", double_precision=15, force_ascii=False))
