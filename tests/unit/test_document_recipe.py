"""The recipe text: the document less its launcher sections, byte for byte."""
# ruff: noqa: E501 (tables of exact texts)

from __future__ import annotations

import pytest
import yaml

from automodel_nb.document import Document
from automodel_nb.document.published import published_keys
from automodel_nb.errors import DocumentError

CUTS = [
    ("recipe: x # why\nslurm:\n  nodes: 2\nlr: 1e-5\n", "recipe: x # why\nlr: 1e-5\n"),
    ("# head\nslurm:   # go\n  nodes: 2\n\n  # inside\n# of model\nmodel: x\n", "# head\n# of model\nmodel: x\n"),
    ("a: 1\n\nslurm:\n  nodes: 2\n\nb: 2\n", "a: 1\n\nb: 2\n"),
    ("a: 1\nslurm:\n  nodes: 2\n\nb: 2\n", "a: 1\n\nb: 2\n"),
    ("a: 1\r\nslurm: {nodes: 2}\r\nb: 'x'\r\n", "a: 1\r\nb: 'x'\r\n"),
    ("\ufeffslurm:\n  nodes: 2\na: 1\n", "\ufeffa: 1\n"),
    ("---\nslurm:\n- 1\n- 2\na: 1\n...\n", "---\na: 1\n...\n"),
    ("a: |+\n  text\n\nslurm:\n  nodes: 2\n\nb: 1\n", "a: |+\n  text\n\nb: 1\n"),
    ("a: |+\n  text\nslurm:\n  nodes: 2\nskypilot:\n  x: 1\n   \n\nb: 1\n", "a: |+\n  text\nb: 1\n"),
    ("a: 1\nslurm:\n  setup: |\n    x\n\n    # part of it\n# left\nb: 1\n", "a: 1\n# left\nb: 1\n"),
    ("a: 1\n'slurm':\n  nodes: 2", "a: 1\n"),
    ("? slurm\n: nodes: 2\na: 1\n", "a: 1\n"),
    ("a: 1\nslurm:\n", "a: 1\n"),
    ("{recipe: x, slurm: {nodes: 2}}\n", "{recipe: x}\n"),
    ("{slurm: {nodes: 2}, recipe: x}\n", "{recipe: x}\n"),
    ("{slurm: {nodes: 2}}\n", "{}\n"),
    ("{a: 1 , slurm: {} , skypilot: {}} # c\n", "{a: 1 , } # c\n"),
    ("{\n  a: 1, # of a\n  slurm: {nodes: 2}, # of slurm\n  b: 2 # of b\n}\n", "{\n  a: 1, # of a\n  b: 2 # of b\n}\n"),
    ("a: {slurm: 1}\n", "a: {slurm: 1}\n"),
]


@pytest.mark.parametrize(("text", "recipe"), CUTS)
def test_cut(text: str, recipe: str) -> None:
    document = Document.parse(text)
    assert document.recipe_text == recipe
    assert (yaml.safe_load(recipe) or {}) == document.recipe()
    assert document.recipe_findings == ()


def test_without_a_section_the_text_is_the_recipe() -> None:
    text = "\ufeff%YAML 1.1\r\n---\r\na: [1,   2]   # x\r\n"
    assert Document.parse(text).recipe_text == text


def test_an_anchor_of_the_section_moves_to_its_first_use() -> None:
    document = Document.parse("slurm:\n  hf_home: &home /cache # c\n  x: *home\ncache: *home\nlist: [*home]\n")
    assert document.recipe_text == "cache: &home /cache\nlist: [*home]\n"
    (hint,) = document.recipe_findings
    assert (hint.code, hint.severity) == ("moved-anchor", "hint")
    assert str(hint) == "line 4, column 8: `&home` of the launcher section is written here in the recipe, which uses it"


def test_an_anchor_within_an_anchor_moves_with_it() -> None:
    assert Document.parse("slurm: {a: &a [&b 1, 2]}\nx: *a\ny: *b\n").recipe_text == "x: &a [&b 1, 2]\ny: *b\n"


