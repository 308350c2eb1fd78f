"""Writes what AutoModel writes for a training: `steps.py STEPS SECONDS [fail]`."""

import sys
import time

steps, pause = int(sys.argv[1]), float(sys.argv[2])
print(f"Max train steps: {steps}", flush=True)
for i in range(steps):
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    print(
        f"{stamp} | INFO | root | step {i} | epoch 0 | loss {6 / (1 + i / 9):.4f} | grad_norm 1.0 | lr 1.00e-04"
        f" | mem 1.20 GiB | tps {5000 + 37 * (i % 7)}.28(29.14/gpu) | num_label_tokens 58",
        flush=True,
    )
    if i % 5 == 4:
        print("\x1b[33m[WARNING]\x1b[0m something \x1b[1;32mgreen and bold\x1b[0m", flush=True)
    time.sleep(pause)
if "fail" in sys.argv:
    raise ValueError("the data set has no column 'question'")
