"""Questions to one Slurm cluster, from this machine or through its login node: squeue, sacct, scancel."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from automodel_nb.errors import JobError, UnreachableError
from automodel_nb.hosts import LOCAL, Completed, Host
from automodel_nb.launchers import slurm_states as states
from automodel_nb.launchers.base import JobRef
from automodel_nb.launchers.interactive import exit_words
from automodel_nb.launchers.slurm_refusals import unreachable
from automodel_nb.states import Observation


@dataclass(frozen=True, slots=True)
class Cluster:
    """One cluster.

    Attributes:
        host: where Slurm's commands are run.
        name: of the cluster; empty for the one that the commands there talk to by themselves.
        timeout: seconds for each question.
    """

    host: Host
    name: str
    timeout: float

    def observe(self, jobs: Sequence[JobRef]) -> dict[str, Observation]:
        """Where jobs stand, by id; without those that Slurm has forgotten.

        Raises:
            UnreachableError: no answer.
        """
        # each job of a chain is asked about as if it were alone
        each = {job.id: [_link(job, id) for id in links(job)] or [job] for job in jobs}
        answers = self._observe([one for group in each.values() for one in group])
        found = {}
        for job in jobs:
            if len(each[job.id]) == 1:
                seen = answers.get(job.id)
            else:
                seen = states.chain(job, {one.submission.scheduler_id: answers.get(one.id) for one in each[job.id]})
            if seen:
                found[job.id] = seen
        return found

    def _observe(self, jobs: Sequence[JobRef]) -> dict[str, Observation]:
        answers = self._queued(jobs, ["-u", str(self.host.uid)])
        missing = [job for job in jobs if job.id not in answers]
        if missing:  # another user's, or forgotten: asked for by id, which lets squeue answer that there is none
            ids = ",".join(job.submission.scheduler_id for job in missing)
            answers |= self._queued(missing, ["-j", ids])
            missing = [job for job in missing if job.id not in answers]
        if missing:
            answers |= self._accounted(missing)
        for job in missing:
            if job.id not in answers and job.submission.extra.get("array") and (seen := states.array_from_files(job)):
                answers[job.id] = seen
        return answers

    def find(self, script: str) -> str | None:
        """Id of the job that was submitted from a script of that path; None where there is none.

        Raises:
            UnreachableError: no answer.
        """
        rows = self._rows(["-u", str(self.host.uid)])
        return next((row.array for row in rows if row.command == script), None)

    def cancel(self, *job_ids: str, options: Sequence[str] = ()) -> None:
        """Have jobs stopped. Raises JobError where Slurm refuses, UnreachableError where it does not answer."""
        done = self._run("scancel", *self._which, *options, *job_ids)
        if done.returncode and unreachable(done.stderr):
            raise UnreachableError(f"Slurm does not answer: {one_line(done.stderr)}")
        if done.returncode and not re.search(r"already completing|already complete|Invalid job id", done.stderr):
            raise JobError(f"Slurm refused: {one_line(done.stderr)}")

    @property
    def _which(self) -> list[str]:
        return ["-M", self.name] if self.name else []

    def _rows(self, which: list[str]) -> list[states.Row]:
        done = self._run("squeue", *self._which, "-h", "-t", "all", "-o", states.SQUEUE_FORMAT, *which)
        if done.returncode and "Invalid job id" in done.stderr:
            return []
        if done.returncode:
            raise UnreachableError(f"Slurm does not answer: {one_line(done.stderr)}")
        return list(states.squeue_rows(done.stdout))

    def _queued(self, jobs: Sequence[JobRef], which: list[str]) -> dict[str, Observation]:
        rows: dict[str, list[states.Row]] = {}
        for row in self._rows(which):
            rows.setdefault(row.array, []).append(row)
        answers = {}
        for job in jobs:
            # a cluster that was set up anew counts from 1 again: the script's path says whether it is this job
            own = [row for row in rows.get(job.submission.scheduler_id, []) if row.command in (str(job.paths.sbatch), "(null)")]
            if own:
                answers[job.id] = self._in_more_words(states.observe(job, own), own[0])
        return answers

    def _accounted(self, jobs: Sequence[JobRef]) -> dict[str, Observation]:
        ids = ",".join(job.submission.scheduler_id for job in jobs)
        done = self._run("sacct", *self._which, "-n", "-P", "-j", ids, "-o", states.SACCT_FORMAT)
        if done.returncode:  # accounting is off, or does not answer: the job's own directory tells the rest
            return {}
        return states.sacct_observations(jobs, done.stdout)

    def _in_more_words(self, seen: Observation, row: states.Row) -> Observation:
        """Add what squeue has no column for: a partition's limit, a failed job's exit code where it could not write it."""
        if seen.reason_code == "PartitionTimeLimit":
            done = self._run("sinfo", "-h", "-p", row.partition, "-o", "%l")
            if done.stdout:
                most = states.duration(done.stdout.split()[0])
                return replace(seen, reason=f"will not start: the partition {row.partition} allows at most {most}")
        elif seen.reason_code == "PartitionNodeLimit":
            done = self._run("scontrol", "show", "partition", row.partition)
            if found := re.search(r"MaxNodes=(\d+)", done.stdout) or re.search(r"TotalNodes=(\d+)", done.stdout):
                return replace(seen, reason=f"will not start: the partition {row.partition} allows at most {found[1]} nodes")
        elif seen.reason_code == "exit_code" and seen.exit_code is None:
            done = self._run("scontrol", "show", "job", "-o", row.id)
            found = re.search(r" ExitCode=(\d+:\d+)", done.stdout)
            if code := states.status(found[1]) if found else None:
                return replace(seen, exit_code=code, reason=exit_words(code))
        return seen

    def _run(self, *argv: str) -> Completed:
        name = program(argv[0], os.environ) if self.host is LOCAL else argv[0]
        try:
            return self.host.run([name, *argv[1:]], env=_environment(self.host.environ), timeout=self.timeout)
        except OSError as error:
            where = f" on {self.host.name}" if self.host.name else ""
            raise UnreachableError(f"`{argv[0]}` cannot be run{where}: {error.strerror}") from None


def links(job: JobRef) -> list[str]:
    """The ids of a chain's jobs in their order; empty where the job is no chain."""
    given = job.submission.extra.get("chain")
    return given.split(",") if isinstance(given, str) else []


def _link(job: JobRef, id: str) -> JobRef:
    return replace(job, id=f"{job.id}/{id}", submission=replace(job.submission, scheduler_id=id, extra={}))


def program(name: str, environ: Mapping[str, str]) -> str:
    """A program's path on this machine, by the PATH of an environment; its name where it is not there."""
    return shutil.which(name, path=environ.get("PATH")) or name


def one_line(text: str) -> str:
    """What a Slurm command said, without its own name, in one line."""
    lines = (re.sub(r"^\w+: (error: )?", "", line).strip() for line in text.splitlines())
    return "; ".join(dict.fromkeys(line for line in lines if line))[:300]


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """For questions: times in UTC, and none of the SLURM_* and SQUEUE_* variables that would change the answer."""
    kept = {name: environ[name] for name in ("PATH", "HOME", "SLURM_CONF", "LD_LIBRARY_PATH") if name in environ}
    return {**kept, "TZ": "UTC", "LC_ALL": "C.UTF-8"}
