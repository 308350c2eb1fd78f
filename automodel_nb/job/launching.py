"""From a plan to a running job: the directory, the files, the record, the submission; or nothing at all."""

from __future__ import annotations

import getpass
import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from automodel_nb import hosts
from automodel_nb.errors import AutomodelError, LaunchError, SubmissionError
from automodel_nb.interpolation import EnvTemplate
from automodel_nb.job.record import JobRecord
from automodel_nb.job.store import JobStore, new_id
from automodel_nb.launchers import launcher
from automodel_nb.launchers.base import Launcher
from automodel_nb.paths import directory_name
from automodel_nb.plan import Plan


def submit(
    plan: Plan,
    store: JobStore,
    *,
    resumed_from: str | None = None,
    environ: Mapping[str, str] = os.environ,
    launchers: Callable[[str], Launcher] = launcher,
) -> JobRecord:
    """Do what a plan says.

    Args:
        plan: without errors.
        store: where the record is kept.
        resumed_from: id of the job whose checkpoint this one starts from.
        environ: where ``${VAR}`` takes its values from.
        launchers: gives the launcher of a method.

    Returns:
        The record of the submitted job.

    Raises:
        LaunchError: nothing was submitted, and no file or directory of it is left.
    """
    if plan.errors:
        raise LaunchError(plan.findings)
    job_id, created = new_id(), time.time()
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(created))
    directory = plan.job_dir / f"{directory_name(plan.name)}-{stamp}-{job_id}"
    record = JobRecord(
        id=job_id,
        name=plan.name,
        method=plan.method,
        created=created,
        user=getpass.getuser(),
        machine=hosts.hostname(),
        directory=str(directory),
        chdir=plan.chdir,
        yaml=plan.yaml,
        command=plan.command,
        request=plan.request,
        checkpoint_dir=_checkpoint_dir(plan, directory),
        secrets=tuple(sorted({n for v in plan.environment.values() if isinstance(v, EnvTemplate) for n in v.names})),
        resumed_from=resumed_from,
    )
    elsewhere = bool(hosts.host(plan.host).name)  # its launcher then writes the files there
    made = [] if elsewhere else _make(directory)
    try:
        for name, text in () if elsewhere else plan.files.items():
            _write(directory / name, text)
        store.save(record)  # before the submission: a kernel that dies now leaves a trace
        submission = launchers(plan.method).submit(plan, directory, job_id, environ)
    except BaseException as error:
        store.remove(job_id)
        _unmake(made)
        if isinstance(error, OSError):
            raise SubmissionError(f"cannot write {error.filename or directory}: {error.strerror}") from None
        if isinstance(error, AutomodelError) and not isinstance(error, LaunchError):
            raise SubmissionError(str(error)) from None
        raise
    record = JobRecord(**{**record.__dict__, "submission": submission})
    store.save(record)
    return record


def _checkpoint_dir(plan: Plan, directory: Path) -> str:
    if plan.recipe_checkpoint_dir is None:
        return str(directory / "checkpoints")
    return os.path.normpath(Path(plan.chdir) / Path(plan.recipe_checkpoint_dir).expanduser())


def _make(directory: Path) -> list[Path]:
    """Make a new directory (0700) and what it lies in; the directories that were made, outermost first."""
    missing = [path for path in [directory, *directory.parents] if not path.exists()]
    made: list[Path] = []
    try:
        for path in reversed(missing):
            path.mkdir(mode=0o700)
            made.append(path)
    except OSError as error:
        _unmake(made)
        raise SubmissionError(f"cannot make the job's directory: {error.strerror}: {error.filename}") from None
    return made


def _unmake(made: list[Path]) -> None:
    if made:
        shutil.rmtree(made[-1], ignore_errors=True)
    for path in reversed(made[:-1]):
        try:
            path.rmdir()
        except OSError:
            return  # someone else uses it by now


def _write(path: Path, text: str) -> None:
    with open(path, "x", encoding="utf-8", newline="", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
