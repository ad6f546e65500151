"""The verbs: each reads its options, makes one call and prints the result."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cascadebai_cli.cli.console import (
    Config,
    Format,
    Jobs,
    MaxSteps,
    OneInstance,
    OneLearner,
    Plugins,
    Quiet,
    ResultDirectories,
    ResultDirectory,
    Seed,
    SetValues,
    Terminal,
    TrialCount,
    TrialTimeoutOption,
    Where,
    configs,
    debugger,
    keys_of,
    path_option,
    path_parser,
    say,
    tell,
    with_options,
)
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.text import count, duration, for_shell

if TYPE_CHECKING:
    from cascadebai_cli.workflows.sweep import Missing, Request, Swept


def _end_with(success: bool) -> None:
    """End with exit code 1 unless all went well."""
    if not success:
        raise typer.Exit(1)


# --- `cascadebai init`: a commented config to begin with ------------------------------------------------------------


def init(
    path: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", parser=path_parser("FILE"), help="File to write; study.yaml if not given."),
    ] = None,
    source: Annotated[
        Path | None,
        path_option(
            "--from", "CSV", "Take the weights from this file: a row for each item, with clicks and views or rates."
        ),
    ] = None,
) -> None:
    """Write a config with a comment at each key. Nothing is asked, and no file is overwritten."""
    from cascadebai_cli.workflows.init import write_starter

    written = write_starter(path, source)
    say(f"written: {written}")
    file = for_shell(written)
    say(f"next:    cascadebai check {file}; cascadebai sweep {file}")


# --- `cascadebai check`: is a config valid, and what would it run? --------------------------------------------------


def check(
    config: Config,
    trials: TrialCount = None,
    seed: Seed = None,
    max_steps: MaxSteps = None,
    settings: SetValues = None,
    plugin: Plugins = None,
    pilot: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0, help="About how long to try trials, to estimate the time; 0 for none."),
    ] = 5.0,
    form: Format = "text",
) -> None:
    """Validate a config and print its grid: cells, trials, bounds on the steps, and an estimate of steps and time.

    The estimate comes from a pilot of the easiest and the hardest cell of each instance and learner; nothing is
    written. The lower bound holds for any learner, the upper one for CascadeBAI.
    """
    from cascadebai_cli.workflows import run as work

    done = work.check(config, given=work.Given(trials, seed, max_steps, plugin or (), settings or ()), pilot=pilot)
    say(done.text(form))
    if form == "text":
        say(done.summary)


# --- `cascadebai run`: run a few cells of a study, and write nothing ------------------------------------------------


def run(
    config: Config,
    instance: OneInstance = None,
    learner: OneLearner = None,
    L: Annotated[int | None, typer.Option("--L", help="Only this number of items.")] = None,
    K: Annotated[int | None, typer.Option("--K", help="Only this number of items to find.")] = None,
    delta: Annotated[float | None, typer.Option(help="Only this delta.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Only this epsilon.")] = None,
    budget: Annotated[int | None, typer.Option(help="Only this budget, in a study with budgets.")] = None,
    cell_id: Annotated[str | None, typer.Option("--cell", metavar="ID", help="Only the cell with this id.")] = None,
    trials: TrialCount = None,
    trial: Annotated[
        int | None,
        typer.Option(
            "--trial",
            min=0,
            help="Run only the trial with this number, with the random numbers that it has in a sweep.",
        ),
    ] = None,
    seed: Seed = None,
    max_steps: MaxSteps = None,
    settings: SetValues = None,
    plugin: Plugins = None,
    n_jobs: Jobs = -1,
    trial_timeout: TrialTimeoutOption = None,
    debug: Annotated[
        bool, typer.Option("--debug", help="Stop at the first trial that fails, in Python's debugger where it failed.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Run one or a few cells of a study, and print the outcomes; for several cells, a table comes at the end."""
    from cascadebai_cli.workflows import run as work

    if trial is not None and trials is not None:
        raise ConfigError("--trial and --trials exclude each other; --trial N runs only the trial with this number")
    with debugger(debug):
        done = work.run(
            config,
            work.Choice(instance, learner, L, K, delta, epsilon, budget, cell_id),
            given=work.Given(trials, seed, max_steps, plugin or (), settings or ()),
            trial=trial,
            backend=work.Backend(n_jobs=n_jobs),
            timeout=trial_timeout,
            debug=debug,
            watch=Terminal(quiet=quiet or debug),
            each=say,
        )
    if done.table and len(done.cells) > 1:
        say(f"\n{done.table}")
    _end_with(not done.failed)


# --- `cascadebai sweep`: run a study into a directory; it goes on where an earlier sweep ended ----------------------


