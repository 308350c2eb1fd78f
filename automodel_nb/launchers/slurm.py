"""Launch through Slurm's own commands: sbatch, squeue, sacct, scancel."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from automodel_nb import hosts
from automodel_nb.errors import JobError, SubmissionError, UnreachableError
from automodel_nb.findings import Finding, Fix
from automodel_nb.hosts import Completed
from automodel_nb.launchers import slurm_states as states
from automodel_nb.launchers.base import JobRef, Stop, Submission, resolve
from automodel_nb.launchers.interactive import exit_words
from automodel_nb.launchers.slurm_refusals import perhaps_taken, refusal, unreachable
from automodel_nb.paths import JobPaths
from automodel_nb.plan import Plan
from automodel_nb.states import Observation

#: Seconds for sbatch. Slurm's own commands give up after MessageTimeout (10 s, often more on large sites).
SUBMIT_TIMEOUT = 60.0
#: Seconds for a question.
QUERY_TIMEOUT = 20.0


def sbatch_argv(directory: str, chdir: str, *, array: bool = False) -> list[str]:
    """The submission: what differs between two launches of one document is here, not in the script."""
    paths = JobPaths(Path(directory))
    # sbatch replaces %j and the like in the name of the output
    output = str(paths.log.parent).replace("%", "%%") + ("/output.task%a.log" if array else f"/{paths.log.name}")
    return ["sbatch", "--parsable", "--export=ALL", f"--chdir={chdir}", f"--output={output}", str(paths.sbatch)]


class SlurmLauncher:
    """The cluster that this machine's Slurm commands talk to. The scheduler id is Slurm's job id."""

    method = "slurm"

    def __init__(self, submit_timeout: float = SUBMIT_TIMEOUT, query_timeout: float = QUERY_TIMEOUT) -> None:
        self.submit_timeout, self.query_timeout = submit_timeout, query_timeout

    def submit(self, plan: Plan, directory: Path, job_id: str, environ: Mapping[str, str]) -> Submission:
        """See `Launcher.submit`."""
        array = getattr(plan.config, "array", None)
        argv = sbatch_argv(str(directory), plan.chdir, array=array is not None)
        argv[0] = _program("sbatch", environ)  # by path: the job's own PATH may be one for the nodes
        env = resolve(plan.environment, environ, {"AUTOMODEL_JOB_DIR": str(directory)})
        try:
            done = hosts.run(argv, env=env, timeout=self.submit_timeout)
        except UnreachableError as error:
            return self._taken_after_all(str(error), directory)
        except OSError as error:
            raise SubmissionError(f"sbatch cannot be run: {error.strerror}") from None
        if done.returncode and perhaps_taken(done.stderr):
            return self._taken_after_all(_one_line(done.stderr), directory)
        if done.returncode and unreachable(done.stderr):
            raise SubmissionError(f"Slurm does not answer: {_one_line(done.stderr)}")
        if done.returncode:
            raise SubmissionError([_refused(plan, done.stderr)])
        id, cluster, message = parse_submission(done.stdout, done.stderr)
        return Submission(id, cluster, message=message, extra={"array": array} if array else {})

    def poll(self, jobs: Sequence[JobRef]) -> Mapping[str, Observation]:
        """See `Launcher.poll`."""
        answers: dict[str, Observation] = {}
        clusters: dict[str, list[JobRef]] = {}
        for job in jobs:
            clusters.setdefault(job.submission.cluster, []).append(job)
        for cluster, group in clusters.items():
            answers |= self._poll(cluster, group)
        return answers

    def stop(self, job: JobRef, how: Stop) -> None:
        """See `Launcher.stop`. scancel tells all processes to stop and kills them after KillWait; ``kill`` does not wait."""
        where = _of(job.submission.cluster)
        self._ask("scancel", *where, job.submission.scheduler_id)
        if how == "kill":
            self._ask("scancel", *where, "--full", "--signal=KILL", job.submission.scheduler_id)

    def _poll(self, cluster: str, jobs: Sequence[JobRef]) -> dict[str, Observation]:
        answers = self._queued(cluster, jobs, ["-u", str(os.getuid())])
        missing = [job for job in jobs if job.id not in answers]
        if missing:  # another user's, or forgotten: asked for by id, which lets squeue answer that there is none
            ids = ",".join(job.submission.scheduler_id for job in missing)
            answers |= self._queued(cluster, missing, ["-j", ids])
            missing = [job for job in missing if job.id not in answers]
        if missing:
            answers |= self._accounted(cluster, missing)
        for job in missing:
            if job.id not in answers and job.submission.extra.get("array") and (seen := states.array_from_files(job)):
                answers[job.id] = seen
        return answers

    def _queued(self, cluster: str, jobs: Sequence[JobRef], which: list[str]) -> dict[str, Observation]:
        done = self._run("squeue", *_of(cluster), "-h", "-t", "all", "-o", states.SQUEUE_FORMAT, *which)
        if done.returncode and "Invalid job id" in done.stderr:
            return {}
        if done.returncode:
            raise UnreachableError(f"Slurm does not answer: {_one_line(done.stderr)}")
        rows: dict[str, list[states.Row]] = {}
        for row in states.squeue_rows(done.stdout):
            rows.setdefault(row.array, []).append(row)
        answers = {}
        for job in jobs:
            # a cluster that was set up anew counts from 1 again: the script's path says whether it is this job
            own = [row for row in rows.get(job.submission.scheduler_id, []) if row.command in (str(job.paths.sbatch), "(null)")]
            if own:
                answers[job.id] = self._in_more_words(states.observe(job, own), own[0])
        return answers

    def _accounted(self, cluster: str, jobs: Sequence[JobRef]) -> dict[str, Observation]:
        ids = ",".join(job.submission.scheduler_id for job in jobs)
        done = self._run("sacct", *_of(cluster), "-n", "-P", "-j", ids, "-o", states.SACCT_FORMAT)
        if done.returncode:  # accounting is off, or does not answer: the job's own directory tells the rest
            return {}
        return states.sacct_observations(jobs, done.stdout)

    def _in_more_words(self, seen: Observation, row: states.Row) -> Observation:
        """Add what squeue has no column for: a partition's limit, a failed job's exit code where it could not write it."""
        if seen.reason_code == "PartitionTimeLimit":
            done = self._run("sinfo", "-h", "-p", row.partition, "-o", "%l")
            words = (
                f"will not start: the partition {row.partition} allows at most {states.duration(done.stdout.split()[0])}"
                if done.stdout
                else ""
            )
            return _with(seen, reason=words or seen.reason)
        if seen.reason_code == "PartitionNodeLimit":
            done = self._run("scontrol", "show", "partition", row.partition)
            most = re.search(r"MaxNodes=(\d+)", done.stdout) or re.search(r"TotalNodes=(\d+)", done.stdout)
            return (
                _with(seen, reason=f"will not start: the partition {row.partition} allows at most {most[1]} nodes")
                if most
                else seen
            )
        if seen.reason_code == "exit_code" and seen.exit_code is None:
            done = self._run("scontrol", "show", "job", "-o", row.id)
            found = re.search(r" ExitCode=(\d+:\d+)", done.stdout)
            code = states.status(found[1]) if found else None
            return _with(seen, exit_code=code, reason=exit_words(code)) if code else seen
        return seen

    def _taken_after_all(self, why: str, directory: Path) -> Submission:
        """The job of that directory, where Slurm took it although sbatch was not told."""
        script = str(JobPaths(directory).sbatch)
        for pause in (0.5, 2.0, 4.0):
            time.sleep(pause)
            try:
                done = self._run("squeue", "-h", "-t", "all", "-o", states.SQUEUE_FORMAT, "-u", str(os.getuid()))
            except UnreachableError:
                continue
            if done.returncode:
                continue
            if found := next((row for row in states.squeue_rows(done.stdout) if row.command == script), None):
                return Submission(found.array, message=f"Slurm was slow to answer ({why}), and has taken the job")
            break
        raise SubmissionError(f"Slurm does not answer: {why}; the job was not taken")

    def _ask(self, *argv: str) -> None:
        done = self._run(*argv)
        if done.returncode and unreachable(done.stderr):
            raise UnreachableError(f"Slurm does not answer: {_one_line(done.stderr)}")
        if done.returncode and not re.search(r"already completing|already complete|Invalid job id", done.stderr):
            raise JobError(f"Slurm refused: {_one_line(done.stderr)}")

    def _run(self, *argv: str) -> Completed:
        try:
            return hosts.run([_program(argv[0], os.environ), *argv[1:]], env=_query_environment(), timeout=self.query_timeout)
        except OSError as error:
            raise UnreachableError(f"`{argv[0]}` cannot be run: {error.strerror}") from None


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
    raise SubmissionError(f"sbatch gave no job id: {_one_line(stdout + stderr) or 'no answer'}")


def _refused(plan: Plan, stderr: str) -> Finding:
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


def _program(name: str, environ: Mapping[str, str]) -> str:
    return shutil.which(name, path=environ.get("PATH")) or name


def _query_environment() -> dict[str, str]:
    """For questions: times in UTC, and none of the kernel's SLURM_* and SQUEUE_* that would change the answer."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "SLURM_CONF", "LD_LIBRARY_PATH") if name in os.environ}
    return {**kept, "TZ": "UTC", "LC_ALL": "C.UTF-8"}


def _of(cluster: str) -> list[str]:
    return ["-M", cluster] if cluster else []


def _one_line(text: str) -> str:
    lines: Iterable[str] = (re.sub(r"^\w+: (error: )?", "", line).strip() for line in text.splitlines())
    return "; ".join(dict.fromkeys(line for line in lines if line))[:300]


def _with(seen: Observation, **changes: object) -> Observation:
    from dataclasses import replace

    return replace(seen, **changes)  # type: ignore[arg-type]