def test_an_anchor_that_cannot_move_is_named() -> None:
    document = Document.parse("slurm:\n  env_vars: &env\n    A: b\n  nodes: 2\nmodel:\n  <<: *env\n")
    with pytest.raises(DocumentError) as error:
        document.recipe_text  # noqa: B018
    assert str(error.value.findings[0]) == (
        "line 6, column 7: `*env` is defined in the launcher section, which AutoModel does not read (write the value out here)"
    )


def test_an_anchor_of_the_recipe_serves_the_section() -> None:
    document = Document.parse("cache: &home /cache\nslurm: {hf_home: *home}\n")
    assert document.recipe_text == "cache: &home /cache\n"
    assert document.raw("slurm") == {"hf_home": "/cache"}


def test_published_resume_keys_become_the_ones_that_are_read() -> None:
    text = "# c12\nstep_scheduler:\n  checkpoint_interval: 20 # often\nrestore_from: {path: '/ckpt/a b'}\nslurm: {nodes: 2}\n"
    published = published_keys(Document.parse(text))
    assert published.text == "# c12\nstep_scheduler:\n  ckpt_every_steps: 20 # often\ncheckpoint:\n  restore_from: /ckpt/a b\n"
    assert published.values == {"step_scheduler": {"ckpt_every_steps": 20}, "checkpoint": {"restore_from": "/ckpt/a b"}}
    assert published.diff.splitlines() == [
        "--- recipe.yaml",
        "+++ recipe.yaml",
        "@@ -1,4 +1,5 @@",
        " # c12",
        " step_scheduler:",
        "-  checkpoint_interval: 20 # often",
        "-restore_from: {path: '/ckpt/a b'}",
        "+  ckpt_every_steps: 20 # often",
        "+checkpoint:",
        "+  restore_from: /ckpt/a b",
    ]
    assert [str(finding) for finding in published.findings] == [
        "line 3, column 3: `step_scheduler.checkpoint_interval` is not a key of current AutoModel (launched as `step_scheduler.ckpt_every_steps`)",
        "line 4, column 1: current AutoModel ignores a top-level `restore_from` (launched as `checkpoint.restore_from`)",
    ]
    assert {finding.severity for finding in published.findings} == {"warning"}


def test_published_restore_goes_into_the_checkpoint_mapping_that_is_there() -> None:
    published = published_keys(Document.parse("restore_from:\n  path: LATEST\ncheckpoint:\n  enabled: true # on\nmodel: x\n"))
    assert published.text == "checkpoint:\n  enabled: true # on\n  restore_from: LATEST\nmodel: x\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "step_scheduler: {checkpoint_interval: 1, ckpt_every_steps: 2}\n",
            "line 1, column 18: `step_scheduler.checkpoint_interval` is not a key of current AutoModel "
            "(remove it; `step_scheduler.ckpt_every_steps` is there)",
        ),
        (
            "restore_from: {path: a}\ncheckpoint: {restore_from: b}\n",
            "line 1, column 1: current AutoModel ignores a top-level `restore_from` (remove it; `checkpoint.restore_from` is there)",
        ),
        (
            "restore_from: {path: a, load_optimizer: false}\n",
            "line 1, column 1: current AutoModel ignores a top-level `restore_from` (write `checkpoint.restore_from: PATH`)",
        ),
    ],
)
def test_published_keys_that_conflict_are_left_and_named(text: str, message: str) -> None:
    published = published_keys(Document.parse(text))
    assert published.text == text
    assert published.diff == ""
    assert [(finding.severity, str(finding)) for finding in published.findings] == [("error", message)]


def test_a_recipe_without_published_keys_is_untouched() -> None:
    document = Document.parse("checkpoint: {restore_from: x}\nslurm: {a: 1}\n")
    published = published_keys(document)
    assert (published.text, published.diff, published.findings) == (document.recipe_text, "", ())
    assert published.values == {"checkpoint": {"restore_from": "x"}}
