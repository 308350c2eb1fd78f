"""AutoModel's step records, out of bytes.

    … | INFO | root | step 39 | epoch 0 | loss 2.8591 | grad_norm 1.0371 | lr 1.00e-04 | mem 0.00 GiB | tps 5918.28(2959.14/gpu)
    … | INFO | root | [val] name "default" | step 39 | epoch 0 | loss 2.9129 | lr 1.00e-04 | num_label_tokens 117

The train record is the same in all releases from 0.1.0 to 0.7.0. Of the validation record 0.1 and the vision recipes have no
``name "…"``, and the distillation recipe has a bare name; the retrieval recipes write ``val_loss`` and no ``[val]``.
"""

from __future__ import annotations

import re
from datetime import datetime, tzinfo

from automodel_nb.watching.points import MetricPoint

#: Bytes before ``step`` that belong to a record, and behind it, at most.
BACK, AHEAD = 512, 2048

# A pattern that begins with fixed bytes is searched about as fast as those bytes. First the record that is by far the most
# frequent; then any other, of which the fields are taken apart.
RECORD = re.compile(
    rb"step (\d{1,18}) \| epoch (\d{1,18}) \| (?:loss (\S{1,40}) \| grad_norm (\S{1,40}) \| lr (\S{1,40}) \| mem (\S{1,40}) GiB"
    rb" \| tps ([^\s(]{1,40})|([^\r\n]{0,1900}))"
)
_ROOT = b" | INFO | root | "
_STAMP = len(b"2026-12-01 02:48:07")
_TIME = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?=(?:[.,]\d+)? \| )")
_FIELDS = frozenset((b"loss", b"val_loss", b"lr", b"grad_norm", b"tps", b"mem"))


class Clock:
    """A log's local times to UTC seconds; converts once for each minute of the log.

    Args:
        zone: of the log; None is this machine's.
    """

    def __init__(self, zone: tzinfo | None) -> None:
        self._zone = zone
        self._minute = b""
        self._base = 0.0

    def seconds(self, stamp: bytes) -> float | None:
        """Of ``2026-12-01 02:48:07``; None for anything else."""
        try:
            if stamp[:16] != self._minute:
                base = datetime.strptime(stamp[:16].decode("ascii"), "%Y-%m-%d %H:%M").replace(tzinfo=self._zone).timestamp()
                self._minute, self._base = stamp[:16], base
            return self._base + int(stamp[17:19])
        except (ValueError, OverflowError, OSError):
            return None


def point_of(data: bytes, record: re.Match[bytes], clock: Clock) -> MetricPoint:
    """The point of a match of RECORD in ``data``."""
    start = record.start()
    step, epoch, loss, grad_norm, lr, memory, tps, other = record.groups()
    if other is None and data[start - len(_ROOT) : start] == _ROOT and start >= len(_ROOT) + _STAMP:
        time = clock.seconds(data[start - len(_ROOT) - _STAMP : start - len(_ROOT)])
        return MetricPoint(
            int(step), int(epoch), "train", _number(loss), _number(lr), _number(grad_norm), _number(tps), _number(memory), time
        )
    low = max(0, start - BACK)
    before = data[max(low, data.rfind(b"\n", low, start) + 1, data.rfind(b"\r", low, start) + 1) : start]
    if other is None:
        values = {b"loss": loss, b"lr": lr, b"grad_norm": grad_norm, b"tps": tps, b"mem": memory}
    else:
        values = {name: value for field in other.split(b" | ") for name, _, value in [field.partition(b" ")] if name in _FIELDS}
    stamps = _TIME.findall(before)
    return MetricPoint(
        int(step),
        int(epoch),
        _split(before) if b"[val]" in before or b"val_loss" in values else "train",
        _number(values.get(b"loss", values.get(b"val_loss", b""))),
        _number(values.get(b"lr", b"")),
        _number(values.get(b"grad_norm", b"")),
        _number(values.get(b"tps", b"")),
        _number(values.get(b"mem", b"")),
        clock.seconds(stamps[-1]) if stamps else None,
    )


def _split(before: bytes) -> str:
    """``val`` or ``val/NAME`` from what stands between ``[val]`` and ``step``."""
    name = before[before.rfind(b"[val]") + 5 :].strip(b" |") if b"[val]" in before else b""
    if name.startswith(b'name "'):
        name = name[6:-1]
    return "val" if name in (b"", b"default") else f"val/{name.decode('utf-8', 'backslashreplace')}"


def _number(value: bytes) -> float | None:
    try:
        return float(value)
    except ValueError:
        try:
            return float(value.split(b"(", 1)[0].split(b" ", 1)[0])  # "5918.28(2959.14/gpu)", "0.00 GiB"
        except ValueError:
            return None
