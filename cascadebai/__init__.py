"""The distribution's own name for `cascadebai_cli`."""

TYPE_CHECKING = False

if TYPE_CHECKING:
    from cascadebai_cli import *
else:
    from cascadebai_cli import __all__, __dir__, __getattr__, __version__
