"""Writes what attacks whoever shows it as HTML, a few steps of a training, and fails with one more attack."""

import sys

ATTACKS = [
    "<img src=x onerror=hit()>",
    "</pre></code></details></style></textarea><script>hit()</script><svg onload=hit()>",
    "\" onmouseover='hit()' autofocus onfocus='hit()' x=\"",
    "\x1b[31m<iframe srcdoc='<script>parent.hit()</script>'></iframe>\x1b[0m",
]
for i, attack in enumerate(ATTACKS):
    print(f"2026-12-01 00:00:0{i} | WARNING | {attack} | {attack}", flush=True)
    print(
        f"2026-12-01 00:00:0{i} | INFO | root | step {i} | epoch 0 | loss {3 - i / 2} | grad_norm 1.0 | lr 1.00e-04"
        " | mem 1.20 GiB | tps 5000.28(29.14/gpu) | num_label_tokens 58",
        flush=True,
    )
if "fail" in sys.argv:
    raise ValueError("".join(ATTACKS))
