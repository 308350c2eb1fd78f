"""Launch through Slurm's own commands: sbatch, squeue, sacct, scancel."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from automodel_nb import hosts
from automodel_nb.errors import JobError, SubmissionError, UnreachableError
from automodel_nb.findings import Finding, Fix
from automodel_nb.hosts import Completed
from automodel_nb.launchers import slurm_remote
from automodel_nb.launchers.base import JobRef, Stop, Submission, resolve
from automodel_nb.launchers.slurm_cluster import Cluster, links, one_line, program
from automodel_nb.launchers.slurm_refusals import perhaps_taken, refusal, unreachable
from automodel_nb.paths import JobPaths
from automodel_nb.plan import Plan
from automodel_nb.states import JobState, Observation

#: Seconds for sbatch. Slurm's own commands give up after MessageTimeout (10 s, often more on large sites).
SUBMIT_TIMEOUT = 60.0
#: Seconds before each try to reach a login node again that was lost during a submission.
RECONNECT = (0.5, 1.0, 2.0, 4.0, 8.0, 8.0)
#: Seconds for a question.
QUERY_TIMEOUT = 20.0


def sbatch_argv(directory: str, chdir: str, *, array: bool = False, after: str = "") -> list[str]:
    """The submission: what differs between two launches of one document is here, not in the script.

    Args:
        directory: the job's own.
        chdir: the training's working directory.
        array: the job is an array; each task has a log.
        after: id of the job before in a chain.
    """
    paths = JobPaths(Path(directory))
    # sbatch replaces %j and the like in the name of the output
    output = str(paths.log.parent).replace("%", "%%") + ("/output.task%a.log" if array else f"/{paths.log.name}")
    follows = [f"--dependency=afterany:{after}"] if after else []
    return ["sbatch", "--parsable", "--export=ALL", *follows, f"--chdir={chdir}", f"--output={output}", str(paths.sbatch)]


class SlurmLauncher:
    """Slurm, by the commands of this machine or of a login node. The scheduler id is Slurm's job id."""

    method = "slurm"

    def __init__(self, submit_timeout: float = SUBMIT_TIMEOUT, query_timeout: float = QUERY_TIMEOUT) -> None:
        self.submit_timeout, self.query_timeout = submit_timeout, query_timeout

    def submit(self, plan: Plan, directory: Path, job_id: str, environ: Mapping[str, str]) -> Submission:
        """See `Launcher.submit`. On a login node the directory is made here, in the same trip."""
        array = getattr(plan.config, "array", None)
        extra: dict[str, str | bool] = {"array": array} if array else {}
        if getattr(plan.config, "nsys_enabled", False):
            extra["nsys"] = getattr(plan.config, "nsys_output", None) or str(directory / "nsys")
        argv = sbatch_argv(str(directory), plan.chdir, array=array is not None)
        env = resolve(plan.environment, environ, {"AUTOMODEL_JOB_DIR": str(directory)})
        host = hosts.host(plan.host)
        if isinstance(host, hosts.SshHost):
            return self._submit_there(host, plan, directory, argv, env, extra)
        first = self._submit_here(plan, directory, argv, env, extra, environ)
        length = getattr(plan.config, "chain_length", 1)
        return self._chain(first, length, plan, directory, env, environ) if length > 1 else first

    def _chain(
        self, first: Submission, length: int, plan: Plan, directory: Path, env: Mapping[str, str], environ: Mapping[str, str]
    ) -> Submission:
        """Submit the jobs that follow the first one, each after the one before; where one is refused, none stays."""
        ids = [first.scheduler_id]
        try:
            while len(ids) < length:
                argv = sbatch_argv(str(directory), plan.chdir, after=ids[-1])
                # a job of that directory is there already, so one whose answer is lost cannot be found again: not looked for
                ids.append(self._submit_here(plan, directory, argv, env, {}, environ, lost=False).scheduler_id)
            JobPaths(directory).chain.write_text("\n".join(ids[1:]) + "\n")
        except (SubmissionError, OSError) as error:
            self._cluster(hosts.LOCAL, first.cluster).cancel(*ids)
            if isinstance(error, OSError):
                raise SubmissionError(f"cannot write {JobPaths(directory).chain}: {error.strerror}") from None
            raise
        return replace(first, extra={**first.extra, "chain": ",".join(ids)})

    def _submit_here(
        self,
        plan: Plan,
        directory: Path,
        argv: list[str],
        env: Mapping[str, str],
        extra: Mapping[str, str | bool],
        environ: Mapping[str, str],
        *,
        lost: bool = True,
    ) -> Submission:
        argv = [program("sbatch", environ), *argv[1:]]  # by path: the job's own PATH may be one for the nodes
        try:
            done = hosts.LOCAL.run(argv, env=env, timeout=self.submit_timeout)
        except UnreachableError as error:
            if not lost:
                raise SubmissionError(f"Slurm does not answer: {error}") from None
            return self._taken_after_all(str(error), directory, extra)
        except OSError as error:
            finding = Finding(
                "sbatch-refused", "error", f"sbatch cannot be run: {error.strerror}", fix=_from_a_login_node(environ)
            )
            raise SubmissionError([finding]) from None
        if lost and done.returncode and perhaps_taken(done.stderr):
            return self._taken_after_all(one_line(done.stderr), directory, extra)
        return _submission(plan, done, "", extra, environ)

    def _submit_there(
        self,
        host: hosts.SshHost,
        plan: Plan,
        directory: Path,
        argv: Sequence[str],
        env: Mapping[str, str],
        extra: Mapping[str, str | bool],
    ) -> Submission:
        extra = {**extra, "node": host.login.node}
        try:
            done = slurm_remote.place_and_submit(host, directory, plan.files, argv, env, self.submit_timeout)
        except hosts.BrokenOff as error:
            return self._after_the_break(host, directory, str(error), extra)
        except KeyboardInterrupt:
            return _unsure(host, "you stopped it while it was submitted", extra)
        except OSError as error:
            raise SubmissionError(f"{host.name}: {error.strerror}") from None
        return _submission(plan, done, host.name, extra)

    def poll(self, jobs: Sequence[JobRef]) -> Mapping[str, Observation]:
        """See `Launcher.poll`."""
        answers: dict[str, Observation] = {}
        there: dict[str, list[JobRef]] = {}
        for job in jobs:
            there.setdefault(job.remote, []).append(job)
        for name, group in there.items():
            host = hosts.host(name)
            if isinstance(host, hosts.SshHost):
                group, found = self._settled(host, group)
                answers |= found
            clusters: dict[str, list[JobRef]] = {}
            for job in group:
                clusters.setdefault(job.submission.cluster, []).append(job)
            for cluster, own in clusters.items():
                answers |= self._cluster(host, cluster).observe(own)
        return answers

    def stop(self, job: JobRef, how: Stop) -> None:
        """See `Launcher.stop`. scancel tells all processes to stop and kills them after KillWait; ``kill`` does not wait."""
        host = hosts.host(job.remote)
        if isinstance(host, hosts.SshHost):
            settled, _ = self._settled(host, [job])
            if not settled:
                raise JobError(f"{job.id} was not submitted (yet): there is nothing to cancel")
            job = settled[0]
        cluster = self._cluster(host, job.submission.cluster)
        ids = links(job) or [job.submission.scheduler_id]
        cluster.cancel(*reversed(ids))  # the last of a chain first: none takes the place of one that is cancelled
        if how == "kill":
            cluster.cancel(*ids, options=("--full", "--signal=KILL"))

    def _cluster(self, host: hosts.Host, name: str) -> Cluster:
        return Cluster(host, name, self.query_timeout)

    def _settled(self, host: hosts.SshHost, jobs: Sequence[JobRef]) -> tuple[list[JobRef], dict[str, Observation]]:
        """Copy the jobs' marks here; with their ids those of which a broken connection left open whether Slurm has them.

        Returns:
            The jobs that Slurm has; what is to say of the others.
        """
        marks = slurm_remote.look(host, jobs)
        settled, others = [], {}
        for job in jobs:
            if job.submission.scheduler_id:
                settled.append(job)
            elif answer := slurm_remote.answer_of(job):
                id, cluster, _ = parse_submission(answer)
                settled.append(replace(job, submission=replace(job.submission, scheduler_id=id, cluster=cluster)))
            elif job.id in marks and (found := self._cluster(host, "").find(str(job.paths.sbatch))):
                settled.append(replace(job, submission=replace(job.submission, scheduler_id=found)))
            elif slurm_remote.SUBMITTING in marks.get(job.id, ()):
                others[job.id] = Observation(JobState.SUBMITTING, f"sbatch is under way on {host.name}")
            elif not any(name.startswith("started") for name in marks.get(job.id, ())):  # else it ran: its marks tell the rest
                words = f"the connection to {host.name} broke before Slurm had the job: nothing ran"
                others[job.id] = Observation(JobState.FAILED, words, "never_submitted")
        return settled, others

    def _taken_after_all(self, why: str, directory: Path, extra: Mapping[str, str | bool]) -> Submission:
        """The job of that directory, where Slurm took it although sbatch was not told."""
        for pause in (0.5, 2.0, 4.0):
            time.sleep(pause)
            try:
                found = self._cluster(hosts.LOCAL, "").find(str(JobPaths(directory).sbatch))
            except UnreachableError:
                continue
            if found:
                return Submission(found, message=f"Slurm was slow to answer ({why}), and has taken the job", extra=extra)
            break
        raise SubmissionError(f"Slurm does not answer: {why}; the job was not taken")

    def _after_the_break(self, host: hosts.SshHost, directory: Path, why: str, extra: Mapping[str, str | bool]) -> Submission:
        """What became of a submission during which the connection broke. It is never repeated."""
        for pause in RECONNECT:
            time.sleep(pause)
            host.hurry()
            try:
                word, answer = slurm_remote.find(host, directory, int(self.submit_timeout))
                found = self._cluster(host, "").find(str(JobPaths(directory).sbatch)) if word == "unclear" else None
                if word == "unclear" and not found:
                    slurm_remote.remove(host, directory)
            except UnreachableError:
                continue
            message = f"the connection to {host.name} broke while it was submitted ({why}); Slurm has taken the job"
            if word == "taken":
                id, cluster, _ = parse_submission(answer)
                return Submission(id, cluster, host.name, message, extra)
            if found:
                return Submission(found, "", host.name, message, extra)
            raise SubmissionError(f"the connection to {host.name} broke ({why}) before Slurm had the job; it was not submitted")
        return _unsure(host, why, extra)


