"""From a job to what the views are given."""

from __future__ import annotations

import getpass
import shlex
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from automodel_nb.job import clusters
from automodel_nb.job.handle import Job
from automodel_nb.job.session import session
from automodel_nb.launchers.slurm import sbatch_argv
from automodel_nb.states import JobState
from automodel_nb.views import esc, jobs_html, jobs_text
from automodel_nb.views.health import TITLES
from automodel_nb.views.model import CardData, Failure, JobRow
from automodel_nb.watching import follow
from automodel_nb.watching.diagnosis import Diagnosis
from automodel_nb.watching.follow import FileSource
from automodel_nb.watching.lines import clean
from automodel_nb.watching.points import decimate
from automodel_nb.watching.reading import LOOK, view_points

if TYPE_CHECKING:
    from automodel_nb.launchers.skypilot_clusters import Cluster

CARD_POINTS = 600  # a curve some hundred pixels wide shows no more
CARD_LINES = 12
_TAIL_BYTES = 1 << 16


def card_data(job: Job) -> CardData:
    """What a card shows of a job; reads its log as far as it is new."""
    status, record = job.status, job.record
    seen = status.observation
    checkpoint, model = job.checkpoint, job.model_path
    cluster = clusters.up(record)
    cost = clusters.cost(record, status, cluster)
    return CardData(
        job_id=job.id,
        name=job.name,
        method=job.method,
        state=seen.state,
        reason=seen.reason,
        directory=record.directory,
        log_path=str(job.paths.log),
        scheduler_id=job.scheduler_id if job.method != "interactive" else "",
        cluster=job.cluster,
        host=job.host,
        nodes=seen.nodes,
        submitted=record.created,
        started=seen.started,
        ended=seen.ended,
        estimate=seen.estimate,
        time_limit=seen.time_limit,
        as_of=status.as_of,
        unreachable=bool(status.silent),
        exit_code=seen.exit_code,
        progress=job.progress,
        points=decimate(view_points(job.log_source, LOOK), CARD_POINTS),
        last_lines=last_lines(job, CARD_LINES),
        checkpoint=str(checkpoint or ""),
        model_path=str(model or ""),
        tracker_url=job.progress.wandb_url or "",
        failure=_failure(job) if seen.state.final and not seen.state.ok else None,
        config=_config_rows(job),
        command=record.command,
        attempt=seen.attempt,
        cost=cost.total if cost else None,
        hourly=cost.hourly if cost else None,
        cluster_up=_still_up(job, cluster) if cluster and clusters.idle(seen) else "",
        previous=record.resumed_from or "",
        next=session().store.resumption_of(job.id) if seen.state.final else "",
    )


def row(job: Job) -> JobRow:
    """What the table of jobs shows of one."""
    status = job.status
    seen, progress = status.observation, job.progress
    up = "its cluster is still up" if clusters.idle(seen) and clusters.up(job.record) else ""
    other = job.record.user if job.record.user != getpass.getuser() else ""
    return JobRow(
        job_id=job.id,
        name=job.name,
        method=job.method,
        state=seen.state,
        scheduler_id=job.scheduler_id if job.method != "interactive" else "",
        submitted=job.record.created,
        started=seen.started,
        ended=seen.ended,
        progress=progress,
        loss=progress.last_loss,
        owner=other,
        note="; ".join(filter(None, [status.silent or (seen.reason if seen.state is not JobState.COMPLETED else ""), up])),
    )


def _still_up(job: Job, cluster: Cluster) -> str:
    return f"Its cluster is still up: {clusters.price(cluster)}. `%automodel_cancel {job.id} --down` takes it down now."


def newest_jobs(limit: int | None) -> tuple[list[Job], list[str]]:
    """The newest jobs, all observed at the price of one question a method; and remarks on what is not among them."""
    kernel = session()
    records = kernel.store.records()
    statuses = kernel.tracker.observe_all(records[:limit])
    notes = [*clusters.remarks(records, statuses), *kernel.store.skipped]
    asked = {record.method for record in records[:limit] if not statuses[record.id].observation.state.final}
    for method in sorted(asked - {"interactive"}):
        notes.append(f"{TITLES[method]} is asked about all jobs at once, at most every {kernel.tracker.floor[method]:g} s")
    if limit is not None and len(records) > limit:
        notes.append(f"{len(records) - limit} older jobs: %automodel_jobs --all")
    return [Job(record, kernel) for record in records[:limit]], notes


