"""Launch with SkyPilot: one cluster a job, or a managed job, which SkyPilot starts again after a preemption."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from automodel_nb.errors import JobError, SubmissionError, UnreachableError
from automodel_nb.interpolation import EnvTemplate
from automodel_nb.launchers import skypilot_logs as logs
from automodel_nb.launchers import skypilot_states as states
from automodel_nb.launchers.base import JobRef, Stop, Submission
from automodel_nb.launchers.interactive import exit_words
from automodel_nb.launchers.skypilot_client import SkyPilotError, call, muted, translated
from automodel_nb.launchers.skypilot_errors import explain
from automodel_nb.launchers.skypilot_prices import price_of
from automodel_nb.plan import Plan
from automodel_nb.rendering.skypilot import REMOTE_DIR, is_managed, task_name
from automodel_nb.states import JobState, Observation

_ACTIVE = frozenset({"PENDING", "RUNNING", "WAITING"})
_LOG_TAIL = 65536
_SENDING = 10.0  # seconds that a launch which was broken off may still take to reach the server
_MANAGED_FIELDS = ["job_id", "job_name", "status", "failure_reason", "submitted_at", "start_at", "end_at", "recovery_count"]


class SkyPilotLauncher:
    """A cluster, or a managed job, of the name ``<job name>-<job id>``: new for each launch, so that none is reused unseen."""

    method = "skypilot"

    def submit(self, plan: Plan, directory: Path, job_id: str, environ: Mapping[str, str]) -> Submission:
        """See `Launcher.submit`. Returns as soon as the API server has taken the launch; the cluster comes up later."""
        config: Any = plan.config
        name = f"{task_name(plan.name)}-{job_id}"
        managed = is_managed(config)
        secrets = {key: v.resolve(environ) for key, v in plan.environment.items() if isinstance(v, EnvTemplate)}
        price = price_of(config)
        hourly = price.hourly(use_spot=config.use_spot) if price else None
        request: list[str] = []
        begun, broken_off, sent = threading.Event(), threading.Event(), threading.Event()

        def launch(sky: Any) -> None:
            task = make_task(sky, plan.files["task.yaml"], directory, secrets)
            begun.set()
            if broken_off.is_set():
                return
            try:
                with muted():
                    if managed:
                        request.append(str(sky.jobs.launch(task, name=name, job_group=None)))
                    else:
                        request.append(str(sky.launch(task, cluster_name=name)))
            finally:
                sent.set()

        try:
            call(launch, timeout=120)
        except (KeyboardInterrupt, UnreachableError) as error:
            broken_off.set()
            why = "the launch was interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
            # its own thread goes on sending it, and only what has a number can be cancelled
            if begun.is_set() and (not sent.wait(_SENDING) or request):
                why = _take_back(name, managed, request, why)
            raise SubmissionError(why) from None
        except SkyPilotError as error:
            raise SubmissionError(str(error)) from None
        extra = {"request": request[0], "managed": managed, "spot": config.use_spot, "hourly": hourly}
        return Submission(name, cluster=name, extra=extra)

    def poll(self, jobs: Sequence[JobRef]) -> Mapping[str, Observation]:
        """See `Launcher.poll`. Also keeps each job's log streaming into its directory."""
        if not jobs:
            return {}
        seen = {job.id: known for job in jobs if (known := logs.running(job)) is not None}
        asked = [job for job in jobs if job.id not in seen]
        answers = call(lambda sky: _ask(sky, asked), timeout=90) if asked else {}
        for job in asked:
            observation = answers.get(job.id)
            if observation is None:
                continue
            seen[job.id] = _with_log(job, observation)
        return seen

    def stop(self, job: JobRef, how: Stop) -> None:
        """See `Launcher.stop`. The cluster stays, with what is on its disks, until it has been idle for long enough."""
        name = job.submission.cluster
        logs.saw(job, None)
        if job.submission.extra.get("managed"):
            _tolerant(lambda sky: sky.get(sky.jobs.cancel(name=name)))
            return
        if _launching(job):
            _tolerant(lambda sky: sky.get(sky.client.sdk.api_cancel(job.submission.extra["request"], silent=True)))
            down(name)
            return
        _tolerant(lambda sky: sky.get(sky.cancel(name, job_ids=[1])))


def down(cluster: str) -> None:
    """Remove a cluster and all that is on its disks. One that is gone already is no error.

    Raises:
        JobError: SkyPilot refuses.
        UnreachableError: the API server does not answer; the removal may go on.
    """
    _tolerant(lambda sky: sky.get(sky.down(cluster)), timeout=600)


def make_task(sky: Any, text: str, directory: Path, secrets: Mapping[str, str]) -> Any:
    """SkyPilot's task out of ``task.yaml``, with what is not in the file: where the recipe lies, and the secrets' values."""
    config = yaml.safe_load(text)
    config["file_mounts"] = {**config.get("file_mounts", {}), f"{REMOTE_DIR}/recipe.yaml": str(directory / "recipe.yaml")}
    config.pop("secrets", None)
    task = sky.Task.from_yaml_config(config)
    if secrets:
        task.update_secrets(dict(secrets))
    return task