def _submission(
    plan: Plan, done: Completed, host: str, extra: Mapping[str, str | bool], environ: Mapping[str, str] | None = None
) -> Submission:
    if done.returncode == 127 and host:
        raise SubmissionError(f"there is no `sbatch` on {host}: {one_line(done.stderr)}")
    if done.returncode and unreachable(done.stderr):
        raise SubmissionError(f"Slurm does not answer: {one_line(done.stderr)}")
    if done.returncode and "Access/permission denied" in done.stderr and environ is not None:
        message = f"Slurm takes no jobs from this machine: {one_line(done.stderr)}"
        raise SubmissionError([Finding("sbatch-refused", "error", message, "slurm.host", fix=_from_a_login_node(environ))])
    if done.returncode:
        raise SubmissionError([refused_finding(plan, done.stderr)])
    id, cluster, message = parse_submission(done.stdout, done.stderr)
    return Submission(id, cluster, host, message, extra)


def _from_a_login_node(environ: Mapping[str, str]) -> Fix:
    """What to do where this machine cannot submit, as often the node of a notebook that itself is a Slurm job."""
    inside, login = environ.get("SLURM_JOB_ID"), environ.get("SLURM_SUBMIT_HOST")
    if inside and login:
        words = f"this notebook runs inside job {inside}, which was submitted on {login}: add `host: {login}`"
        return Fix(words, "slurm.host", login)
    return Fix("launch by ssh from a login node: add `host: NAME`", "slurm.host")


