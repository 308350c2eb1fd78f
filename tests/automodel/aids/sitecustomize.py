"""Faults and delays in the real AutoModel, for tests; never shipped.

To stand after ``automodel_nb.cpu.PATH`` on PYTHONPATH: the CPU shim runs this file as the next sitecustomize, and its
finder (there where ``AUTOMODEL_NB_CPU=1``) makes these patches, too.

    AM_STEP_SLEEP=0.5     each training step takes that many seconds longer
    AM_SAVE_SLEEP=5       each checkpoint takes that many seconds longer, between the model's files and the optimizer's
    AM_FAIL=RANK:STEP     that rank fails at that step ...
    AM_FAIL_KIND=oom      ... so: oom | exc | exit | segv | kill | hang
    AM_FAIL_ONCE=FILE     ... only where FILE does not exist (it is made)
"""

import os
import sys
import time


def fail():
    import signal

    once = os.environ.get("AM_FAIL_ONCE")
    if once:
        if os.path.exists(once):
            return
        open(once, "w").close()
    kind = os.environ.get("AM_FAIL_KIND", "exc")
    if kind == "oom":
        import torch

        raise torch.OutOfMemoryError(
            "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.13 GiB is free."
        )
    if kind == "exc":
        raise RuntimeError("raised by AM_FAIL")
    if kind == "exit":
        sys.exit(7)
    if kind in ("segv", "kill"):
        os.kill(os.getpid(), signal.SIGSEGV if kind == "segv" else signal.SIGKILL)
    if kind == "hang":
        time.sleep(3600)


def patch_step_scheduler(module):
    steps = module.StepScheduler.__iter__
    sleep = float(os.environ.get("AM_STEP_SLEEP", "0"))
    rank, _, step = os.environ.get("AM_FAIL", "").partition(":")

    def __iter__(self):
        for batch in steps(self):
            time.sleep(sleep)
            if rank == os.environ.get("RANK", "0") and step == str(self.step):
                fail()
            yield batch

    module.StepScheduler.__iter__ = __iter__


def patch_checkpointing(module):
    save = module.Checkpointer.save_optimizer
    sleep = float(os.environ.get("AM_SAVE_SLEEP", "0"))

    def save_optimizer(self, *args, **kwargs):
        time.sleep(sleep)
        return save(self, *args, **kwargs)

    module.Checkpointer.save_optimizer = save_optimizer


PATCHES = {
    "nemo_automodel.components.training.step_scheduler": patch_step_scheduler,
    "nemo_automodel.components.checkpoint.checkpointing": patch_checkpointing,
}

for finder in sys.meta_path:
    if type(finder).__name__ == "PatchingFinder":
        finder.patches = {**finder.patches, **PATCHES}