def _ask(sky: Any, jobs: Sequence[JobRef]) -> dict[str, Observation | None]:
    """Everything about all jobs: one question for the clusters, one for the managed jobs, one for each cluster's own queue."""
    single = [job for job in jobs if not job.submission.extra.get("managed")]
    managed = [job for job in jobs if job.submission.extra.get("managed")]
    answers: dict[str, Observation | None] = {}
    if managed:
        records = _managed_records(sky)
        for job in managed:
            record = records.get(job.submission.cluster)
            answers[job.id] = states.of_managed(record) if record else _launch_outcome(sky, job, None)
    if single:
        names = [job.submission.cluster for job in single]
        clusters = {cluster.name: cluster for cluster in sky.get(sky.status(cluster_names=names))}
        up = {name for name, cluster in clusters.items() if states.word(cluster.status) == "UP"}
        queues = {name: sky.queue(name, False, True) for name in up}  # all asked before the first is waited for
        for job in single:
            cluster = clusters.get(job.submission.cluster)
            queue = queues.get(job.submission.cluster)
            answers[job.id] = _on_cluster(sky, job, cluster, queue) if queue else _launch_outcome(sky, job, cluster)
    return answers


def _on_cluster(sky: Any, job: JobRef, cluster: Any, queue: Any) -> Observation | None:
    try:
        records = sky.get(queue)
    except Exception as error:
        if explain(error).unreachable:
            raise translated(error) from None
        return _refreshed(sky, job)
    record = next((record for record in records if record.job_id == 1), None)
    if record is None:
        return states.launching(cluster.last_event)
    nodes = tuple(node.strip() for node in (cluster.node_names or "").split(",") if node.strip())
    return states.of_job(record, nodes)


def _refreshed(sky: Any, job: JobRef) -> Observation | None:
    """The cluster is said to be up, but does not answer: ask its cloud."""
    name = job.submission.cluster
    clusters = sky.get(sky.status(cluster_names=[name], refresh=sky.StatusRefreshMode.FORCE))
    if not clusters:
        return states.lost(bool(job.submission.extra.get("spot")), name)
    if states.word(clusters[0].status) == "UP":
        raise UnreachableError(f"the cluster {name} does not answer")
    return states.launching(clusters[0].init_status_reason or clusters[0].last_event)


def _managed_records(sky: Any) -> dict[str, Any]:
    try:
        records, *_ = sky.get(sky.jobs.queue_v2(refresh=False, fields=_MANAGED_FIELDS))
    except Exception as error:
        if explain(error).gone:
            return {}  # there is no controller yet, or no job on it
        raise
    return {record.job_name: record for record in records}


def _launch_outcome(sky: Any, job: JobRef, cluster: Any) -> Observation | None:
    """Where a launch stands that has put no job anywhere yet; None where SkyPilot has forgotten it."""
    progress = (cluster.init_status_reason or cluster.last_event) if cluster is not None else None
    state = _request_state(sky, job)
    if state in _ACTIVE:
        return states.launching(progress)
    if state in ("FAILED", "CANCELLED"):
        try:
            sky.get(job.submission.extra["request"])
        except Exception as error:
            return states.launch_failed(explain(error), job.submission.cluster if cluster is not None else "")
    if state == "SUCCEEDED" and job.submission.extra.get("managed"):
        return states.launching(None)
    status = states.word(cluster.status) if cluster is not None else ""
    return states.unseen(job.submission.cluster, status) if state == "SUCCEEDED" and status in ("", "STOPPED") else None


def _request_state(sky: Any, job: JobRef) -> str:
    requests = sky.client.sdk.api_status(request_ids=[job.submission.extra["request"]], all_status=True)
    return states.word(requests[0].status) if requests else ""


def _launching(job: JobRef) -> bool:
    return call(lambda sky: _request_state(sky, job)) in _ACTIVE


def _with_log(job: JobRef, observation: Observation) -> Observation:
    """Follow the log of what runs; of what has ended, have it whole, and take the exit code from it."""
    if observation.state is JobState.PENDING and observation.native not in ("SETTING_UP", "RECOVERING"):
        return observation
    if observation.reason_code in ("launch_failed", "launch_cancelled"):
        return observation
    follower = logs.follow(job)
    if not observation.state.final:
        logs.saw(job, observation if observation.state is JobState.RUNNING else None)
        return observation
    if not follower.finished():
        words = "it has ended; the rest of its log is on the way"
        return replace(observation, state=JobState.STOPPING, reason=words, reason_code="log_on_the_way", ended=None)
    if observation.exit_code is not None or observation.state is not JobState.FAILED:
        return observation
    code = logs.exit_code(_tail(job.paths.log))
    if code is None:
        return observation
    words = exit_words(code) if observation.native == "FAILED" else observation.reason
    return replace(observation, exit_code=code, reason=words, reason_code=observation.reason_code or "exit_code")


def _tail(log: Path) -> str:
    try:
        with open(log, "rb") as file:
            file.seek(max(0, file.seek(0, 2) - _LOG_TAIL))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _take_back(name: str, managed: bool, request: list[str], why: str) -> str:
    """Undo a launch that nobody will know of; what to tell the user."""
    see = "`!sky jobs queue`" if managed else "`!sky status`"
    end = f"`!sky jobs cancel -n {name}`" if managed else f"`!sky down {name}`"
    left = f"{why}; {name} may still come up and cost money: look with {see}, and end it with {end}"
    try:
        if not request:
            return left
        call(lambda sky: sky.get(sky.client.sdk.api_cancel(request[0], silent=True)), timeout=20)
        call(lambda sky: sky.jobs.cancel(name=name) if managed else sky.down(name), timeout=20)
    except JobError:
        return left
    return f"{why}; it is cancelled, and what there is of {name} is being taken down: look with {see}"


def _tolerant(function: Callable[[Any], object], timeout: float = 60) -> None:
    """Call the SDK; that there is nothing left to act on is no error."""
    try:
        call(function, timeout=timeout)
    except SkyPilotError as error:
        if not error.explained.gone:
            raise
