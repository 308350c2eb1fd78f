"""Defaults out of TOML files: which wins, where a value came from, and what a typo in them says."""

from __future__ import annotations

from pathlib import Path

import pytest

import automodel_nb as am
from automodel_nb import profiles
from automodel_nb.errors import LaunchError
from automodel_nb.job.session import session

RECIPE = "recipe: TrainFinetuneRecipeForNextTokenPrediction\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Paths of the site's, the user's and the project's file, none of them there yet; the notebook lies in a subdirectory."""
    notebook = tmp_path / "project" / "notebooks"
    notebook.mkdir(parents=True)
    (tmp_path / "state").mkdir()
    monkeypatch.chdir(notebook)
    monkeypatch.setenv("AUTOMODEL_NB_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(profiles, "SITE", tmp_path / "site.toml")
    return {
        "site": tmp_path / "site.toml",
        "user": tmp_path / "state" / "config.toml",
        "project": tmp_path / "project" / "automodel_nb.toml",
        "pyproject": tmp_path / "project" / "pyproject.toml",
    }


def slurm(text: str = "slurm:\n  time: '10'\n", **options: str) -> am.Plan:
    return am.preview(text + RECIPE, **options)  # type: ignore[arg-type]


def test_the_nearer_file_wins_field_by_field_and_says_so(files: dict[str, Path]) -> None:
    files["site"].write_text('[slurm]\npartition = "site"\naccount = "site"\nqos = "site"\nnodes = 2\n')
    files["user"].write_text('[slurm]\naccount = "user"\nqos = "user"\n')
    files["project"].write_text('[slurm]\nqos = "project"\n')
    plan = slurm("slurm:\n  nodes: 3\n")
    script = plan.files["launch.sbatch"]
    assert "--partition=site\n" in script
    assert "--account=user\n" in script
    assert "--qos=project\n" in script
    assert "--nodes=3\n" in script
    assert plan.origins == {
        "slurm.partition": str(files["site"]),
        "slurm.account": str(files["user"]),
        "slurm.qos": str(files["project"]),
    }


def test_a_named_profile_goes_over_the_plain_defaults(files: dict[str, Path]) -> None:
    files["site"].write_text("[profiles.big.slurm]\nnodes = 8\n[profiles.small.slurm]\nnodes = 1\n")
    files["project"].write_text("[slurm]\nnodes = 2\n")
    plan = slurm(profile="big")
    assert "--nodes=8\n" in plan.files["launch.sbatch"]
    assert plan.origins == {"slurm.nodes": f"{files['site']}, profile big"}
    assert profiles.names(Path.cwd()) == ["big", "small"]
    with pytest.raises(LaunchError, match=r"no profile 'bigg'.*there is big"):
        slurm(profile="bigg")


def test_pyproject_holds_the_projects_defaults(files: dict[str, Path]) -> None:
    files["pyproject"].write_text('[project]\nname = "x"\n[tool.automodel_nb.slurm]\ntime = 04:00:00\nexclusive = true\n')
    script = slurm("slurm: {}\n").files["launch.sbatch"]
    assert "--time=04:00:00\n" in script
    assert "--exclusive\n" in script


def test_a_pyproject_that_only_mentions_us_is_passed_over(files: dict[str, Path]) -> None:
    files["pyproject"].write_text('# [tool.automodel_nb]\n[project]\nname = "x"\n')
    assert slurm().origins == {}


def test_variables_come_together_one_by_one(files: dict[str, Path]) -> None:
    files["site"].write_text('[slurm.env_vars]\nNCCL_IB_HCA = "mlx5"\nMODE = "site"\n')
    plan = slurm("slurm:\n  env_vars:\n    MODE: cell\n    MINE: yes\n")
    assert {name: plan.environment[name] for name in ("NCCL_IB_HCA", "MODE", "MINE")} == {
        "NCCL_IB_HCA": "mlx5",
        "MODE": "cell",
        "MINE": "yes",
    }
    assert plan.origins == {"slurm.env_vars.NCCL_IB_HCA": str(files["site"])}


def test_an_empty_value_in_the_cell_lifts_a_default(files: dict[str, Path]) -> None:
    files["site"].write_text('[slurm]\nqos = "high"\n')
    assert "--qos" not in slurm("slurm:\n  qos:\n").files["launch.sbatch"]


def test_a_bad_value_is_told_with_its_file(files: dict[str, Path]) -> None:
    files["user"].write_text("[slurm]\nnodes = 0\n")
    with pytest.raises(LaunchError) as caught:
        slurm()
    (finding,) = caught.value.findings
    assert finding.field == "slurm.nodes"
    assert f"(from {files['user']})" in finding.message


def test_a_site_says_how_often_its_scheduler_is_asked(files: dict[str, Path]) -> None:
    files["site"].write_text("[poll]\nslurm = 30\n")
    files["user"].write_text("[poll]\nskypilot = 7.5\n")
    assert profiles.floors(Path.cwd()) == {"slurm": 30, "skypilot": 7.5}
    tracker = session().tracker
    assert (tracker.floor["slurm"], tracker.interval("slurm"), tracker.floor["skypilot"]) == (30, 30, 7.5)
    files["site"].write_text("[poll]\nslurm = 0\n")
    with pytest.raises(LaunchError, match=r"\[poll\] slurm = 0 is no pause \(write seconds, such as `slurm = 30`\)"):
        profiles.floors(Path.cwd())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[slurm]\nnodes = \n", "cannot be read"),
        ("[slrum]\nnodes = 1\n", r"\[slrum\] is no table that is read \(did you mean \[slurm\]\?\)"),
        ("[profiles.big.slrum]\nnodes = 1\n", r"did you mean \[profiles.big.slurm\]\?"),
        ("slurm = 3\n", "slurm is no table"),
    ],
)
def test_a_typo_in_a_file_is_told(files: dict[str, Path], text: str, says: str) -> None:
    files["site"].write_text(text)
    with pytest.raises(LaunchError, match=says):
        slurm()
