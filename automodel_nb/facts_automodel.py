"""What the installed AutoModel reads of a recipe, out of its own source text: nothing is imported, PyTorch least of all.

A typo under `step_scheduler` or `checkpoint` is found by AutoModel itself only after the model has loaded. Its config
classes are dataclasses whose fields are those keys; their class bodies are parsed here, in milliseconds and once.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

#: Section of the recipe: file and class of its config, and keys read apart from it (0.7.0: `recipes/_typed_config.py`).
_CLASSES: dict[str, tuple[str, str, frozenset[str]]] = {
    "step_scheduler": (
        "components/training/step_scheduler.py",
        "StepSchedulerConfig",
        frozenset({"local_batch_size", "dp_size", "dataloader"}),
    ),
    "checkpoint": ("components/checkpoint/config.py", "CheckpointingConfig", frozenset({"restore_from"})),
    "lr_scheduler": ("components/optim/optimizer.py", "LRSchedulerConfig", frozenset()),
    "mlflow": ("components/loggers/loggers.py", "MLflowConfig", frozenset()),
    "comet": ("components/loggers/loggers.py", "CometConfig", frozenset()),
}
#: Keys of `distributed` that are no option of a strategy (0.7.0: `recipes/_dist_utils.py`).
_DISTRIBUTED = frozenset(
    {"strategy", "tp_size", "pp_size", "cp_size", "ep_size", "dp_size", "dp_replicate_size"}
    | {"pipeline", "moe", "activation_checkpointing"}
)
_STRATEGIES = {"ddp": "DDPConfig", "fsdp2": "FSDP2Config", "megatron_fsdp": "MegatronFSDPConfig"}
_META = frozenset({"_target_", "_recursive_", "_convert_"})
#: How a recipe takes its `dataloader`, by what stands in its text: the set of keys in `recipes/_typed_config.py` that goes with
#: it, and keys read apart from those.
_LOADERS = {
    "cfg.dataloader": ("config_fields", frozenset({"collate_fn", "dataloader_type", "dataset"})),
    "cfg.vlm_dataloader": ("loader_fields", frozenset({"collate_fn", "dataset"})),
}
_RECIPE_CLASS = re.compile(r"\nclass\s+(\w*Recipe\w*)\s*[(:]")  # as AutoModel's own CLI finds them


@lru_cache(maxsize=4)
def schema(root: str, version: str) -> Schema:
    """What the AutoModel at `root` (its package directory) reads; the version keeps an upgrade from being missed."""
    return Schema(Path(root))


@dataclass(frozen=True)
class Schema:
    """The recipe's keys that one installed AutoModel knows. None everywhere means: cannot be told, say nothing."""

    root: Path
    _known: dict[str, frozenset[str] | None] = field(default_factory=dict, compare=False, repr=False)

    def keys(self, section: str) -> frozenset[str] | None:
        """The keys that a section may have."""
        if section not in self._known:
            where = _CLASSES.get(section)
            fields = _fields(self.root / where[0], where[1]) if where else None
            self._known[section] = fields | where[2] | _META if where and fields else None
        return self._known[section]

    def distributed_keys(self, strategy: str) -> frozenset[str] | None:
        """The keys that `distributed` may have with that strategy."""
        name = f"distributed {strategy}"
        if name not in self._known:
            of = _STRATEGIES.get(strategy)
            fields = _fields(self.root / "components/distributed/config.py", of) if of else None
            self._known[name] = fields | _DISTRIBUTED | _META if fields else None
        return self._known[name]

    def optimizer_keys(self, recipe: str, target: str) -> frozenset[str] | None:
        """The keys that `optimizer` may have with that ``_target_``: a ``torch.optim`` class, or one of AutoModel's configs."""
        module, _, name = target.rpartition(".")
        known = f"optimizer {target}"
        if not any("cfg.optimizer.build(" in text for text in self._texts(recipe)):
            return None
        if known not in self._known:
            own = self.root / "components/optim/optimizer.py"
            found = None
            if module == "nemo_automodel.components.optim.optimizer":
                found = _fields(own, name)
            elif module == "torch.optim":
                found = _parameters(self.root.parent / "torch/optim", name)
            self._known[known] = found | _META | {"param_group_overrides"} if found else None
        return self._known[known]

    def dataloader_keys(self, recipe: str) -> frozenset[str] | None:
        """The keys that `dataloader` and `validation_dataloader` may have in that recipe."""
        for text in self._texts(recipe):
            for word, (name, apart) in _LOADERS.items():
                if word in text:
                    typed = self._sources.get(self.root / "recipes/_typed_config.py", "")
                    sets = re.findall(rf"^ +{name} = {{([^}}]*)}}", typed, re.MULTILINE)
                    return frozenset(re.findall(r'"(\w+)"', sets[0])) | apart | _META if len(sets) == 1 else None
        return None

    @cached_property
    def recipes(self) -> dict[str, str]:
        """Short name of each recipe class, and the module that has it."""
        return {
            name: path.relative_to(self.root.parent).with_suffix("").as_posix().replace("/", ".")
            for path, text in self._sources.items()
            if not path.name.startswith("_")
            if "Recipe" in text
            for name in _RECIPE_CLASS.findall(text)
            if name != "BaseRecipe"
        }

    def reads_typed(self, recipe: str) -> bool:
        """Whether that recipe (short name or dotted path) is AutoModel's own and reads its sections through config classes."""
        return any(re.search(r"\bRecipeConfig\b", text) for text in self._texts(recipe))

    def _texts(self, recipe: str) -> Iterator[str]:
        """The text of the module that has that recipe, and of those that have what it is made of; none for another's recipe."""
        name = recipe.rpartition(".")[2]
        module = self.recipes.get(name)
        if module is None or ("." in recipe and recipe != f"{module}.{name}"):
            return
        text = self._sources[self.root.parent / (module.replace(".", "/") + ".py")]
        yield text
        base = re.search(rf"^class\s+{name}\((?:\w+,\s*)*(\w+)\)", text, re.MULTILINE)
        if base and base[1] != name:
            yield from self._texts(base[1])

    def reads(self, section: str) -> bool:
        """Whether any recipe speaks of that top-level section at all."""
        if f"top {section}" not in self._known:
            word = re.compile(rf"[\"'.]{re.escape(section)}\b")
            found = any(section in text and word.search(text) for text in self._sources.values())
            self._known[f"top {section}"] = frozenset({section}) if found else None
        return self._known[f"top {section}"] is not None

    def has(self, target: str) -> bool:
        """Whether a dotted path into this package (``nemo_automodel.a.b.c``) can lead to something.

        Only what is surely absent is denied: names that a module makes at run time count as there when its text has them.
        """
        package, *parts = target.split(".")
        if package != self.root.name:
            return True
        place = self.root
        for part in parts:
            if (place / part).is_dir():
                place = place / part
            elif (place / f"{part}.py").is_file():
                place = place / f"{part}.py"
            else:
                file = place if place.suffix == ".py" else place / "__init__.py"
                try:
                    return re.search(rf"\b{re.escape(part)}\b", file.read_text(encoding="utf-8")) is not None
                except OSError:
                    return False
        return True

    @cached_property
    def _sources(self) -> dict[Path, str]:
        found = {}
        for path in sorted((self.root / "recipes").rglob("*.py")):
            try:
                found[path] = path.read_text(encoding="utf-8")
            except (OSError, UnicodeError):
                continue
        return found


