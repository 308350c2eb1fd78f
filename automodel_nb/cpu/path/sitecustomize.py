"""Run by Python at start-up where this directory is on PYTHONPATH; acts only with ``AUTOMODEL_NB_CPU=1``.

The places of AutoModel (0.3 to 0.7) that need a GPU without asking for one:

- its command line counts ``torch.distributed.run.determine_local_world_size("gpu")`` and stops at none
- a recipe calls ``torch.cuda.reset_peak_memory_stats()``, which a CPU build of torch does not have
- a model is made on ``torch.device("cuda", torch.cuda.current_device())``

Each is patched when its module is first imported, so that no other process pays for an import of torch. This file
belongs to the job's interpreter, whichever that is: standard library only, Python 3.10 and newer.
"""

from __future__ import annotations

import os
import sys
from _frozen_importlib_external import PathFinder  # importlib.machinery's, without the modules that it would import

TYPE_CHECKING = False  # typing is not imported at the start-up of every Python
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

    Patch = Callable[[Any], None]

HERE = os.path.dirname(os.path.abspath(__file__))


def patch_torchrun(module: Any) -> None:
    """Let ``gpu`` count the devices that the launch said."""
    count = module.determine_local_world_size
    devices = int(os.environ.get("AUTOMODEL_NB_CPU_DEVICES", "1"))
    module.determine_local_world_size = lambda nproc_per_node: devices if nproc_per_node == "gpu" else count(nproc_per_node)


def patch_cuda(module: Any) -> None:
    """Make the peak of no memory resettable."""
    module.reset_peak_memory_stats = lambda device=None: None


def patch_user_of_torch(module: Any) -> None:
    """Let the module's own name ``torch`` answer "cpu" where it asks for the current GPU; torch itself stays as it is."""
    torch = module.torch

    class Cuda:
        def __getattr__(self, name: str) -> Any:
            return getattr(torch.cuda, name)

        def current_device(self) -> Any:
            return torch.device("cpu")

    class Torch:
        cuda = Cuda()

        def __getattr__(self, name: str) -> Any:
            return getattr(torch, name)

        def device(self, *args: Any, **kwargs: Any) -> Any:
            return torch.device("cpu") if str((*args, "")[0]).startswith("cuda") else torch.device(*args, **kwargs)

    module.torch = Torch()


PATCHES: dict[str, Patch] = {
    "torch.distributed.run": patch_torchrun,
    "torch.cuda": patch_cuda,
    "nemo_automodel._transformers.auto_model": patch_user_of_torch,
    "nemo_automodel.recipes.llm.train_ft": patch_user_of_torch,
}


class PatchingFinder:
    """First on ``sys.meta_path``: finds a module as the other finders do, and patches it once it has been executed."""

    def __init__(self, patches: dict[str, Patch]) -> None:
        self.patches = patches

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """As importlib.abc.MetaPathFinder.find_spec."""
        patch = self.patches.get(name)
        if patch is None:
            return None
        others: list[Any] = [finder for finder in sys.meta_path if finder is not self]
        spec = next((spec for finder in others if (spec := finder.find_spec(name, path, target)) is not None), None)
        loader: Any = spec.loader if spec is not None else None
        if hasattr(loader, "exec_module"):
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                patch(module)

            # On the loader itself, not around it: runpy and inspect ask a loader for much more than this.
            loader.exec_module = exec_module
        return spec


def run_next_sitecustomize() -> None:
    """Python runs the first sitecustomize on sys.path only; run the one that this directory stands before."""
    following = sys.path[sys.path.index(HERE) + 1 :] if HERE in sys.path else []
    spec = PathFinder.find_spec("sitecustomize", following)
    if spec is not None and spec.loader is not None:
        from importlib.util import module_from_spec

        sys.modules["sitecustomize"] = module = module_from_spec(spec)
        spec.loader.exec_module(module)


if os.environ.get("AUTOMODEL_NB_CPU") == "1":
    sys.meta_path.insert(0, PatchingFinder(PATCHES))
run_next_sitecustomize()
