"""From a job to what the views are given."""

from __future__ import annotations

import getpass
import time
from collections import deque
from collections.abc import Mapping, Sequence

from automodel_nb.job.handle import Job
from automodel_nb.job.session import session
from automodel_nb.plan import Plan
from automodel_nb.states import JobState
from automodel_nb.views import esc, jobs_html, jobs_text
from automodel_nb.views.model import CardData, Failure, JobRow
from automodel_nb.watching import follow
from automodel_nb.watching.errors_in_log import first_error
from automodel_nb.watching.lines import clean
from automodel_nb.watching.points import decimate
from automodel_nb.watching.reading import view_points

CARD_POINTS = 600  # a curve some hundred pixels wide shows no more
CARD_LINES = 12
_TAIL_BYTES = 1 << 16


def card_data(job: Job) -> CardData:
    """What a card shows of a job; reads its log as far as it is new."""
    status, record = job.status, job.record
    seen = status.observation
    checkpoint, model = job.checkpoint, job.model_path
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
        time_limit=None,
        as_of=status.as_of,
        unreachable=bool(status.silent),
        exit_code=seen.exit_code,
        progress=job.progress,
        points=decimate(view_points(record.directory), CARD_POINTS),
        last_lines=last_lines(job, CARD_LINES),
        checkpoint=str(checkpoint or ""),
        model_path=str(model or ""),
        tracker_url=job.progress.wandb_url or "",
        failure=_failure(job) if seen.state.final and not seen.state.ok else None,
        config=_config_rows(job),
        command=record.command,
        attempt=seen.attempt,
        previous=record.resumed_from or "",
    )


def row(job: Job) -> JobRow:
    """What the table of jobs shows of one."""
    status = job.status
    seen, progress = status.observation, job.progress
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
        note=status.silent or (seen.reason if seen.state is not JobState.COMPLETED else ""),
    )


def newest_jobs(limit: int | None) -> tuple[list[Job], list[str]]:
    """The newest jobs, all observed at the price of one question a method; and remarks on what is not among them."""
    kernel = session()
    records = kernel.store.records()
    kernel.tracker.observe_all(records[:limit])
    notes = list(kernel.store.skipped)
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
    for line in follow.lines(job.paths.log):
        kept.extend(shown for shown in clean(line.text) if text is None or text in shown)
    return [job.mask(shown) for shown in kept]


def last_lines(job: Job, number: int) -> list[str]:
    """The log's last clean lines, secrets masked; an unfinished one included."""
    try:
        size = job.paths.log.stat().st_size
    except OSError:
        return []
    start = max(0, size - _TAIL_BYTES)
    kept: deque[str] = deque(maxlen=number)
    for index, line in enumerate(follow.lines(job.paths.log, start)):
        if index or not start:  # the first may be the end of a line
            kept.extend(text for text in clean(line.text) if text.strip())
    return [job.mask(text) for text in kept]


def plan_view(plan: Plan) -> Mapping[str, object]:
    """Arguments for `views.preview_html` and `views.preview_text`."""
    return {
        "files": plan.files,
        "command": plan.command,
        "submit": plan.submit,
        "environment": {name: str(value) for name, value in plan.environment.items()},
        "findings": plan.findings,
        "diff": plan.diff,
    }


def _failure(job: Job) -> Failure | None:
    if not job.paths.log.exists():
        return None
    error = first_error(line.text for line in follow.lines(job.paths.log))
    if error is None:
        return None
    rank = f"rank {error.rank}, " if error.rank is not None else ""
    return Failure(cause=job.mask(error.text), where=f"{rank}line {error.number} of the log")


def _config_rows(job: Job) -> Sequence[tuple[str, str]]:
    request = job.record.request
    rows = [("working directory", job.record.chdir)]
    if request.file:
        rows.append(("recipe", request.file))
    rows += [(f"--set {path}", text) for path, text in request.overrides.items()]
    return rows
