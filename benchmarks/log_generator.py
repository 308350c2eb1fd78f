"""A log in AutoModel's format, of any size and always the same: `python benchmarks/log_generator.py OUT MEGABYTES`.

Its lines are those of a real run of nemo-automodel 0.7.0 (the header is that run's, tests/data/torchrun2.log): records of other
modules, library warnings, NCCL's lines, and one step in 20 lines, glued behind a tqdm bar that was drawn twice.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

_START = 1_790_000_000  # 2026-09-21, UTC
_EVERY = 20  # one line in so many is a step
_HEADER = (Path(__file__).parents[1] / "tests" / "data" / "torchrun2.log").read_bytes().partition(b"\rTraining:   0%")[0]
_OTHERS = (
    "{time} | INFO | nemo_automodel.components.datasets.llm.packed_sequence | Packed 512 samples into 97 sequences, 3 dropped",
    "{time} | DEBUG | nemo_automodel.components.moe.layers | expert loads min 0.91 max 1.13 mean 1.00 over 64 experts",
    "gpu-node-17:48213:48890 [3] NCCL INFO Channel 07/0 : 3[3] -> 2[2] via P2P/CUMEM/read",
    "/usr/local/lib/python3.11/site-packages/torch/utils/checkpoint.py:1037: UserWarning: use_reentrant should be given",
    "  return fn(*args, **kwargs)",
    "{time} | INFO | nemo_automodel.components.optim.scheduler | learning rate decay style: cosine, weight decay 0.01",
)


def log_blocks(steps: int | None = None) -> Iterator[bytes]:
    """The header, then a block of lines for each step (endless where `steps` is None)."""
    rng = random.Random(0)
    yield _HEADER
    others = "".join(f"{_OTHERS[i % len(_OTHERS)]}\n" for i in range(_EVERY - 1))
    total, step = steps or 10_000_000, 0
    while steps is None or step < steps:
        seconds = 2 * step
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(_START + seconds))
        loss = 6 / (1 + step / 500) + rng.random() / 10
        begin = f"\rTraining: {100 * step // total:3d}%|{'█' * (10 * step // total):<10}| "
        end = f"/{total} [{seconds // 60:02d}:{seconds % 60:02d}<5:33:20,  2.00s/step, loss={loss:.4f}, lr=1.00e-05, tps=24680]"
        record = (
            f"{stamp} | INFO | root | step {step} | epoch 0 | loss {loss:.4f} | grad_norm {3 * rng.random():.4f} | lr 1.00e-05"
            f" | mem 41.23 GiB | tps {rng.uniform(2e4, 3e4):.2f}({rng.uniform(2e3, 4e3):.2f}/gpu)"
            f" | num_label_tokens {rng.randint(9_000, 16_000)}\n"
        )
        yield f"{begin}{step}{end}{begin}{step + 1}{end}{record}{others.replace('{time}', stamp)}".encode()
        step += 1


def write_log(path: Path, size: int) -> int:
    """Write at least `size` bytes; the number of steps in them."""
    written = steps = 0
    with open(path, "wb", buffering=1 << 20) as file:
        for block in log_blocks():
            written += file.write(block)
            if written >= size:
                return steps
            steps += 1
    raise AssertionError


if __name__ == "__main__":
    write_log(Path(sys.argv[1]), int(float(sys.argv[2]) * 1e6))
