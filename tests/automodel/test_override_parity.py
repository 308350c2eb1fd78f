"""`rendering.overrides` against AutoModel's own parsers, of both generations."""

from __future__ import annotations

import importlib.util
import inspect
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from automodel_nb.facts import python_facts
from automodel_nb.facts_automodel import schema
from automodel_nb.rendering.overrides import override_argument, reads_back, scalar_override
from tests.conftest import require

pytestmark = pytest.mark.automodel


class RealParser:
    """A process that holds the real AutoModel; see real_parser.py."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def ask(self, path: str, value: object, argument: str) -> tuple[str, str]:
        assert self.process.stdin
        assert self.process.stdout
        pickle.dump((path, value, argument), self.process.stdin)
        self.process.stdin.flush()
        file, override = pickle.load(self.process.stdout)
        return file, override


@pytest.fixture(scope="module", params=["installed", "0.3.0"])
def real(request: pytest.FixtureRequest) -> Iterator[RealParser]:
    environment = {**os.environ, "AM_SET": "8", "AM_TEXT": "it's", "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"}
    if request.param == "installed":
        require(importlib.util.find_spec("nemo_automodel"), "AutoModel is not installed; `make test` installs it")
    else:
        environment["PYTHONPATH"] = str(request.getfixturevalue("old_automodel"))
    command = [sys.executable, str(Path(__file__).with_name("real_parser.py"))]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield RealParser(process)
        assert process.stdin
        process.stdin.close()
        assert process.wait(30) == 0


keys = st.sampled_from(["a", "x_fn", "_target_", "lr", "ünï", "a-b"])
paths = st.lists(keys, min_size=2, max_size=4).map(".".join)
texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.text("0123456789.e+-_xj'\"[](){}:, NTnoe#", max_size=8),
    st.sampled_from(
        ["none", "None", "null", "true", "True", "1e-5", "$AM_SET", "${AM_TEXT,x}", "$AM_UNSET", "'$AM_SET'", "'8'", "yes"]
    ),
)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts, st.dates())
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys | texts.filter(bool), inner, max_size=3),
    max_leaves=6,
)
bounded = settings(
    max_examples=5000 if os.environ.get("SOAK") else 300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@bounded
@given(paths, values)
@example("model.a", "'" + "8" * 1200 + "'")
@example("model.a", "\ud800")
@example("model.a", {"_target_": "torch.nn.Linear", "b": [{"c_fn": "torch.add"}, "1e-5"]})
def test_an_argument_reads_as_the_value_in_the_file_does(real: RealParser, path: str, value: object) -> None:
    try:
        argument = override_argument(path, value)
    except ValueError:
        assume(False)
    file, override = real.ask(path, value, argument)
    assert override == file


@bounded
@given(paths, texts)
def test_reads_back_says_what_automodel_reads(real: RealParser, path: str, text: str) -> None:
    assume("\0" not in text and "$" not in text)
    key = path.rpartition(".")[2]
    assume(key not in ("_target_", "x_fn"))
    _, override = real.ask(path, None, scalar_override(path, text))
    assume("_fn" not in override and "_target_" not in override)
    assert repr(reads_back(text, key)) == override


@bounded
@given(values)
def test_what_is_refused_is_rare(value: object) -> None:
    """Everything that YAML can write but dates, NaN and long literals travels."""
    as_text = yaml.safe_dump(value)
    assume(".nan" not in as_text and "date" not in repr(value))
    assert override_argument("model.a", value).startswith("--model.a=")


def test_keys_of_optimizers_are_what_their_constructors_take() -> None:
    """What a rule reads out of source text, beside what Python says of the classes themselves."""
    torch = pytest.importorskip("torch")
    known, recipe = schema(python_facts(None).root, ""), "TrainFinetuneRecipeForNextTokenPrediction"
    compared = 0
    for name in torch.optim.__all__:
        made = getattr(torch.optim, name)
        keys = known.optimizer_keys(recipe, f"torch.optim.{name}")
        if keys is not None:
            taken = set(inspect.signature(made).parameters) - {"params"}
            assert keys == taken | {"_target_", "_recursive_", "_convert_", "param_group_overrides"}, name
            compared += 1
    assert compared >= 10
