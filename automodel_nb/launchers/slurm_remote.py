"""What a Slurm job needs of its login node in one trip each: being placed and submitted, found again, and looked at."""

from __future__ import annotations

import os
import re
import secrets
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from automodel_nb.hosts import Completed, SshHost
from automodel_nb.hosts.ssh import command
from automodel_nb.launchers.base import JobRef

#: sbatch's answer, left in the job's directory: after a broken connection it tells that the job was taken.
SUBMISSION = "submission"
#: There while sbatch is under way.
SUBMITTING = ".submitting"
_OURS = 97  # exit status where not sbatch failed, but what comes before it

# Neither a closed pipe nor the end of the connection stops it half way; what it made it takes back where sbatch refuses.
_PLACE = r"""
trap '' HUP PIPE
u=$(umask)
umask 077
d={directory}
made=
p=${{d%/*}}
while [ -n "$p" ] && [ ! -e "$p" ]; do made="$made
$p"; p=${{p%/*}}; done
unmake() {{ printf '%s\n' "$made" | while IFS= read -r p; do [ -z "$p" ] || rmdir -- "$p"; done 2>/dev/null; }}
undo() {{ rm -rf -- "$d"; unmake; }}
mkdir -p -- "${{d%/*}}" && mkdir -- "$d" || {{ unmake; exit {ours}; }}
{{ {files}
  echo "$(uname -n) $$ $(date +%s)" >"$d/{submitting}"; }} || {{ undo; exit {ours}; }}
( umask "$u" # the job's own, which sbatch takes along
{submit}
) >"$d/.{submission}" 2>"$d/.errors"
code=$?
cat "$d/.errors" >&2
if [ "$code" = 0 ]; then
  mv "$d/.{submission}" "$d/{submission}"
  rm -f "$d/{submitting}" "$d/.errors"
  cat "$d/{submission}"
else
  undo
fi
exit "$code"
"""
# A login node that was switched off leaves the mark: it counts while the process that made it lives, or is another node's.
_UNDER_WAY = r"""
under_way() {{
  read -r node pid since <{submitting} || return
  [ $(($(date +%s) - since)) -lt 300 ] && {{ [ "$node" != "$(uname -n)" ] || kill -0 "$pid"; }}
}} 2>/dev/null
"""
_FIND = (
    _UNDER_WAY
    + r"""
cd {directory} 2>/dev/null || {{ echo absent; exit; }}
n=0
while [ ! -e {submission} ] && under_way && [ $n -lt {seconds} ]; do sleep 1; n=$((n+1)); done
if [ -e {submission} ]; then echo taken; cat {submission}; else echo unclear; fi
"""
)
_MARKS = (
    _UNDER_WAY
    + r"""
for f in started* exit_code* {submission} output.task*.log; do
  [ -f "$f" ] || continue
  l=
  case $f in
    output*) ;;
    {submission}) l=$(tr '\n' '\t' <"$f") ;;
    *) IFS= read -r l <"$f" ;;
  esac
  printf '%s %s\n' "$f" "$l"
done
if under_way; then echo {submitting}; fi
"""
)


def place_and_submit(
    host: SshHost, directory: Path, files: Mapping[str, str], argv: Sequence[str], env: Mapping[str, str], timeout: float
) -> Completed:
    """Make the job's directory (0700), write its files (0600) and run sbatch, in one trip; nothing is left where it fails.

    Raises:
        UnreachableError: the connection broke; whether the job was taken, `find` tells.
        OSError: the directory or a file cannot be written.
    """
    answer = host.sh(placing_script(directory, files, argv, env), timeout=timeout)
    if answer.returncode == _OURS:
        raise OSError(None, answer.stderr.strip().splitlines()[-1] if answer.stderr.strip() else "cannot write", None)
    return Completed(answer.returncode, answer.stdout.decode("utf-8", "replace"), answer.stderr)


def placing_script(directory: Path, files: Mapping[str, str], argv: Sequence[str], env: Mapping[str, str]) -> str:
    """The text for `sh`; pure. Values of `env` are in it, so it goes through standard input and nowhere else."""
    # printf is a builtin: no argument list holds a file's text, and it comes as it is, with or without a last newline
    writes = " && ".join(f'printf %s {shlex.quote(text)} >"$d"/{shlex.quote(name)}' for name, text in files.items())
    return _PLACE.format(
        directory=shlex.quote(str(directory)),
        files=f"{writes} &&",
        submit=command(argv, env),
        submission=SUBMISSION,
        submitting=SUBMITTING,
        ours=_OURS,
    )


def find(host: SshHost, directory: Path, seconds: int) -> tuple[str, str]:
    """After a connection that broke: (``absent``, ``taken`` or ``unclear``; sbatch's answer where it was taken).

    Args:
        host: the login node.
        directory: the job's.
        seconds: how long to wait for a sbatch that is still under way.

    Raises:
        UnreachableError: it still does not answer.
    """
    script = _FIND.format(directory=shlex.quote(str(directory)), submission=SUBMISSION, submitting=SUBMITTING, seconds=seconds)
    word, _, answer = host.sh(script, timeout=seconds + 20).stdout.decode("utf-8", "replace").partition("\n")
    return word, answer


def remove(host: SshHost, directory: Path) -> None:
    """Take a directory back that no job was submitted from."""
    host.sh(f"rm -rf -- {shlex.quote(str(directory))}")


def look(host: SshHost, jobs: Sequence[JobRef]) -> dict[str, frozenset[str]]:
    """Copy the marks that attempts left (`started`, `exit_code`, sbatch's answer) here, for all jobs in one trip.

    Returns:
        By job, the names that are there; without the jobs whose directory is not.

    Raises:
        UnreachableError: the host does not answer.
    """
    nonce = secrets.token_hex(8)
    marks = _MARKS.format(submission=SUBMISSION, submitting=SUBMITTING)
    script = f"look() {{ {marks}\n}}\n" + "\n".join(
        f"(cd {shlex.quote(str(job.directory))} 2>/dev/null && echo '{nonce} {job.id}' && look)" for job in jobs
    )
    text = host.sh(script, timeout=20).stdout.decode("utf-8", "replace")
    seen: dict[str, frozenset[str]] = {}
    known = {job.id: job for job in jobs}
    for part in text.split(f"{nonce} ")[1:]:
        id, *lines = part.splitlines()
        pairs = [line.partition(" ")[::2] for line in lines if line]
        seen[id] = frozenset(name for name, _ in pairs)
        for name, content in pairs:
            if re.fullmatch(r"(started|exit_code|output\.task|submission)[\w.]*", name):
                _copy(known[id].here.root / name, content.replace("\t", "\n"), only_make=name.startswith("output"))
    return seen


def answer_of(job: JobRef) -> str:
    """The answer of sbatch, as last copied from the job's directory; empty where there is none."""
    try:
        return (job.here.root / SUBMISSION).read_text(encoding="utf-8")
    except OSError:
        return ""


def _copy(path: Path, text: str, *, only_make: bool) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if only_make:
        path.touch(mode=0o600)
        return
    try:
        if path.read_text(encoding="utf-8") == text:
            return
    except OSError:
        pass
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)
