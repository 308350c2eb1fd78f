"""Writes lines: `flood.py LINES RATE`; RATE lines a second, 0 for as fast as it goes. Each ends in the time it was written."""

import sys
import time

lines, rate = int(sys.argv[1]), int(sys.argv[2])
began, out = time.monotonic(), sys.stdout
block = max(1, rate // 100) if rate else 1000
for start in range(0, lines, block):
    now = time.time()
    out.write("".join(f"line {i} {'x' * 110} {now:.6f}\n" for i in range(start + 1, min(start + block, lines) + 1)))
    out.flush()
    if rate and (left := began + (start + block) / rate - time.monotonic()) > 0:
        time.sleep(left)
