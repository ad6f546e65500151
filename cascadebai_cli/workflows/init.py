"""A commented config to begin with."""

import os
import re
from pathlib import Path

from cascadebai_cli.errors import CascadeError, ConfigError
from cascadebai_cli.model.families import from_csv
from cascadebai_cli.study.document import read_value
from cascadebai_cli.study.fields import is_one_line
from cascadebai_cli.study.instances import Csv, TwoLevel
from cascadebai_cli.study.messages import show
from cascadebai_cli.study.study import Study
from cascadebai_cli.text.clean import for_shell
from cascadebai_cli.text.numbers import count
from cascadebai_cli.workflows.click_columns import clearest_K, guessed

PLAIN = re.compile(r"[A-Za-z][\w .-]*\w|[A-Za-z]")
"""A name that needs no quotes, unless YAML reads something else from it."""

HEAD = """\
# A study of cascadebai. docs/configs.md explains every key; `cascadebai schema config` prints them for an editor.
#   cascadebai check {file}    is it valid, and what would it run?
#   cascadebai sweep {file}    run it, into {out}
#   cascadebai plot {out}    draw it
{seed}
{trials}
{delta}
{epsilon}

instances:
"""
LEARNERS = """\

learners:
  - name: CascadeBAI # the paper's Algorithm 1
    algorithm: cascadebai
  - name: CascadeBAI, KL bounds # the same with sharper bounds
    algorithm: cascadebai
    confidence: kl
"""


def write_starter(path: Path | None = None, source: Path | None = None) -> Path:
    """Write a config that is valid and runs in seconds to minutes.

    Args:
        path: where; `study.yaml` by default, or the name of `source`.
        source: a CSV file with a row an item, whose click rates are the weights.

    Raises:
        ConfigError: if there is such a file already, its name cannot stand in a config, or `source` is not usable.
        CascadeError: if the file cannot be written.
    """
    path = path or Path(f"{source.stem if source else 'study'}.yaml")
    for named in filter(None, (path, source)):
        _refuse_name(named)
    text = _head(path) + (_of_file(source, path) if source else _of_two_levels()) + LEARNERS
    text += f"\nplot: {{kind: {'bars' if source else 'curves'}}} # docs/figures.md\n"
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigError(f"{path} is there already and stays as it is; name another file") from None
    except OSError as error:
        raise CascadeError(f"{path} cannot be written ({error.strerror}); choose another place") from None
    return path


def _refuse_name(file: Path) -> None:
    """The names of both files stand in the config, and what has run is called after them."""
    if not (is_one_line(file.stem) and is_one_line(str(file))):
        raise ConfigError(f"{show(str(file))} has blanks around it or a line break; name a file that is one plain line")


def _head(path: Path) -> str:
    values = {"seed": 1, "trials": 10, "delta": 0.1, "epsilon": 0}
    lines = {key: f"{key}: {value} # {_meaning(Study, key)}" for key, value in values.items()}
    return HEAD.format(file=for_shell(path), out=for_shell(Path("results") / path.stem), **lines)


def _meaning(model: type[Study] | type[TwoLevel] | type[Csv], key: str) -> str:
    """What a key means, as its model says."""
    return str(model.model_fields[key].description).removesuffix(".")


def _of_two_levels() -> str:
    return f"""\
  - name: two levels
    family: two_level # K items with w_star, L - K with w_prime
    L: 32 # {_meaning(Study, "L")}
    K: {{from: 4, to: 12, step: 2}} # {_meaning(Study, "K")}
    w_star: 1/K # {_meaning(TwoLevel, "w_star")}
    w_prime: 1/K**2 # {_meaning(TwoLevel, "w_prime")}
    fit: {{model: K}} # {_meaning(TwoLevel, "fit").replace("`", "")}
"""


def _of_file(source: Path, path: Path) -> str:
    file = guessed(source)
    items = from_csv(file)
    lines = {
        "path": os.path.relpath(source, path.parent).replace(os.sep, "/"),
        **{key: getattr(file, key) for key in ("item", "clicks", "views", "rate") if getattr(file, key)},
    }
    return "".join(
        [
            f"  - name: {_quoted(source.stem)} # {count(len(items.names))} items\n",
            "    family: csv\n",
            *(f"    {key}: {_quoted(value)} # {_meaning(Csv, key)}\n" for key, value in lines.items()),
            f"    K: {clearest_K(items.weights)} # {_meaning(Study, 'K')}; here the clearest set of best items\n",
        ]
    )


def _quoted(text: str) -> str:
    """A text as it stands in YAML."""
    plain = PLAIN.fullmatch(text.replace("/", "")) and read_value(text) == text
    return text if plain else "'" + text.replace("'", "''") + "'"