def _unsure(host: hosts.SshHost, why: str, extra: Mapping[str, str | bool]) -> Submission:
    """A submission of which only its login node can say whether it came to pass; the next answer from there will."""
    message = f"{why}; whether Slurm has the job is seen once {host.name} answers. It is not submitted a second time"
    return Submission("", host=host.name, message=message, extra=extra)


def settled_id(job: JobRef) -> str:
    """Slurm's id of a job of which a broken connection left it open, as far as it is known here by now."""
    answer = slurm_remote.answer_of(job)
    return parse_submission(answer)[0] if answer else ""


def parse_submission(stdout: str, stderr: str = "") -> tuple[str, str, str]:
    """Job id, cluster and site messages out of sbatch's answer.

    Sites print messages before the id, on either stream; ``--parsable`` answers ``60360068;clusterA`` on several clusters.

    Raises:
        SubmissionError: there is no id in it.
    """
    lines = stdout.splitlines()
    for index in reversed(range(len(lines))):
        if found := re.fullmatch(r"\s*(?:Submitted batch job )?(\d+)(?:;(\S+)| on cluster (\S+))?\s*", lines[index]):
            rest = [*lines[:index], *lines[index + 1 :], *stderr.splitlines()]
            return found[1], found[2] or found[3] or "", "\n".join(line for line in rest if line.strip())
    raise SubmissionError(f"sbatch gave no job id: {one_line(stdout + stderr) or 'no answer'}")


def refused_finding(plan: Plan, stderr: str) -> Finding:
    """What sbatch said against a plan, at the field that it is about."""
    given = refusal(stderr, lambda field: field in getattr(plan.config, "model_fields_set", ()))
    return Finding(
        "sbatch-refused", "error", given.message, given.field, *_place(plan, given.field), Fix(given.fix) if given.fix else None
    )


def _place(plan: Plan, field: str | None) -> tuple[int | None, int | None]:
    from automodel_nb.document import Document

    if field is None or not plan.yaml:
        return None, None
    try:
        return Document.parse(plan.yaml).place(field) or (None, None)
    except ValueError:
        return None, None
