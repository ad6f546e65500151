"""What several functions take."""

from operator import index
from typing import Any

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.instance import Instance
from cascadebai_cli.study.messages import show
from cascadebai_cli.workflows.simulate import Backend


def backend_of(n_jobs: Any) -> Backend:
    """So many processes of this machine.

    Raises:
        ConfigError: if it is no such number.
    """
    try:
        number = index(n_jobs)
    except TypeError:
        raise ConfigError(f"n_jobs: {show(n_jobs)} is not a whole number; give one, or -1 for all cores") from None
    return Backend(n_jobs=number)


def refuse_other_than_instance(value: object) -> None:
    """Refuse weights without the number of items to find.

    Raises:
        ConfigError: if it is no instance.
    """
    if not isinstance(value, Instance):
        raise ConfigError(f"a {type(value).__name__} is no instance; write for example Instance(weights, K=2)")
