"""Launcher sections: every field's text in its meaning, and every mistake at once with its place."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automodel_nb.configs import CONFIGS, SlurmConfig, VolumeMapping, fields, read
from automodel_nb.configs.base import Group
from automodel_nb.findings import Finding


class Placed(str):
    """Text with a place, as the document gives it."""

    line: int
    column: int


def at(text: str, line: int, column: int) -> Placed:
    placed = Placed(text)
    placed.line, placed.column = line, column
    return placed


def slurm(**raw: Any) -> SlurmConfig:
    config, findings = read("slurm", raw)
    assert not findings
    assert isinstance(config, SlurmConfig)
    return config


def mistakes(method: str = "slurm", **raw: Any) -> list[Finding]:
    config, findings = read(method, raw)
    assert config is None
    assert findings
    return findings


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10:00:00", 36000),
        ("1:30:00", 5400),
        ("00:30:00", 1800),
        ("90", 5400),
        ("1-12", 36 * 3600),
        ("2-00:00", 48 * 3600),
        ("15:30", 930),
        ("1-02:03:04", 86400 + 7384),
        ("100:00:00", 360000),
        ("90:00", 5400),
    ],
)
def test_time_has_slurms_meaning_and_keeps_the_text(text: str, seconds: int) -> None:
    time = slurm(time=text).time
    assert time is not None
    assert (time.text, time.seconds, str(time)) == (text, seconds, text)


@pytest.mark.parametrize(
    "text", ["0:240:0", "25h", "", "0", "00:00:00", "-5", "1-", "1-24", "1:2:3:4", "10:61", "٣", "1e3", "10:00:00 "[:-1] + "x"]
)
def test_what_is_no_time_names_the_forms(text: str) -> None:
    (finding,) = mistakes(time=text)
    assert finding.field == "slurm.time"
    assert "HH:MM:SS" in finding.message or "leave the field out" in finding.message


def test_every_mistake_at_once_with_place_and_nearest_key() -> None:
    raw = {
        at("nodes", 2, 3): at("two", 2, 10),
        at("partion", 3, 3): at("batch", 3, 12),
        at("extra_mounts", 4, 3): [at("/ok", 5, 7), at("/a,b", 6, 7)],
        at("env_vars", 7, 3): {at("A B", 8, 5): at("1", 8, 10), at("OK", 9, 5): at("1", 9, 10), at("NONE", 10, 5): None},
        at("extra_sbatch", 11, 3): {at("mem", 12, 5): at("1G", 12, 10)},
        at("fault_tolerance", 13, 3): {at("max_restart", 14, 5): at("2", 14, 20)},
    }
    config, findings = read("slurm", raw)
    assert config is None
    seen = {(f.code, f.field, f.line, f.column) for f in findings}
    assert seen == {
        ("bad-value", "slurm.nodes", 2, 10),
        ("unknown-key", "slurm.partion", 3, 3),
        ("bad-value", "slurm.extra_mounts[1].source", 6, 7),
        ("bad-value", "slurm.extra_mounts[1].dest", 6, 7),
        ("bad-value", "slurm.env_vars.A B", 8, 5),
        ("bad-value", "slurm.env_vars.NONE", 10, 5),
        ("bad-value", "slurm.extra_sbatch.mem", 12, 5),
        ("unknown-key", "slurm.fault_tolerance.max_restart", 14, 5),
    }
    near = {f.field: str(f.fix) for f in findings if f.code == "unknown-key"}
    assert near == {
        "slurm.partion": "did you mean `partition`?",
        "slurm.fault_tolerance.max_restart": "did you mean `max_restarts`?",
    }


@pytest.mark.parametrize(
    ("method", "key", "words"),
    [
        ("interactive", "fault_tolerance", "works with Slurm only"),
        ("skypilot", "fault_tolerance", "works with Slurm only"),
        ("slurm", "use_spot", "is a field of skypilot, not of slurm"),
        ("interactive", "nodes", "is a field of slurm, not of interactive"),
    ],
)
def test_a_field_of_another_method_says_so(method: str, key: str, words: str) -> None:
    (finding,) = mistakes(method, **{key: "true"})
    assert words in finding.message


@pytest.mark.parametrize(
    ("value", "mapping"),
    [
        ("/data", ("/data", "/data", False)),
        ("/a b:/b", ("/a b", "/b", False)),
        ("./x:/b:ro", ("./x", "/b", True)),
        ("/a:/b:rw", ("/a", "/b", False)),
        ({"source": "/a", "dest": "/b"}, ("/a", "/b", False)),
        ({"source": "/a", "dest": "/b", "read_only": "yes"}, ("/a", "/b", True)),
    ],
)
def test_mounts_in_any_form(value: Any, mapping: tuple[str, str, bool]) -> None:
    config = slurm(nemo_mount=value, extra_mounts=[value, value])
    assert config.nemo_mount == VolumeMapping(source=mapping[0], dest=mapping[1], read_only=mapping[2])
    assert config.extra_mounts == (config.nemo_mount, config.nemo_mount)


@pytest.mark.parametrize("value", ["/a:/b:xx", "/a:", ":/b", "/a:b", "/a,b", "rel", "/a:/b:/c:ro", "a\nb:/c", ""])
def test_mounts_that_pyxis_cannot_express(value: str) -> None:
    assert all(f.field and f.field.startswith("slurm.nemo_mount") for f in mistakes(nemo_mount=value))


def test_a_secret_is_refused_and_not_repeated() -> None:
    token = "hf_" + "a" * 34
    for name in ("hf_token", "wandb_key"):
        (finding,) = mistakes(**{name: token})
        assert token not in str(finding)
        assert slurm(**{name: "${MY_TOKEN}"}).model_dump()[name] == "${MY_TOKEN}"


def test_environment_is_never_retyped() -> None:
    raw = {"MSG": "it's $HOME; echo pwned", "EMPTY": "", "YES": "yes", "NUM": "0123", "E": "1e-5", "M": "a\nb"}
    assert slurm(env_vars=raw).env_vars == raw


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("nodes", "4", 4),
        ("requeue", "On", True),
        ("requeue", "no", False),
        ("mem", "64G", "64G"),
        ("mem", "0", "0"),
        ("exclusive", "true", ""),
        ("exclusive", "user", "user"),
        ("exclusive", "off", None),
        ("gpus_per_node", "h100:8", "h100:8"),
        ("array", "0-7%2", "0-7%2"),
        ("array", "1,3,5-9:2", "1,3,5-9:2"),
        ("job_name", "a b", "a b"),
        ("comment", "naïve – “q” 'x' #5 \\", "naïve – “q” 'x' #5 \\"),
        ("pre_commands", "source x\nmake", ("source x\nmake",)),
        ("pre_commands", ["a", "b"], ("a", "b")),
        ("nsys_args", "--trace=cuda,nvtx --x 'a b'", ("--trace=cuda,nvtx", "--x", "a b")),
        ("extra_sbatch", {"switches": "1", "--contiguous": "true"}, {"switches": "1", "contiguous": "true"}),
        ("extra_sbatch", ["--switches=1", "contiguous"], {"switches": "1", "contiguous": "true"}),
        ("nodes", 4, 4),
        ("nsys_enabled", True, True),
    ],
)
def test_values(field: str, text: Any, value: Any) -> None:
    assert getattr(slurm(**{field: text}), field) == value


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("nodes", "0"),
        ("nodes", "2.0"),
        ("nodes", "1_000"),
        ("nodes", "0x10"),
        ("nodes", "٣"),
        ("nodes", ["1"]),
        ("nodes", {"a": "1"}),
        ("requeue", "maybe"),
        ("mem", "64GB"),
        ("mem", "-1"),
        ("gpu_request", "cuda"),
        ("gpus_per_node", "h100"),
        ("array", "x"),
        ("comment", "a\nb"),
        ("comment", "a\u2028b"),
        ("comment", "a\x00b"),
        ("partition", "a\tb"),
        ("account", " "),
        ("master_port", "80"),
        ("master_port", "65536"),
        ("env_vars", "A=1"),
        ("env_vars", ["A=1"]),
        ("extra_sbatch", {"output": "/x"}),
        ("extra_sbatch", {"a b": "1"}),
        ("fault_tolerance", "5"),
    ],
)
def test_bad_values(field: str, text: Any) -> None:
    (finding,) = mistakes(**{field: text})
    assert finding.field is not None
    assert finding.field.startswith(f"slurm.{field}")
    assert "\n" not in str(finding)


def test_unset_is_unset() -> None:
    assert slurm(account=None, time=None) == slurm() == read("slurm", None)[0]


def test_a_section_that_is_no_mapping() -> None:
    (finding,) = read("slurm", at("8", 3, 8))[1]  # type: ignore[arg-type]
    assert (finding.line, finding.column) == (3, 8)


@pytest.mark.parametrize("method", CONFIGS)
def test_each_field_is_described(method: str) -> None:
    for field in fields(method):
        assert field.description[0].isupper() or field.description.startswith("srun")
        assert field.description.endswith("."), field.name
        assert field.group in Group.__args__  # type: ignore[attr-defined]
        assert field.example or field.default or field.choices or field.kind == "flag", field.name
        assert field.kind != "number" or field.unit or field.name == "master_port", field.name
        if field.example and field.kind in ("number", "text"):  # what the form suggests is taken
            assert read(method, {field.name: field.example})[1] == []


@given(
    st.dictionaries(st.sampled_from([f.name for f in fields("slurm")]), st.text() | st.lists(st.text(), max_size=3), max_size=6)
)
def test_any_text_is_a_config_or_findings(raw: dict[str, Any]) -> None:
    config, findings = read("slurm", raw)
    assert (config is None) == bool(findings)
    assert {f.field.split(".")[1].split("[")[0] for f in findings if f.field} <= set(raw)