def _fields(path: Path, name: str) -> frozenset[str] | None:
    """The fields of a dataclass in a source file; None where the file, the class or a base of it is not there."""
    body = _class(path, name)
    if body is None:
        return None
    fields = frozenset(
        item.target.id for item in body.body if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    )
    for base in body.bases:
        inherited = _fields(path, base.id) if isinstance(base, ast.Name) else None
        if inherited is None:
            return None
        fields |= inherited
    return fields


def _parameters(package: Path, name: str) -> frozenset[str] | None:
    """What the constructor of a class takes beside the parameters to train; None where it takes anything, or is not found."""
    for path in sorted(package.glob("*.py")):
        body = _class(path, name)
        for item in body.body if body else ():
            if isinstance(item, ast.FunctionDef) and item.name == "__init__":
                given = item.args
                names = frozenset(arg.arg for arg in (*given.args, *given.kwonlyargs)) - {"self", "params"}
                return None if given.vararg or given.kwarg else names
    return None


def _class(path: Path, name: str) -> ast.ClassDef | None:
    """A class in a source file. Only its own text is parsed: the files around are long."""
    try:
        text = path.read_text(encoding="utf-8")
        found = re.search(rf"^class {re.escape(name)}\b.*:\n(?:(?:[ \t].*)?\n)*", text, re.MULTILINE)
        body = ast.parse(textwrap.dedent(found.group())).body[0] if found else None
    except (OSError, UnicodeError, SyntaxError, ValueError):
        return None
    return body if isinstance(body, ast.ClassDef) else None
