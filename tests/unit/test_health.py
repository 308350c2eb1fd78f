"""The doctor looks at this very machine; what differs between machines is given to it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

import automodel_nb as am
from automodel_nb import health
from automodel_nb.facts import NodeFacts, PythonFacts
from automodel_nb.health import Item, Report
from automodel_nb.views.health import health_html, health_text


def test_it_looks_at_every_method_in_bounded_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AUTOMODEL_NB_HOME", str(tmp_path / "not" / "there"))
    begun = time.monotonic()
    report = am.doctor()
    assert time.monotonic() - begun < 3 * health.SECONDS
    assert {item.method for item in report.items} == {"notebook", "interactive", "slurm", "skypilot"}
    assert all(item.fix for item in report.items if item.lacks)
    assert os.listdir(tmp_path) == []
    assert str(report) == health_text(report)


def test_what_is_missing_comes_with_the_command_that_mends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "python_facts", lambda python: PythonFacts(None, False))
    monkeypatch.setattr(health, "node_facts", lambda: NodeFacts(0, 4))
    monkeypatch.setenv("PATH", "/nonexistent")
    report = am.doctor()
    text = str(report)
    assert "✗ Interactive: lacks AutoModel, PyTorch" in text
    assert "-m pip install nemo-automodel" in text
    assert "✗ Slurm: lacks Slurm's commands" in text
    assert "host: NAME" in text


def test_a_look_that_hangs_is_said_to_be_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "SECONDS", 0.2)
    monkeypatch.setattr(health, "_slurm", lambda: time.sleep(1) or [])
    report = health.examine()
    assert [item.found for item in report.items if item.method == "slurm"] == ["no answer within 0.2 s"]


def test_html_is_escaped_and_says_what_the_text_says() -> None:
    report = Report((Item("slurm", "<b>", "a `b` <img src=x onerror=alert(1)>", "<i>", "x --y <z>"),))
    html = health_html(report)
    assert "<img" not in html
    assert "&lt;img" in html
    assert "x --y" in health_text(report)
