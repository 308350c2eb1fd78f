"""What can travel as ``--a.b=value``, and what is said of what cannot."""

from __future__ import annotations

import datetime
import math

import pytest
import yaml

from automodel_nb.rendering.overrides import Reference, Target, override_argument, reads_back, scalar_override


@pytest.mark.parametrize(
    ("path", "document", "argument"),
    [
        ("seed", "7", "--seed=7"),
        ("optimizer.lr", "3.0e-3", "--optimizer.lr=0.003"),
        ("optimizer.lr", "1e-5", "--optimizer.lr=1e-5"),  # text to YAML 1.1, a number to AutoModel in both places
        ("optimizer.betas", "[0.9, 0.95]", "--optimizer.betas=[0.9, 0.95]"),
        ("clip.max_norm", ".inf", "--clip.max_norm=1e999"),
        ("clip.norms", "[-.inf, 1]", "--clip.norms=[-1e999, 1]"),
        ("model.x", "", "--model.x=None"),
        ("model.x", "on", "--model.x=True"),
        ("model.x", '"8"', "--model.x=8"),  # AutoModel reads "8" in a file as a number, too
        ("model.x", "\"'8'\"", "--model.x=\"'8'\""),
        ("model.path", "meta-llama/Llama-3.2-1B", "--model.path=meta-llama/Llama-3.2-1B"),
        ("model.path", "$HOME/model", "--model.path=$HOME/model"),
        ("dataset.split", "train[:10%], it's", "--dataset.split=train[:10%], it's"),
        ("dataset.text", "''", "--dataset.text="),
        ("dataset.text", r'"a\0\uD800"', r"--dataset.text='a\x00\ud800'"),
        ("dataset.mapping", "{q: question, n: {x: 1}}", "--dataset.mapping={'q': 'question', 'n': {'x': 1}}"),
        ("model._target_", "nemo_automodel.X.from_pretrained", "--model._target_=nemo_automodel.X.from_pretrained"),
    ],
)
def test_a_value_of_the_file_becomes_the_argument_that_reads_the_same(path: str, document: str, argument: str) -> None:
    assert override_argument(path, yaml.safe_load(document)) == argument


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        datetime.date(2026, 12, 1),
        [1, datetime.date(2026, 12, 1)],
        {"x": "y" * 1001},
        "'" + '"' * 600 + "' # " + "'" * 300,
        (recursive := [1], recursive.append(recursive), recursive)[2],  # type: ignore[list-item, func-returns-value]
    ],
)
def test_what_automodel_would_not_read_back_equal_is_refused_in_one_line(value: object) -> None:
    with pytest.raises(ValueError, match=r"put model\.x into the file$") as refused:
        override_argument("model.x", value)
    assert "\n" not in str(refused.value)
    assert "yyy" not in str(refused.value)


@pytest.mark.parametrize(
    "path", ["", ".", "a..b", "a.", "a=b", "a.b=c", "-a", "--a", "a\0", "config", "c", "n", "nproc-per-node", "he", "log"]
)
def test_a_path_that_the_command_line_takes_for_something_else_is_refused(path: str) -> None:
    for make in (override_argument, scalar_override):
        with pytest.raises(ValueError, match=r"^[^\n]+$"):
            make(path, "1")


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_text_that_no_argument_holds_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"model\.x holds a character"):
        scalar_override("model.x", text)


@pytest.mark.parametrize("path", ["seed", "recipe", "role", "model.config", "nodes", "wandb.name", "a-b.c d", "ünï.c"])
def test_other_paths_pass(path: str) -> None:
    assert scalar_override(path, "x y") == f"--{path}=x y"


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("none", "x", None),
        ("null", "x", "null"),
        ("true", "x", True),
        ("yes", "x", "yes"),
        ("0x10", "x", 16),
        ("'8'", "x", 8),
        ("[1, 'none']", "x", [1, None]),
        ("{'a_fn': 'm.f', 'b': '$X'}", "x", {"a_fn": Target("m.f"), "b": Reference("$X")}),
        ("m.f", "_target_", Target("m.f")),
        ("1if x else 2", "x", "1if x else 2"),
        ("9" * 1001, "x", "9" * 1001),
    ],
)
def test_reads_back(text: str, key: str, value: object) -> None:
    found = reads_back(text, key)
    assert (found, type(found)) == (value, type(value))