def sweep(
    config: Config,
    out: Annotated[
        Path | None, path_option("--out", "DIR", "Directory of the results; results/NAME OF CONFIG if not given.")
    ] = None,
    trials: TrialCount = None,
    seed: Seed = None,
    max_steps: MaxSteps = None,
    settings: SetValues = None,
    plugin: Plugins = None,
    n_jobs: Jobs = -1,
    backend: Annotated[Literal["loky", "dask", "sequential"], typer.Option(help="Where trials run.")] = "loky",
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Dask scheduler, with --backend dask.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Move an earlier result aside and start over.")] = False,
    shard: Annotated[
        str | None,
        typer.Option(metavar="N/OF", help="Run only this part of the trials, such as 2/5; `merge` joins the parts."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what is missing.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Only list the cells, and how far each is.")] = False,
    collect: Annotated[
        bool, typer.Option("--collect", help="Only write the tables, from the finished trials.")
    ] = False,
    packed: Annotated[bool, typer.Option("--gzip", help="Write trials.csv.gz instead of trials.csv.")] = False,
    trial_timeout: TrialTimeoutOption = None,
    fail_fast: Annotated[
        bool, typer.Option("--fail-fast/--keep-going", help="Whether to stop at the first trial that fails.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Run all trials of a study that are missing, and write its tables.

    Finished trials are kept if the sweep is interrupted: the same command goes on from there. More --trials or more
    cells in CONFIG add to them.
    """
    from cascadebai_cli.workflows import sweep as work

    if fresh + dry_run + status + collect > 1:
        raise ConfigError("--fresh, --dry-run, --status and --collect exclude each other; give one of them")
    place = work.Backend(backend, n_jobs, scheduler)
    part = {"shard": work.Shard.named(shard)} if shard is not None else {}
    given = work.Given(trials, seed, max_steps, plugin or (), settings or ())
    request = work.Request(config, out, given, **part, packed=packed)
    watch = Terminal(quiet=quiet)
    if dry_run:
        _print_missing(request.missing())
    elif status:
        _print_status(request)
    elif collect:
        _print_tables(request.only_tables(watch=watch), quiet, shard, "a sweep without --collect runs them")
    else:
        how = {"fresh": fresh, "fail_fast": fail_fast}
        done = work.sweep(request.sweep(), backend=place, **how, timeout=trial_timeout, watch=watch)
        _print_tables(done, quiet, shard, "the same command runs them again")


def _print_missing(found: "Missing") -> None:
    for cell, trials, wanted in found.cells:
        say(f"{cell.cell_id}  {trials} of {wanted} trials missing: {cell.label}")
    if found.seconds is not None:
        say(f"about {duration(found.seconds)} on one core, if a trial takes as long as the finished ones did")
    trials = sum(trials for _, trials, _ in found.cells)
    say(
        f"{count(trials)} of {count(found.wanted)} trials are missing, "
        f"in {count(len(found.cells))} of {count(found.of_cells)} cells"
    )


def _print_status(request: "Request") -> None:
    found = request.status()
    say(found.table)
    left = "" if found.seconds is None else f"; about {duration(found.seconds)} left on one core"
    missed = f", {count(found.missed)} of these missed the aim" * (found.missed > 0)
    say(f"{count(found.cells)} cells, {count(found.done)} of them done{missed}{left * (found.done < found.cells)}")


def _print_tables(done: "Swept", quiet: bool, shard: str | None, remedy: str) -> None:
    """Say where the tables are; if trials are missing, say so with the `remedy`, and end with exit code 1."""
    if not quiet:
        directory = for_shell(done.directory)
        say(f"tables: {done.directory}/{done.rows}, summary.csv, timings.csv")
        if shard is None and done.trials:
            say(f"next:   cascadebai fit {directory}; cascadebai plot {directory}")
        elif shard is not None:
            say(f"next:   cascadebai merge {directory} ... --out DIR, with the directories of the other shards")
    if done.missing:
        tell(f"{count(done.missing)} trials are missing; {remedy}")
    _end_with(not done.missing)


# --- `cascadebai merge`: shards of a grid from several machines become one result directory -------------------------


def merge(
    directories: ResultDirectories,
    out: Annotated[Path, path_option("--out", "DIR", "A new directory for all rows.")],
    quiet: Quiet = False,
) -> None:
    """Join the shards of a grid, or sweeps of its parts, in one directory, as if one machine had run them all.

    They must have the same seed, the same versions of the engines, and the same content wherever two of them have the
    same cell or learner; a trial in two of them must have ended in the same way. The directories stay as they are.
    """
    from cascadebai_cli.workflows import sweep as work

    done = work.merge(directories, out=out, watch=Terminal(quiet=quiet))
    if not quiet:
        say(f"{count(done.trials)} trials: {done.directory}/trials.csv, summary.csv, timings.csv")
    if done.missing:
        tell(f"{count(done.missing)} trials are missing; merge more shards, or sweep the whole config into {out}")
    _end_with(not done.missing)


# --- `cascadebai summary`: the cells of a result directory ----------------------------------------------------------


def _selection() -> Sequence[type]:
    from cascadebai_cli.study.kinds import Selection

    return (Selection,)


@with_options(_selection)
def summary(directory: ResultDirectory, form: Format = "text", **given: Any) -> None:
    """Print the cells of a sweep: mean steps and error rate, each with its 95 % interval.

    A mean with capped trials is a lower limit. A measure is what `plot --y` takes: steps, median, q90, error_rate, ...
    """
    from cascadebai_cli.workflows import tables as work

    done = work.summary(directory, keys_of(_selection()[0], given), on_a_page=form == "latex", watch=Terminal())
    say(done.text(form))
    _end_with(done.whole)


# --- `cascadebai fit`: the tables that go with a study's figure -----------------------------------------------------


def fit(
    directory: ResultDirectory,
    form: Format = "text",
    allow_capped: Annotated[
        bool, typer.Option("--allow-capped", help="Also fit means with trials that reached the cap, and mark the fits.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Write the files, print no table.")] = False,
) -> None:
    """Fit the mean number of steps against K, compare learners, and print the published values beside ours.

    Writes DIR/fits.csv (the model that the config names), DIR/weighted_fits.csv (the same with means weighted by their
    precision, with its lack of fit, the nearest other model and the exponent), DIR/models.csv (all models) and, for
    two-level instances, DIR/bound_fits.csv (the same model fitted to the upper bound). If the plot of the study is of
    the kind `curves`, it also writes DIR/ratios.csv; if it is of the kind `bars`, DIR/orders.csv. A mean with trials
    that reached the cap is a lower limit: curves with such means are not fitted.
    """
    from cascadebai_cli.workflows import tables as work

    done = work.fit(directory, allow_capped=allow_capped, watch=Terminal())
    if not quiet:
        say(done.text(form))
    _end_with(done.whole)


# --- `cascadebai plot`: a figure of one or more studies -------------------------------------------------------------


def _words() -> Sequence[type]:
    from cascadebai_cli.study.kinds import Words

    return (Words,)


@with_options(_words)
def plot(
    directories: ResultDirectories,
    out: Annotated[
        Path | None,
        path_option("--out", "FILE|DIR", "A .pdf, .png or .svg file, or a directory; the first DIR if not given."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            parser=path_parser("--config"),
            autocompletion=configs,
            help="Draw what `plot` of this YAML file says.",
        ),
    ] = None,
    **given: Any,
) -> None:
    """Draw a figure, ready for a paper, as the config of DIR says; these options replace what it says.

    The options are the keys of `plot` in a config. COLUMNS, AXES and FORMATS may be several, with commas between
    them; options that take a NAME or a = may be repeated. `--kind bounds` shows the measured steps between the bounds
    of the theorems, `--kind schematic` the instances behind the lower bound. What does not fit on a page goes to
    further pages of the PDF, and to NAME-2.png, NAME-3.png, ...
    """
    from cascadebai_cli.workflows import plot as work

    done = work.plot(directories, out=out, config=config, words=keys_of(_words()[0], given), watch=Terminal())
    for path in done.files:
        say(path)
    _end_with(done.whole)


# --- `cascadebai plan`: from a log of clicks and views to the number of page views that a test takes ----------------


def _plan_options() -> Sequence[type]:
    from cascadebai_cli.planning.options import OPTIONS

    return OPTIONS


@with_options(_plan_options)
def plan(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", parser=path_parser("FILE"), help="The log, as CSV; - is stdin.")
    ],
    out: Annotated[
        Path | None, path_option("--out", "DIR", "Directory to write; results/plan_NAME_K5 if not given.")
    ] = None,
    form: Annotated[Literal["text", "json"], typer.Option("--format", help="How the plan is printed.")] = "text",
    n_jobs: Jobs = -1,
    quiet: Quiet = False,
    **given: Any,
) -> None:
    """Tell from measured clicks how many page views it takes to find the best K items, and what that costs.

    With --budget or --sure, tell how likely all K are right after a given number of page views.

    Each simulated run draws click rates that are plausible by the log; a page is read from the top to the first
    click.
    """
    from cascadebai_cli.planning import files as work

    watch = Terminal(quiet=quiet)

    def begin(asked: work.Plan) -> None:
        work.place_of(asked, out)
        if form == "text":
            say(work.question_in_words(asked.question))

    work.refuse_unwritable(out)
    layout, wanted = work.read_options(given)
    done = work.plan(file, layout, wanted, backend=work.Backend(n_jobs=n_jobs), watch=watch, begin=begin)
    _end_with(not done.failed)
    written = work.write_plan(done, out, watch)
    say(json.dumps(work.as_json(done), indent=2, ensure_ascii=False) if form == "json" else work.plan_in_words(done))
    watch.remark(f"written: {written}")
    if command := work.start_of_test(done, written):
        watch.remark(f"the test begins with: {command}")


# --- `cascadebai bounds`: the bounds of each cell of a study, beside what was measured ------------------------------


def bounds(
    config: Config,
    csv: Annotated[Path | None, path_option("--csv", "FILE", "Write the table to this file as well.")] = None,
    results: Annotated[
        Path | None, path_option("--results", "DIR", "Directory of a sweep; results/NAME OF CONFIG if it exists.")
    ] = None,
    printed: Annotated[
        bool,
        typer.Option(
            "--printed", help="Use the constant 216 in T-bar, as printed in the paper, instead of 256 sigma^2."
        ),
    ] = False,
    sharp: Annotated[
        bool, typer.Option("--sharp", help="Add the sharp lower bound; takes seconds for an instance of many weights.")
    ] = False,
    factor: Annotated[
        bool, typer.Option("--factor", help="Add what mean steps over the sharp bound come to as delta becomes small.")
    ] = False,
    form: Format = "text",
) -> None:
    """Print the lower and the upper bound on the number of steps, and how far the measured mean is from both.

    For a study with budgets, print the bound on the probability of an error after each budget, and the budget that is
    enough for delta by that bound.

    The lower bounds hold for the mean of any algorithm, the upper one for CascadeBAI with probability 1 - delta. CONFIG
    may be the directory of a sweep.
    """
    from cascadebai_cli.workflows import tables as work

    done = work.bounds(config, results=results, csv=csv, printed=printed, sharp=sharp, factor=factor, watch=Terminal())
    say(done.text(form))


# --- `cascadebai report`: one page about some result directories ----------------------------------------------------


def report(
    directories: ResultDirectories,
    out: Annotated[Path, path_option("--out", "FILE", "File of the page.")] = Path("report.html"),
    title: Annotated[
        str | None, typer.Option(help="Heading of the page; made of the studies' titles if not given.")
    ] = None,
    where: Where = None,
) -> None:
    """Write one page with claims, figures, their data, settings and run times; it needs no network and no script."""
    from cascadebai_cli.workflows import report as work

    done = work.report(directories, out=out, title=title, where=where or (), watch=Terminal())
    say(done.files[0])
    _end_with(done.whole)


# --- `cascadebai verify`: whether this code still gives the numbers of the reference --------------------------------


def verify(
    reference: Annotated[
        Path, path_option("--reference", "DIR", "Directory with a result directory for each artefact.")
    ] = Path("results/reference"),
    configs: Annotated[
        Path, path_option("--configs", "DIR", "Folder to which the paths of data files in their configs are relative.")
    ] = Path("configs"),
    only: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this artefact; repeatable.")] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Root seed of the fresh trials; a new one if not given.")
    ] = None,
    trials: Annotated[int, typer.Option("--trials", min=3, help="Number of fresh trials of each cell.")] = 20,
    plugin: Annotated[
        list[str] | None,
        typer.Option(
            "--plugin",
            metavar="MODULE:NAME",
            help="Import this learner or family that the reference names, instead of skipping it; repeatable.",
        ),
    ] = None,
    n_jobs: Jobs = -1,
) -> None:
    """Compare this code with the committed reference; the exit code is 1 if something has moved.

    (1) Bit for bit: a fixed set of trials of every artefact is run again and must give the same rows. (2) By
    statistics: fresh trials of the same cells must have the same mean steps, up to chance; if nothing has moved, the
    probability of an alarm is at most 0.1 % for each call. Before both, the tables must follow from the committed rows.
    """
    from cascadebai_cli.workflows import verify as work

    done = work.verify(
        reference,
        configs=configs,
        only=only or (),
        seed=seed,
        trials=trials,
        plugins=plugin or (),
        backend=work.Backend(n_jobs=n_jobs),
        watch=Terminal(),
    )
    for line in done.moved:
        say(f"moved: {line}")
    _end_with(not done.moved)
    say(f"nothing has moved in {', '.join(done.artefacts)}")


# --- `cascadebai schema`: JSON schemas for editors and other programs -----------------------------------------------


def schema(
    kind: Annotated[
        Literal["config", "plan", "manifest"],
        typer.Argument(metavar="config|plan|manifest", help="Kind of document that is described."),
    ],
) -> None:
    """Print the JSON schema of a config, a plan.json or a manifest.json, made from the models that validate them.

    Editors complete and check a config that begins with the line `# yaml-language-server: $schema=FILE`.
    """
    from cascadebai_cli.workflows.init import schema_text

    say(schema_text(kind))
