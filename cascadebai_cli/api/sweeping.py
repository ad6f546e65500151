"""`sweep`: a study into a directory."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cascadebai_cli.api.arguments import backend_of, path_of
from cascadebai_cli.api.learners import named_in_study
from cascadebai_cli.api.results import Results
from cascadebai_cli.api.watch import Onlooker
from cascadebai_cli.errors import CascadeError
from cascadebai_cli.store.schema import FAILURES
from cascadebai_cli.store.trials import holds_rows
from cascadebai_cli.study.config import Override, Study, load_study, study_of
from cascadebai_cli.study.plain import plain
from cascadebai_cli.workflows import sweep as work
from cascadebai_cli.workflows.studies import check_rows


def sweep(
    study: str | os.PathLike[str] | Mapping[str, Any] | Study,
    out: str | os.PathLike[str] | None = None,
    n_jobs: int = -1,
    *,
    fresh: bool = False,
    progress: bool | None = None,
    **keys: Any,
) -> Results:
    """Run all trials of a study that are missing, and give its tables.

    Args:
        study: a config: its path, or its keys and values.
        out: directory of the results; what is there already is not run again. Without it they are kept for as long as
            what this returns.
        n_jobs: processes; -1 is one a core, 1 stays in this process.
        fresh: move an earlier result aside and start over.
        progress: whether to show a line on stderr in runs of some seconds; on a terminal and in a notebook, if `None`.
        keys: keys of a config in place of those of the study, such as `trials=5`.

    Raises:
        ValueError: if the study is not usable, or the directory holds trials of another one; nothing has run.
        CascadeError: if no trial ends, the directory cannot be written to, or the backend breaks. Of trials that raise
            beside others warnings tell, and their cells have fewer rows.
    """
    given = None if out is None else path_of("out", out, "the path of a directory")
    read, backend = _study(study, keys), backend_of(n_jobs)
    check_rows(read)

    def into(directory: Path, *, passing: bool = False) -> Results:
        work.sweep_task(work.Sweep(read, directory), backend=backend, fresh=fresh, watch=Onlooker(progress))
        if not holds_rows(directory):
            raise CascadeError(f"no trial ended; {directory / FAILURES} says why")
        return Results(directory, passing=passing)

    if given is not None:
        return into(given)
    directory = Path(tempfile.mkdtemp(prefix="cascadebai-"))
    try:
        return into(directory, passing=True)
    except Exception:  # after Ctrl-C the finished trials stay
        if not (directory / FAILURES).exists():
            shutil.rmtree(directory, ignore_errors=True)
        raise


def _study(study: object, keys: Mapping[str, Any]) -> Study:
    overrides = [Override(f"{key}:", (key,), plain(value)) for key, value in named_in_study(keys).items()]
    if isinstance(study, Mapping):
        return study_of(named_in_study(study), overrides)
    if isinstance(study, Study):
        return study if study.cells and not overrides else study_of(study.model_dump(mode="json"), overrides)
    return load_study(path_of("study", study, "the path of a config, or its keys and values"), overrides)
