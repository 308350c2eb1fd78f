"""`job.diagnosis()` and what the card makes of it, with real processes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import automodel_nb as am
from automodel_nb.api import failure
from automodel_nb.job.diagnosing import setting_of
from automodel_nb.showing import card_data, how_to_fix
from automodel_nb.watching.diagnosis import Diagnosis

LOGS = Path(__file__).parents[1] / "data/logs"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOMODEL_NB_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def ran(command: str, more: str = "", recipe: str = "") -> am.Job:
    text = f"interactive:\n  device: cpu\n{more}  command: |\n" + "".join(f"    {line}\n" for line in command.splitlines())
    job = am.launch(text + recipe)
    job.wait(20)
    return job


def told(job: am.Job) -> Diagnosis:
    found = job.diagnosis()
    assert found is not None
    return found


def test_a_job_that_ends_well_or_still_runs_has_none() -> None:
    assert ran("true").diagnosis() is None
    job = am.launch("interactive: {device: cpu, command: sleep 20}\n")
    assert job.diagnosis() is None
    job.cancel()
    job.wait(20)
    assert told(job).code in ("cancelled", "unknown")


def test_exit_codes_of_real_processes() -> None:
    assert told(ran("no-such-command")).code == "command-missing"
    assert told(ran("kill -SEGV $$")).code == "crash"
    assert told(ran("kill -KILL $$")).code == "killed"
    assert told(ran("python3 -c 'import no_such_module'")).code == "missing-module"
    assert told(ran("python3 -m no_such_module")).code == "missing-module"
    silent = told(ran("exit 3"))
    assert (silent.code, silent.evidence) == ("unknown", "")
    assert "exit code 3" in silent.cause


def test_a_secret_in_the_evidence_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "s3cret-value-of-mine")
    job = ran("python3 -c 'import os; raise ValueError(os.environ[\"MY_TOKEN\"])'", '  env_vars: {MY_TOKEN: "${MY_TOKEN}"}\n')
    assert "ValueError" in told(job).evidence
    for text in (repr(told(job)), failure(job), repr(card_data(job).failure)):
        assert "s3cret" not in text


def test_the_card_has_it_on_top_with_the_command_that_goes_on() -> None:
    recipe = "step_scheduler: {global_batch_size: 32, local_batch_size: 8}\n"
    job = ran(f"cat {LOGS}/oom_rank1.log; exit 1", recipe=recipe)
    found, card = told(job), card_data(job)
    assert (found.rank, found.line, dict(found.change)) == (1, 195, {"step_scheduler.local_batch_size": "4"})
    assert card.failure is not None
    assert card.failure.where == f"rank 1 on {os.uname().nodename}, line 195 of the log"
    assert card.failure.evidence == [found.evidence]
    # without a checkpoint there is nothing to resume, but the same document can be launched again
    assert card.failure.fix.endswith(f"`%%automodel_launch --from {job.id} --set step_scheduler.local_batch_size=4`")
    assert how_to_fix(job, found) == card.failure.fix
    with pytest.raises(
        am.JobFailedError, match=r"The GPU ran out of memory\. torch.OutOfMemoryError: CUDA out of memory.*line 195, rank 1"
    ):
        raise am.JobFailedError(failure(job))


def test_what_a_document_says_of_its_job() -> None:
    job = ran("true", "  nproc_per_node: 3\n", "step_scheduler: {local_batch_size: 2}\n")
    setting = setting_of(job.record)
    assert (setting.workers_per_node, setting.method) == (3, "interactive")
    assert setting.recipe["step_scheduler"]["local_batch_size"] == 2
