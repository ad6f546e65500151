"""How many items a step shows: `M`, apart from the `K` items to find.

An item's outcomes are independent of everything before, whatever decides that it is looked at; so what is proved of a
learner that shows `K` items holds for any `M >= 1`.
"""

from cascadebai_cli.errors import ConfigError


def check_list_length(M: int | None) -> None:
    """Refuse what is no length of a list.

    Raises:
        ConfigError: naming the value.
    """
    if M is not None and (type(M) is not int or M < 1):
        raise ConfigError(f"list_length is {M!r}, but must be a whole number of at least 1")
