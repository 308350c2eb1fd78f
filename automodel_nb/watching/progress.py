"""Where a training stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from automodel_nb.watching.points import MetricPoint

_SURE = 5.0  # seconds: the log's times are whole seconds, so a shorter stretch gives no rate


@dataclass(frozen=True, slots=True)
class Progress:
    """What a log says about the training that it holds; of the last one where it was restarted.

    Attributes:
        step, epoch: of the last step that was logged, 0-based; None before the first.
        total_steps: None where nothing limits them, or before AutoModel has said so.
        fraction: of the steps that are done, 0 to 1.
        steps_per_s: over the last 200 steps of this run.
        eta_s: seconds to the last step at that rate.
        last, last_val: the last training and validation points.
        checkpoints: what was *begun* to be saved, as logged (the last 200 paths); AutoModel does not log that a save is done.
        restarts: how often training began again in this log after there had been steps.
        resumed_from: checkpoint that was loaded last, as logged.
        finished: True when the last of ``total_steps`` was done; False when training stopped on a signal before; else None
            (still going, or failed, or out of epochs: AutoModel logs no end).
        preempted: AutoModel said that a signal makes it save and stop. (Not logged where only another rank than 0 got it.)
        last_line: the last clean line.
    """

    step: int | None = None
    epoch: int | None = None
    total_steps: int | None = None
    fraction: float | None = None
    steps_per_s: float | None = None
    eta_s: float | None = None
    last: MetricPoint | None = None
    last_val: MetricPoint | None = None
    checkpoints: tuple[str, ...] = ()
    restarts: int = 0
    resumed_from: str | None = None
    wandb_url: str | None = None
    finished: bool | None = None
    preempted: bool = False
    last_line: str = ""

    @property
    def last_loss(self) -> float | None:
        """Training loss of the last step."""
        return self.last.loss if self.last else None

    @property
    def trained_nothing(self) -> bool:
        """True where a finished training was started again: AutoModel resumes from its end, does no step, and exits with 0."""
        return bool(self.finished) and self.last is None

    @classmethod
    def of(
        cls,
        last: MetricPoint | None,
        last_val: MetricPoint | None,
        *,
        total_steps: int | None,
        bar: tuple[int, int, float | None] | None,
        times: Sequence[tuple[int, float]],
        checkpoints: tuple[str, ...],
        restarts: int,
        resumed_from: str | None,
        wandb_url: str | None,
        preempted: bool,
        last_line: str,
    ) -> Progress:
        """From what the parser collected; ``bar`` is (steps done, total, steps a second), ``times`` are (step, UTC seconds)."""
        drawn, drawn_total, rate = bar or (0, None, None)
        done = max(last.step + 1 if last else 0, drawn)
        total = total_steps or drawn_total
        if len(times) > 1 and times[-1][1] - times[0][1] >= _SURE:
            rate = (times[-1][0] - times[0][0]) / (times[-1][1] - times[0][1])
        return cls(
            step=done - 1 if done else None,
            epoch=last.epoch if last else None,
            total_steps=total,
            fraction=min(done / total, 1.0) if total else None,
            steps_per_s=rate,
            eta_s=max(total - done, 0) / rate if total and rate else None,
            last=last,
            last_val=last_val,
            checkpoints=checkpoints,
            restarts=restarts,
            resumed_from=resumed_from,
            wandb_url=wandb_url,
            finished=True if total and done >= total else (False if preempted else None),
            preempted=preempted,
            last_line=last_line,
        )
