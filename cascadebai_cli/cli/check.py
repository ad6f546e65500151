"""`cascadebai check`: is a config valid, and what would it run?"""

from typing import Annotated

import typer

from cascadebai_cli.cli.console import say
from cascadebai_cli.cli.options import Config, Format, MaxSteps, Plugins, Seed, Settings, Trials


def check(
    config: Config,
    trials: Trials = None,
    seed: Seed = None,
    max_steps: MaxSteps = None,
    settings: Settings = None,
    plugin: Plugins = None,
    pilot: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0, help="How long to try trials, about, to tell the time; 0 not at all."),
    ] = 5.0,
    form: Format = "text",
) -> None:
    """Validate a config and print its grid: cells, trials, the steps that the bounds expect, the time by a pilot.

    A pilot of the easiest and the hardest cell of each instance and learner tells the time; nothing is written. The
    lower bound is that of any learner, the upper one is for CascadeBAI.
    """
    from cascadebai_cli.workflows import check as work

    done = work.check(config, given=work.Given(trials, seed, max_steps, plugin or (), settings or ()), pilot=pilot)
    say(work.in_format([done.table], form))
    if form == "text":
        say(done.summary)
