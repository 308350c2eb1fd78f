"""``${VAR}``: what travels by name, what is expanded, what is taken literally, what is refused; and masking."""
# ruff: noqa: E501 (tables of exact texts)

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automodel_nb.document import Document
from automodel_nb.errors import LaunchError
from automodel_nb.interpolation import EnvTemplate, Masker, env_value, expand, literal_token, looks_secret

HF = "hf_" + "AbC0dEfGhI" * 3 + "xyz1"
WANDB = "0123456789abcdef" * 2 + "01234567"
ENVIRON = {"HF_TOKEN": HF, "HOME": "/root", "SCRATCH": "/scratch/me", "EMPTY": "", "_": "x"}


def told(findings: object) -> list[str]:
    assert isinstance(findings, list)
    return [f"{finding.severity} {finding.code}: {finding.message} ({finding.fix})" for finding in findings]


def test_case_c03_each_value_arrives_as_written() -> None:
    text = (
        """slurm:\n  env_vars: {MSG: "it's $HOME; echo pwned", PATTERN: 'a b"c', EMPTY: "", YES: yes, NUM: 0123, E: 1e-5}\n"""
    )
    values = Document.parse(text).raw("slurm.env_vars")
    assert isinstance(values, dict)
    found = {key: env_value(key, str(value), ENVIRON) for key, value in values.items()}
    assert {key: value for key, (value, _) in found.items()} == {
        "MSG": "it's $HOME; echo pwned",
        "PATTERN": 'a b"c',
        "EMPTY": "",
        "YES": "yes",
        "NUM": "0123",
        "E": "1e-5",
    }
    assert {key: told(findings) for key, (_, findings) in found.items() if findings} == {
        "MSG": ["warning env-syntax: `$HOME` is taken literally: only `${VAR}` is replaced (write ${HOME})"]
    }


def test_a_reference_travels_by_name() -> None:
    value, findings = env_value("HF_TOKEN", "${HF_TOKEN}", ENVIRON)
    assert value == EnvTemplate(("HF_TOKEN",), "${HF_TOKEN}")
    assert findings == []
    assert isinstance(value, EnvTemplate)
    assert value.resolve(ENVIRON) == HF
    assert HF not in f"{value} {value!r}"
    assert str(value) == "${HF_TOKEN}"


def test_a_reference_within_a_text() -> None:
    value, findings = env_value("URL", "https://me:${HF_TOKEN}@host/${HOME}/$x", ENVIRON)
    assert isinstance(value, EnvTemplate)
    assert value.names == ("HF_TOKEN", "HOME")
    assert value.resolve(ENVIRON | {"HOME": "${HF_TOKEN}"}) == f"https://me:{HF}@host/${{HF_TOKEN}}/$x"  # in one pass
    assert told(findings) == ["warning env-syntax: `$x` is taken literally: only `${VAR}` is replaced (write ${x})"]


def test_resolving_without_the_variable_is_our_error() -> None:
    with pytest.raises(LaunchError, match=r"^`\$\{NOPE\}` is not set in this environment"):
        EnvTemplate(("NOPE",), "${NOPE}").resolve({})


OTHER_WAYS = [
    ("$HF_TOKEN", "`$HF_TOKEN` is taken literally: only `${VAR}` is replaced", "${HF_TOKEN}"),
    ("${HF_TOKEN:-none}", "`${HF_TOKEN:-none}` is taken literally: only `${VAR}` is replaced", "${HF_TOKEN}"),
    ("${oc.env:HF_TOKEN}", "`${oc.env:HF_TOKEN}` is taken literally: only `${VAR}` is replaced", "${HF_TOKEN}"),
    ("${oc.env:HF_TOKEN,x}", "`${oc.env:HF_TOKEN,x}` is taken literally: only `${VAR}` is replaced", "${HF_TOKEN}"),
    ("HF_TOKEN", "`HF_TOKEN` is taken as this very text, not as the value of the variable HF_TOKEN", "${HF_TOKEN}"),
    ("go $HOME now", "`$HOME` is taken literally: only `${VAR}` is replaced", "go ${HOME} now"),
    ("$(hostname)", "`$(hostname)` is taken literally: only `${VAR}` is replaced", None),
]


@pytest.mark.parametrize(("text", "message", "fixed"), OTHER_WAYS)
def test_other_ways_are_literal_with_a_fix(text: str, message: str, fixed: str | None) -> None:
    value, (finding,) = env_value("X_VALUE", text, ENVIRON, field="slurm.env_vars.X_VALUE", line=3, column=7)
    assert value == text
    assert (finding.code, finding.severity, finding.message) == ("env-syntax", "warning", message)
    assert (finding.line, finding.column, finding.field) == (3, 7, "slurm.env_vars.X_VALUE")
    assert (finding.fix.value if finding.fix else None) == fixed
    if fixed:
        again, findings = env_value("X_VALUE", fixed, ENVIRON)
        assert isinstance(again, EnvTemplate)
        assert findings == []


@pytest.mark.parametrize("text", ["", "$5", "$$", "100$", "a $ b", "word", "_", "/root"])
def test_plain_text_has_no_finding(text: str) -> None:
    assert env_value("X_VALUE", text, ENVIRON) == (text, [])


