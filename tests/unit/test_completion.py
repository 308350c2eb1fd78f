"""What Tab proposes: at the right level, in IPython's own completer with and without Jedi, and nothing ever raises."""

from __future__ import annotations

import atexit
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automodel_nb.editing.completion import Proposal, complete
from automodel_nb.widgets import completer

from .yaml_strategies import documents

OPTIONS = {"automodel_launch": ["-c", "--config", "--set", "--profile", "--wait", "--dry-run"]}
ENVIRON = {"HF_TOKEN": "not-shown", "PATH": "/bin"}


def at_bar(text: str) -> tuple[str, int, int]:
    """The text without its ``|``, and the row and column where that stood."""
    before, _, after = text.partition("|")
    return before + after, before.count("\n"), len(before) - before.rfind("\n") - 1


def proposed(text: str) -> list[str]:
    found = complete(*at_bar(text), OPTIONS, ENVIRON)
    assert found is not None
    return list(found.texts)


CELL = "%%automodel_launch slurm\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%%automodel_launch sl|", ["slurm"]),
        ("%%automodel_launch slurm --pro|", ["--profile"]),
        ("%%automodel_launch slurm s|", []),
        ("%%automodel_launch --set slurm.nodes|", ["slurm.nodes="]),
        ("%automodel_new sky|", ["skypilot"]),
        (CELL + "|", ["slurm:"]),
        ("%%automodel_launch\n|", ["interactive:", "slurm:", "skypilot:"]),
        ("%%automodel_launch\nslurm:\n  nodes: 1\ns|", []),
        (CELL + "slurm:\n  no|", ["nodes: ", "nodelist: "]),
        (CELL + "slurm:\n  no|\n  nodes: 2\n", ["nodelist: "]),
        (CELL + "slurm:\n  node|: 2\n", ["nodes", "nodelist"]),
        (CELL + "slurm:\n  env|", ["env_vars:"]),
        (CELL + "slurm:\n  env_vars:\n    A: 1\n  acc|", ["account: "]),
        (CELL + "slurm: {nodes: 2, nt|}", ["ntasks_per_node: "]),
        (CELL + "slurm: {env_vars: {A: '}'}, nt|", ["ntasks_per_node: "]),
        (CELL + "slurm:\n  gpu_request: g|", ["gpus-per-node", "gres"]),
        (CELL + "slurm:\n  requeue: |", ["true", "false"]),
        (CELL + "slurm:\n  time: |", ['"00:30:00"', '"04:00:00"', '"1-00:00:00"']),
        (CELL + 'slurm:\n  time: "04|"', ["04:00:00"]),
        ("%%automodel_launch\nskypilot:\n  cloud: aw|", ["aws"]),
        (CELL + "slurm:\n  env_vars:\n    HF_T|", ["HF_TOKEN: "]),
        (CELL + "slurm:\n  env_vars:\n    X: |", ['"${HF_TOKEN}"']),
        (CELL + 'slurm:\n  env_vars:\n    X: "${H|', ["${HF_TOKEN}"]),
        (CELL + "slurm:\n  extra_mounts:\n    - so|", ["source: "]),
        (CELL + "slurm:\n  extra_mounts:\n  - source: /a\n    |", ["dest: ", "read_only: "]),
        (CELL + "slurm:\n  fault_tolerance:\n    max|", ["max_restarts: "]),
        (CELL + "slurm:\n  nodes: 2  # no|", []),
        (CELL + "model:\n  no|", []),
    ],
)
def test_each_place(text: str, expected: list[str]) -> None:
    assert proposed(text) == expected


@pytest.mark.parametrize(
    "text", ["nod|", "%%bash\nslurm:\n  no|", "%automodel_la|", "x = 1\n%automodel_launch slurm\nslurm:\n  no|"]
)
def test_what_is_not_ours_is_left_to_others(text: str) -> None:
    assert complete(*at_bar(text), OPTIONS, ENVIRON) is None


def test_profiles_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "automodel_nb.toml").write_text("[profiles.big.slurm]\nnodes = 8\n")
    assert "big" in proposed("%%automodel_launch --profile b|")
    (tmp_path / "automodel_nb.toml").write_text("[profiles.big")
    assert proposed("%%automodel_launch --profile b|") == []


@settings(max_examples=150, deadline=None)
@given(documents(), st.data())
def test_any_cursor_in_any_text(text: str, data: st.DataObject) -> None:
    cell = CELL + text[: data.draw(st.integers(0, len(text)))]
    row = data.draw(st.integers(0, cell.count("\n")))
    column = data.draw(st.integers(0, len(cell.split("\n")[row])))
    found = complete(cell, row, column, OPTIONS, ENVIRON)
    assert found is None or cell.split("\n")[row][:column].endswith(found.fragment)


@pytest.fixture
def shell() -> Iterator[Any]:
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    made = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    atexit.unregister(made.atexit_operations)
    made.extension_manager.load_extension("automodel_nb")
    yield made
    made.restore_sys_module_state()


def tab(shell: Any, text: str) -> list[str]:
    from IPython.core.completer import provisionalcompleter

    cell, _, _ = at_bar(text)
    with provisionalcompleter():
        return [completion.text for completion in shell.Completer.completions(cell, text.index("|"))]


@pytest.mark.parametrize("jedi", [True, False])
def test_in_ipythons_own_completer(shell: Any, jedi: bool) -> None:
    shell.Completer.use_jedi = jedi
    assert tab(shell, CELL + "slurm:\n  no|") == ["nodes: ", "nodelist: "]
    assert tab(shell, CELL + "slurm:\n  gpu_request: g|") == ["gpus-per-node", "gres"]
    assert tab(shell, "%automodel_new s|") == ["slurm", "skypilot"]
    assert "print" in tab(shell, "x = 1\npri|")
    shell.extension_manager.reload_extension("automodel_nb")
    assert tab(shell, CELL + "slurm:\n  no|") == ["nodes: ", "nodelist: "]


def test_in_a_real_terminal(tmp_path: Path) -> None:
    import pexpect  # type: ignore[import-untyped]  # which IPython itself needs

    environ = {"HOME": str(tmp_path), "IPYTHONDIR": str(tmp_path), "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
    terminal = pexpect.spawn(
        sys.executable,
        ["-m", "IPython", "--no-banner", "--colors=nocolor"],
        env=environ,
        encoding="utf-8",
        dimensions=(40, 100),
    )
    try:
        terminal.expect(r"In \[1\]", timeout=30)
        terminal.send("%load_ext automodel_nb\r")
        terminal.expect(r"In \[2\]", timeout=30)
        terminal.send("%%automodel_launch sl\t")
        terminal.expect("urm", timeout=30)  # a terminal draws what is new
        terminal.send("\rslurm:\r  ntask\t")
        terminal.expect("s_per_node:", timeout=30)
    finally:
        terminal.close(force=True)


def test_it_neither_waits_nor_raises(shell: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def hang(*_args: object) -> Proposal:
        time.sleep(3)
        return Proposal("")

    def fail(*_args: object) -> Proposal:
        raise RuntimeError("no")

    monkeypatch.setattr(completer, "LONGEST", 0.2)
    for broken in (hang, fail):
        monkeypatch.setattr("automodel_nb.editing.completion.complete", broken)
        began = time.monotonic()
        assert "nodes: " not in tab(shell, CELL + "slurm:\n  no|")
        assert time.monotonic() - began < 2
    assert capsys.readouterr() == ("", "")
