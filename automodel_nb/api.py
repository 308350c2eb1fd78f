"""The functions that a user calls; the magics call the same ones."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from automodel_nb import hosts
from automodel_nb.errors import JobFailedError, JobNotFoundError, LaunchError
from automodel_nb.findings import Finding, Fix, in_order
from automodel_nb.interpolation import fill_names
from automodel_nb.plan import Plan, Request
from automodel_nb.planning import make_plan

if TYPE_CHECKING:  # a preview needs neither, and is what a notebook waits for
    from automodel_nb.health import Report
    from automodel_nb.job.handle import Job


def preview(
    source: str | Path,
    method: str | None = None,
    *,
    overrides: Mapping[str, str] | None = None,
    profile: str | None = None,
    host: str | None = None,
    ignore: Iterable[str] = (),
    check_cluster: bool = False,
) -> Plan:
    """Plan a launch, without any side effect.

    Args:
        source: a cell's text (str), or a file (Path).
        method: ``interactive``, ``slurm`` or ``skypilot``; None takes it from the launcher section.
        overrides: dotted path to text, as ``--set`` gives it: a field (``slurm.nodes``) or a recipe value.
        profile: name of a profile.
        host: login node by ssh (Slurm).
        ignore: codes of findings to pass over.
        check_cluster: ask Slurm, by ``sbatch --test-only``, whether it would take the job, and when it would start it;
            the answer is one more finding (``cluster-check`` or ``sbatch-refused``). It uses up one job number, nothing else.

    Returns:
        The plan; `plan.findings` says what is wrong or doubtful.

    Raises:
        LaunchError: there is nothing to plan, for the reasons in `.findings`.
    """
    hosts.again()
    file = source if isinstance(source, Path) else None
    plan = plan_of(
        "" if file else str(source), method, file=file, overrides=overrides, profile=profile, host=host, ignore=ignore
    )
    return checked_by_cluster(plan) if check_cluster else plan


def checked_by_cluster(plan: Plan) -> Plan:
    """A plan with what its cluster says to it as one more finding (``preview(..., check_cluster=True)``)."""
    from automodel_nb.launchers import slurm_trial

    answer = slurm_trial.ask(plan) if plan.method == "slurm" else slurm_trial.other_method(plan.method)
    return replace(plan, findings=in_order([*plan.findings, answer]))


def launch(
    source: str | Path | Plan,
    method: str | None = None,
    *,
    overrides: Mapping[str, str] | None = None,
    profile: str | None = None,
    host: str | None = None,
    ignore: Iterable[str] = (),
    wait: bool = False,
) -> Job:
    """Launch a training.

    Args:
        source: a cell's text (str), a file (Path), or a plan that `preview` made.
        method, overrides, profile, host, ignore: as for `preview`; not together with a plan.
        wait: return only when the job has ended.

    Raises:
        LaunchError: nothing was launched, for the reasons in `.findings`.
        JobFailedError: with `wait`, the job ended without success.
    """
    from automodel_nb.job.handle import Job
    from automodel_nb.job.launching import submit
    from automodel_nb.job.session import session

    hosts.again()
    if isinstance(source, Plan):
        plan = source
    else:
        plan = preview(source, method, overrides=overrides, profile=profile, host=host, ignore=ignore)
    kernel = session()
    job = Job(submit(plan, kernel.store), kernel)
    kernel.tracker.poke(job.method)
    if wait and not job.wait().ok:
        raise JobFailedError(failure(job))
    return job


def jobs() -> list[Job]:
    """All jobs of this and earlier kernels, newest first."""
    from automodel_nb.job.handle import Job
    from automodel_nb.job.session import session

    kernel = session()
    return [Job(record, kernel) for record in kernel.store.records()]


def attach(which: str = "last") -> Job:
    """Come back to a job.

    Args:
        which: ``last``, a job's id (or the start of one), its scheduler id, or its name (the newest of that name).

    Raises:
        JobNotFoundError: there is none.
    """
    found = jobs()
    if not found:
        raise JobNotFoundError("there is no job yet; `%automodel_new interactive` begins one")
    if which == "last":
        return found[0]
    for fitting in (
        [job for job in found if job.id == which],
        [job for job in found if job.scheduler_id == which],
        [job for job in found if job.name == which],
        [job for job in found if len(which) >= 3 and job.id.startswith(which)],
    ):
        if fitting:
            return fitting[0]
    raise JobNotFoundError(f"there is no job {which!r}; `%automodel_jobs` lists them")


def template(method: str = "interactive") -> str:
    """A YAML document to start from, for one launch method."""
    from automodel_nb.configs.templates import TEMPLATES
    from automodel_nb.planning.sources import route

    return TEMPLATES[route(method, [])]


def doctor(host: str | None = None) -> Report:
    """What is here, and what each launch method still lacks, with the command that mends it.

    Args:
        host: login node by ssh, whose Slurm is looked at instead of this machine's.

    Returns:
        A report that prints as a table. Nothing was started, installed or changed.
    """
    from automodel_nb.health import examine

    hosts.again()
    return examine(host)


def plan_of(
    text: str,
    method: str | None = None,
    *,
    file: Path | None = None,
    file_text: str | None = None,
    overrides: Mapping[str, str] | None = None,
    profile: str | None = None,
    host: str | None = None,
    name: str | None = None,
    ignore: Iterable[str] = (),
    namespace: Mapping[str, Any] | None = None,
) -> Plan:
    """Plan what a cell asks for: `preview`, and what only a magic has.

    Args:
        text: the cell's text, empty without one.
        file: ``-c FILE``.
        file_text: text to take for the file's (``--from JOB``).
        name: ``--name``.
        namespace: where ``{{ name }}`` takes its values from; None leaves them alone.
        method, overrides, profile, host, ignore: as for `preview`.
    """
    if file is not None and file_text is None:
        file_text = read_text(file)
    filled = fill_names(text, namespace) if namespace is not None and "{{" in text else text
    request = Request(
        text=filled,
        file=str(file.expanduser().absolute()) if file else None,
        file_text=file_text,
        method=method,
        overrides=dict(overrides or {}),
        profile=profile,
        host=host,
        name=name,
        ignore=tuple(ignore),
        cwd=os.getcwd(),
    )
    return make_plan(request, yaml=text if text.strip() else file_text)


def plan_from(which: str, text: str, method: str | None = None, **options: Any) -> Plan:
    """Plan a launch on the base of an earlier job (``--from JOB``).

    Args:
        which: the job, as for `attach`.
        text: the cell's text; what it says goes over the job's document.
        method, options: as for `plan_of`.
    """
    request = attach(which).record.request
    if request.file_text is not None and request.text.strip():
        if text.strip():
            message = f"{which} was launched from a file and a cell; launch that file with -c instead"
            raise LaunchError([Finding("from", "error", message)])
        text = request.text
    base = request.file_text if request.file_text is not None else request.text
    options["overrides"] = {**request.overrides, **options.get("overrides", {})}
    return plan_of(text, method or request.method, file_text=base, **options)


def read_text(path: Path) -> str:
    """A file's text, ends of lines as they are. Raises LaunchError where it cannot be read."""
    try:
        return path.expanduser().read_bytes().decode("utf-8")  # what AutoModel reads
    except UnicodeDecodeError as error:
        line, utf8 = error.object.count(b"\n", 0, error.start) + 1, Fix("save it as UTF-8")
        raise LaunchError([Finding("encoding", "error", "it is not UTF-8", None, line, 1, utf8, str(path))]) from None
    except OSError as error:
        fix = Fix(f"the path is taken from {os.getcwd()}") if not path.is_absolute() else None
        raise LaunchError([Finding("file", "error", f"cannot read {path}: {error.strerror}", fix=fix)]) from None


def failure(job: Job) -> str:
    """One line about a job that failed: how it ended and why, where the log says so, and what to do."""
    from automodel_nb.showing import how_to_fix

    words = f"{job.name} ({job.id}) {job.state}" + (f", {job.reason}" if job.reason else "")
    told = job.diagnosis()
    if told is None:
        return f"{words}; log: {job.paths.log}"
    said = f" {told.evidence}" if told.evidence and told.evidence not in told.cause else ""
    rank = f", rank {told.rank}" if told.rank is not None else ""
    where = f" (line {told.line}{rank})" if told.line is not None else ""
    fix = f" → {' '.join(how_to_fix(job, told).split())}" if told.fix else ""
    return f"{words}: {told.cause}{said}{where}; log: {job.paths.log}{fix}"