def test_an_unset_variable_is_an_error() -> None:
    assert told(env_value("A", "${HF_TOKN}", ENVIRON)[1]) == [
        "error unset-variable: `${HF_TOKN}` is not set in this environment (did you mean ${HF_TOKEN}?)"
    ]
    assert told(env_value("A", "${WANDB_API_KEY}", ENVIRON)[1]) == [
        "error unset-variable: `${WANDB_API_KEY}` is not set in this environment "
        '(set it before Jupyter starts, or with os.environ["WANDB_API_KEY"] = getpass.getpass() in a cell)'
    ]
    assert env_value("A", "${EMPTY}", ENVIRON)[1] == []


@pytest.mark.parametrize(
    "token", [HF, WANDB, "sk-" + "a1" * 20, "ghp_" + "a1" * 18, "AKIA" + "A1" * 8, f"Bearer {HF}", f"x ${{HOME}} {HF}"]
)
def test_case_c14_a_literal_token_is_refused_and_not_repeated(token: str) -> None:
    for value, findings in (env_value("HF_TOKEN", token, ENVIRON, field="slurm.env_vars.HF_TOKEN"), expand(token, ENVIRON)):
        (finding,) = findings
        assert (finding.code, finding.severity) == ("literal-secret", "error")
        assert value == ""
        assert token.split()[-1] not in repr(findings)
    assert told(env_value("HF_TOKEN", token, ENVIRON)[1]) == [
        "error literal-secret: `HF_TOKEN` holds a token itself (take it out, set HF_TOKEN before Jupyter starts, and write ${HF_TOKEN})"
    ]


def test_a_value_under_a_secret_name_is_warned_of_and_not_repeated() -> None:
    value, findings = env_value("DB_PASSWORD", "hunter$HOME${X:-2}", ENVIRON)
    assert value == "hunter$HOME${X:-2}"
    assert told(findings) == [
        "warning secret-in-text: the value of `DB_PASSWORD` stands in the text, where every reader of the notebook sees it "
        "(set DB_PASSWORD before Jupyter starts, and write ${DB_PASSWORD})"
    ]


def test_a_default_under_a_secret_name_is_not_repeated() -> None:
    value, findings = env_value("DB_PASSWORD", "${DB_PASSWORD:-hunter2}", ENVIRON)
    assert value == "${DB_PASSWORD:-hunter2}"
    assert told(findings) == [
        "warning env-syntax: `${DB_PASSWORD…}` is taken literally: only `${VAR}` is replaced (write ${DB_PASSWORD})"
    ]


def test_other_fields_are_expanded() -> None:
    assert expand("${SCRATCH}/jobs/${HOME}", ENVIRON) == ("/scratch/me/jobs//root", [])
    assert expand("no variable", ENVIRON) == ("no variable", [])
    text, findings = expand("$SCRATCH/x", ENVIRON, field="slurm.job_dir", line=2, column=5)
    assert text == "$SCRATCH/x"
    assert findings[0].fix
    assert findings[0].fix.value == "${SCRATCH}/x"


def test_a_secret_is_not_expanded_into_a_field() -> None:
    text, findings = expand("x${HF_TOKEN}", ENVIRON, field="slurm.comment")
    assert text == "x${HF_TOKEN}"
    assert told(findings) == [
        "error secret-shown: `${HF_TOKEN}` is a secret by its name, and this field would show its value (secrets go into env_vars)"
    ]
    assert told(expand("${NOPE}", ENVIRON)[1]) == [
        "error unset-variable: `${NOPE}` is not set in this environment (set it before Jupyter starts, or with os.environ in a cell)"
    ]


@pytest.mark.parametrize(
    "name",
    ["HF_TOKEN", "wandb_key", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "DbPassword_PASSWORD", "MY_PASSWD", "GCP_CREDENTIALS"],
)
def test_names_of_secrets(name: str) -> None:
    assert looks_secret(name)


@pytest.mark.parametrize("name", ["TOKENIZERS_PARALLELISM", "KEYBOARD", "MONKEY", "HOME", "PASS", "SECRETARY", "NCCL_DEBUG"])
def test_names_of_no_secrets(name: str) -> None:
    assert not looks_secret(name)


@pytest.mark.parametrize(
    ("text", "name"), [("hf_home_directory", ""), ("sk-short", ""), (WANDB, "GIT_COMMIT"), ("x" + WANDB, ""), ("AKIAxyz", "")]
)
def test_what_is_no_token(text: str, name: str) -> None:
    assert not literal_token(text, name)


def test_masking() -> None:
    masker = Masker([HF, "short", HF + "-longer", "line one of it\nline two, longer than sixteen\nx"])
    assert masker.mask(f"a {HF} b {HF}-longer short") == "a *** b *** short"
    assert masker.mask("> line two, longer than sixteen <") == "> *** <"
    assert "hf_" not in repr(masker)
    assert Masker([]).mask("x") == Masker([]).feed("x") == "x"


@given(st.lists(st.text("ab", min_size=8, max_size=12), max_size=3), st.lists(st.text("ab", max_size=9), max_size=8))
def test_masking_a_stream_is_masking_the_whole(values: list[str], chunks: list[str]) -> None:
    masker = Masker(values)
    streamed = "".join([*map(masker.feed, chunks), masker.flush()])
    assert streamed == Masker(values).mask("".join(chunks))
    assert not any(re.search(re.escape(value), piece) for value in values for piece in streamed.split(Masker.MASK))


def test_a_stream_holds_back_only_what_may_be_a_secret() -> None:
    masker = Masker(["secret-value"])
    assert masker.feed("all of this, sec") == "all of this, "
    assert masker.feed("ond") == "second"
    assert masker.feed(" secret-val") == " "
    assert masker.feed("ue!") == "***!"
    assert masker.flush() == ""