def jobs_view(rows: Sequence[JobRow], notes: Sequence[str]) -> tuple[str, str]:
    """The table of jobs, as HTML and as text, with remarks."""
    now = time.time()
    html = jobs_html(rows, now) + "".join(f"<div>{esc(note)}</div>" for note in notes)
    return html, "\n".join([jobs_text(rows, now).rstrip("\n"), *notes])


def log_lines(job: Job, tail: int, text: str | None) -> list[str]:
    """The log's last clean lines that hold `text` (None: all), secrets masked."""
    kept: deque[str] = deque(maxlen=max(0, tail))
    for label, log in job.logs.items():
        prefix = f"[{label}] " if label else ""
        for line in follow.lines(log):
            kept.extend(prefix + shown for shown in clean(line.text) if text is None or text in shown)
    return [job.mask(shown) for shown in kept]


def last_lines(job: Job, number: int) -> list[str]:
    """The log's last clean lines, secrets masked; an unfinished one included."""
    log = job.log_source
    piece = (FileSource(log) if isinstance(log, Path) else log).read(0, 0)
    start = max(0, piece.size - _TAIL_BYTES) if piece else 0
    kept: deque[str] = deque(maxlen=number)
    for index, line in enumerate(follow.lines(log, start)):
        if index or not start:  # the first may be the end of a line
            kept.extend(text for text in clean(line.text) if text.strip())
    return [job.mask(text) for text in kept]


def _failure(job: Job) -> Failure | None:
    told = job.diagnosis()
    if told is None or told.code in ("cancelled", "preempted", "time-limit"):
        return None  # the card's own reason says it
    place = [f"rank {told.rank}" if told.rank is not None else "", f"on {told.node}" if told.node else ""]
    line = f"line {told.line} of the log" if told.line is not None else ""
    where = ", ".join(part for part in (" ".join(filter(None, place)), line) if part)
    return Failure(told.cause, [told.evidence] if told.evidence else [], where, how_to_fix(job, told))


def how_to_fix(job: Job, told: Diagnosis) -> str:
    """What to do about a failure; with the command where a changed value is enough."""
    if not told.change:
        return told.fix
    values = " ".join(f"--set {path}={text}" for path, text in told.change.items())
    command = f"%automodel_resume {job.id}" if job.checkpoint else f"%%automodel_launch --from {job.id}"
    return f"{told.fix} `{command} {values}`"


def _config_rows(job: Job) -> Sequence[tuple[str, str]]:
    request = job.record.request
    rows = [("Working directory", job.record.chdir)]
    if request.file:
        rows.append(("Recipe", request.file))
    if directory := job.record.submission and job.record.submission.extra.get("nsys"):
        reports = [path.name for path in sorted(Path(str(directory)).expanduser().glob(f"job{job.scheduler_id}.*.nsys-rep"))]
        words = ": " + ", ".join(reports[:8]) + (f" and {len(reports) - 8} more" if len(reports) > 8 else "") if reports else ""
        rows.append(("profiling", "nsys is on: slower, large files, for short runs only"))
        rows.append(("reports", f"{directory}{words}"))
    rows += [(f"--set {path}", text) for path, text in request.overrides.items()]
    return [*rows, ("In a shell", line)] if (line := _in_a_shell(job)) else rows


def _in_a_shell(job: Job) -> str:
    """The command that submits the same by hand; empty where that is more than one (SkyPilot)."""
    record, directory, paths = job.record, str(job.directory), job.paths
    variable = f"AUTOMODEL_JOB_DIR={shlex.quote(directory)}"
    if job.method == "interactive":
        return f"cd {shlex.quote(record.chdir)} && {variable} bash {shlex.quote(str(paths.script))}"
    if job.method == "slurm" and record.submission:
        argv = sbatch_argv(directory, record.chdir, array=bool(record.submission.extra.get("array")))
        line = f"{variable} {shlex.join(argv)}"
        return f"ssh {shlex.quote(record.remote)} {shlex.quote(line)}" if record.remote else line
    return ""
