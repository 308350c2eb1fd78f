"""The launcher on a real SkyPilot: what arrives on the nodes, cancel, down, broken-off launches, refusals."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.automodel.real import losses
from tests.skypilot.conftest import SECRET
from tests.skypilot.kernel import Kernel, until
from tests.skypilot.lab import SkyLab
from tests.skypilot.recipes import automodel_cell

pytestmark = [pytest.mark.skypilot, pytest.mark.timeout(300)]

# typed by hand, so that nothing but the launch itself is between it and the node
VALUES = {
    "MSG": "it's $HOME; echo pwned `date`",
    "PATTERN": 'a b"c',
    "EMPTY": "",
    "YES": "yes",
    "NUM": "0123",
    "E": "1e-5",
}
SHOWS = "python3 -c 'import os; print(repr([os.environ.get(n) for n in \"MSG PATTERN EMPTY YES NUM E\".split()]))'"


#: The plan of a resume of `b`, were its checkpoints in a bucket (a cluster of this lab can mount none).
BUCKET = """
import automodel_nb.job.resuming as resuming
from dataclasses import replace
text = b.yaml.replace({places!r}, "/saved/run").replace("skypilot:", "skypilot:\\n  file_mounts: {{/saved: s3://bucket}}", 1)
bucket = replace(b.record, yaml=text, request=replace(b.record.request, text=text), checkpoint_dir="/saved/run")
submit, resuming.submit = resuming.submit, lambda plan, store, **options: print(plan.command, *plan.errors)
resuming.resume(bucket, None, {{}})
resuming.submit = submit
"""


def cell(name: str, command: str, **fields: object) -> str:
    section = {"job_name": name, "infra": "slurm/lab", "accelerators": "H100:1", "setup": "echo setting up", **fields}
    return yaml.safe_dump({"skypilot": {**section, "command": command}}, sort_keys=False)


@pytest.mark.timeout(480)
def test_values_arrive_a_cancelled_job_is_resumed_and_clusters_end(
    sky_lab: SkyLab, kernel: Kernel, work: Path, tiny: Path
) -> None:
    failing = cell("failing", f"{SHOWS}; echo token $HF_TOKEN; exit 3", env_vars={**VALUES, "HF_TOKEN": "${MY_TOKEN}"})
    fields, places = "  job_name: trained\n  autostop_minutes: 30\n", sky_lab.root / "shared/resumed"
    training = automodel_cell(tiny, fields, gpus=1, checkpoint_dir=places, max_steps=40, ckpt_every_steps=4, sleep=2)
    ran = kernel.run(f"a = am.launch({failing!r}); b = am.launch({training!r})\nprint(a.state, b.state)", 60)
    assert ran.text.split() == ["PENDING", "PENDING"], ran.text + ran.traceback

    ended = kernel.run("print(a.wait(200), '|', a.reason, '|', a.exit_code)", 210)
    assert ended.text.strip() == "FAILED | exit code 3 | 3", ended.text + ended.traceback
    said = kernel.run("print(a.log())").text
    assert repr(list(VALUES.values())) in said
    assert "setting up" in said
    assert "token ***" in said  # it arrived, and is masked

    # no value of a secret in anything of ours: files, records, the plan, the command
    written = [path for path in work.rglob("*") if path.is_file() and path.name != "output.log"]
    assert {path.name for path in written} == {"recipe.yaml", "task.yaml"}
    assert not [path for path in written if SECRET in path.read_text()]
    assert SECRET not in kernel.run("print(a.record)").text

    # the other one trains, at a price that is shown; it stops when it is told to
    until(lambda: kernel.run("print(b.state, b.checkpoint)").text.split()[1] != "None", 150, "checkpoint")
    shown = kernel.run("%automodel_attach trained")
    assert "2.50 $ an hour" in shown.shown, shown
    kernel.run("%automodel_cancel trained", 60)
    assert kernel.run("print(b.wait(60), b.reason)", 70).text.strip() == "CANCELLED cancelled"

    # both clusters are up without a job: the list, the card and its button say so
    listed = kernel.run("%automodel_jobs").shown
    said = kernel.run("print(a.id, a.cluster, b.id, b.cluster)").text
    first, its_cluster, second, other_cluster = said.split()
    for job, cluster, minutes in ((first, its_cluster, 10), (second, other_cluster, 30)):
        assert f"Cluster {cluster} is up with no job on it: 2.50 $ an hour, " in listed
        assert f"removed after {minutes} idle minutes. It is taken down by %automodel_cancel {job} --down" in listed
    button = kernel.run("from automodel_nb.widgets.deeds import down_action, down_words\nprint(down_action(b))").text
    assert f"Remove {other_cluster} and all that is on its disks?" in button

    # what was on the disks of a cluster cannot be gone on from; what is in a bucket AutoModel finds there by itself
    refused = kernel.run("a.resume()").error
    assert refused.startswith(f"{first} kept its checkpoints on its cluster's own disks, so that there is nothing to go on")
    command = kernel.run(BUCKET.format(places=str(places))).text
    assert "nemo_automodel" in command
    assert "restore_from" not in command

    # it goes on from its checkpoint, on a cluster of its own
    last = int(kernel.run("print(b.checkpoint.name)").text.rpartition("_")[2])
    ran = kernel.run(f"r = b.resume({{'step_scheduler.max_steps': '{last + 5}'}}); print(r.cluster)", 60)
    assert ran.text.strip() not in ("", other_cluster), ran.traceback
    down = kernel.run(f"%automodel_cancel {first} --down", 120)
    assert "Its cluster is still up" not in down.shown, down.traceback
    assert kernel.run("print(down_words(b))", 120).text.strip() == f"The cluster {other_cluster} is taken down."
    assert kernel.run("b.down()", 60).error == ""  # again: nothing is left to do
    ended = kernel.run("print(r.wait(200), r.reason)\nlog = r.log()\nr.down()\nprint(log)", 300)
    assert ended.text.startswith("COMPLETED"), ended.text + ended.traceback
    assert "Loading checkpoint from" in ended.text
    assert [step for step, _ in losses(ended.text)] == list(range(last + 1, last + 5))
    assert sky_lab.slurm("squeue", "-h", check=True) == ""
    unseen = "from automodel_nb.launchers import launcher\nprint(launcher('skypilot').poll([r.record.ref()])[r.id].reason)"
    assert " is gone (taken down, or removed when it was idle), and with it how the job ended" in kernel.run(unseen).text
    assert "is up" not in kernel.run("%automodel_jobs").shown


def test_launches_are_taken_back_before_their_clusters_are_up(sky_lab: SkyLab, kernel: Kernel, work: Path) -> None:
    # the stop button, while the launch is sent
    pressed = (
        "import sky, _thread, time\n"
        "real = sky.launch\n"
        "def slow(*args, **options):\n"
        "    request = real(*args, **options); _thread.interrupt_main(); time.sleep(2); return request\n"
        "sky.launch = slow\n"
        "try: am.launch(" + repr(cell("pressed", "sleep 600")) + ")\n"
        "finally: sky.launch = real\n"
    )
    ran = kernel.run(pressed, 90)
    assert "the launch was interrupted; it is cancelled, and what there is of pressed-" in ran.error
    assert "!sky status" in ran.error
    assert kernel.run("print(am.jobs())").text.strip() == "[]"
    assert not list(work.glob("automodel_jobs/*"))

    # one that is sent, and cancelled while its cluster comes up
    ran = kernel.run(f"job = am.launch({cell('early', 'sleep 600')!r})\nprint(job.cluster)", 60)
    assert ran.error == "", ran.traceback
    until(lambda: "early" in sky_lab.slurm("squeue", "-h", "-o", "%j", check=True), 90, "allocation")
    cancelled = kernel.run("job.down(); print(job.wait(60), job.reason)", 120)
    assert cancelled.text.strip() == "CANCELLED the launch was cancelled", cancelled.traceback
    kernel.run("from automodel_nb.launchers.skypilot_clusters import clusters")
    until(lambda: kernel.run("print(clusters())").text.strip() == "[]", 90, "end of the clusters")
    until(lambda: not sky_lab.slurm("squeue", "-h", check=True), 60, "end of the allocations")


def test_what_is_refused_is_one_line(kernel: Kernel) -> None:
    refused = {
        "many": (cell("many", "true", accelerators="A100:1"), "no enabled cloud offers 1 x A100:1 on Slurm"),
        "unknown": (
            cell("unknown", "true", infra="lambda"),
            "SkyPilot has no access to lambda (see what is missing with `!sky check lambda`)",
        ),
        # a mock of AWS, which gives no machine
        "aws": (
            cell("aws", "true", infra="aws/us-east-1", accelerators="H100:8"),
            "1 x H100:8 on AWS could not be provisioned: AWS (us-east-1) said: ",
        ),
    }
    for name, (document, _) in refused.items():  # all at once
        kernel.run(f"try: {name} = am.launch({document!r})\nexcept am.LaunchError as error: {name} = str(error)", 60)
    assert kernel.run("print(aws.record.submission.extra['hourly'])").text.strip() == "55.04"
    for name, (_, said) in refused.items():
        ran = kernel.run(f"print({name} if isinstance({name}, str) else ({name}.wait(150).value, {name}.reason))", 180)
        assert said in ran.text, ran.text + ran.traceback
        assert "x1b" not in ran.text
        assert "Traceback" not in ran.text
        assert len(ran.text.strip().splitlines()) <= 2
    assert kernel.run("from automodel_nb.launchers.skypilot_clusters import clusters\nprint(clusters())").text.strip() == "[]"


def test_task_yaml_is_sky_pilots_own(sky_lab: SkyLab, kernel: Kernel, work: Path) -> None:
    document = cell("by_hand", "true", num_nodes=2, env_vars={"HF_TOKEN": "${MY_TOKEN}", "A": "1"})
    kernel.run(f"plan = am.preview({document!r})\nfor name, text in plan.files.items(): open(name, 'w').write(text)")
    said = sky_lab.sky("launch", "--dryrun", "-y", "--secret", f"HF_TOKEN={SECRET}", "task.yaml", cwd=work)
    assert "H100:1" in said
    assert "Slurm (lab)" in said
    missing = sky_lab.sky("launch", "--dryrun", "-y", "task.yaml", cwd=work, check=False)
    assert "HF_TOKEN" in missing


def test_a_server_that_goes_away_changes_no_state(kernel_env: dict[str, str], work: Path) -> None:
    kernel = Kernel({**kernel_env, "SKYPILOT_API_SERVER_ENDPOINT": "http://127.0.0.1:9"}, work)
    try:
        ran = kernel.run(f"import automodel_nb as am\nam.launch({cell('none', 'true')!r})", 60)
        assert "the SkyPilot API server at http://127.0.0.1:9 does not answer" in ran.error
        assert "Nothing was launched." in ran.error
        ran = kernel.run(
            "from automodel_nb.launchers import JobRef, Submission, launcher\nfrom pathlib import Path\n"
            "submission = Submission('x', cluster='x', extra={'request': 'r'})\n"
            "launcher('skypilot').poll([JobRef('abcdefgh', Path('.'), submission, 0.0)])"
        )
        assert ran.traceback.splitlines()[0].startswith("UnreachableError: the SkyPilot API server at http://127.0.0.1:9")
    finally:
        kernel.kill()


def test_no_server_is_started_unasked(tmp_path: Path) -> None:
    with SkyLab(server=False) as lab:
        work = lab.work
        kernel = Kernel({**lab.env, "AUTOMODEL_NB_HOME": str(tmp_path)}, work)
        try:
            ran = kernel.run(f"import automodel_nb as am\nam.launch({cell('none', 'true')!r})", 60)
            assert "start it with `!sky api start`" in ran.error
            assert not lab.listens("api")
            assert not list(work.iterdir())
        finally:
            kernel.kill()
