"""One shell on a login node that lives on and does what it is sent, a request after the other.

A request is a text for `sh`, sent behind its length. What it writes comes back, and ends where a number appears that was
made up for this request, on both streams. So nothing needs to be installed there, a banner that a shell's start-up files
print is passed over, and what is secret travels through standard input, in no argument list.
"""

from __future__ import annotations

import os
import re
import secrets
import selectors
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

# The remote command line is read by the user's own login shell, whichever that is (csh and fish quote otherwise than sh):
# it holds nothing but this, and all else follows on standard input.
_COMMAND = "exec /bin/sh -c 'eval \"$(dd bs=1 count={} 2>/dev/null)\"'"
# Then the environment of a login: without it, Slurm's commands are often not on PATH. Start-up files read nothing of ours.
_START = r"""
exec 3<&0 </dev/null
export AMNB_LOOP='unset AMNB_LOOP; exec 0<&3 3<&-
while read -r n; do eval "$(dd bs=1 count="$n" 2>/dev/null)"; done'
case ${SHELL##*/} in
  bash | zsh | ksh* | mksh | dash | ash | sh | fish) exec "$SHELL" -l -c 'exec /bin/sh -c "$AMNB_LOOP"' 3<&3 ;;
  *) exec /bin/sh -c "$AMNB_LOOP" ;;
esac
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request wrote, and its exit status."""

    stdout: bytes
    stderr: str
    returncode: int


class ChannelError(Exception):
    """The connection ended, or did not answer in time. Whether the request was carried out is not known.

    Attributes:
        stderr: what ssh (or the remote shell) said.
        returncode: of ssh, 255 where ssh itself failed; None where it was too slow.
    """

    def __init__(self, stderr: str, returncode: int | None) -> None:
        super().__init__(stderr.strip() or "no answer")
        self.stderr, self.returncode = stderr, returncode


def command_line() -> str:
    """What ssh is told to run."""
    return _COMMAND.format(len(_START.encode()))


class Channel:
    """The shell behind ``argv``, started at once.

    Not for several threads at a time.

    Args:
        argv: ends in `command_line()` as the remote command.
    """

    def __init__(self, argv: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            list(argv),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # the notebook's stop button must not reach it
        )
        self._unsent = bytearray(_START.encode())
        for pipe in self._pipes:
            os.set_blocking(pipe.fileno(), False)

    @property
    def _pipes(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        process = self._process
        assert process.stdin
        assert process.stdout
        assert process.stderr
        return process.stdin, process.stdout, process.stderr

    @property
    def alive(self) -> bool:
        """Whether ssh still runs."""
        return self._process.poll() is None

    def request(self, script: str, timeout: float) -> Answer:
        """Have a script run, in a subshell without input.

        Raises:
            ChannelError: and the channel is closed.
        """
        nonce = secrets.token_hex(16)
        # one compound command: should the connection break before all of it has come, none of it is run
        text = f"(\n{script}\n) </dev/null; printf '\\n{nonce} %s\\n' \"$?\"; printf '\\n{nonce} 0\\n' >&2"
        data = text.encode("utf-8", "surrogateescape")
        assert b"\0" not in data
        self._unsent += b"%d\n%b" % (len(data), data)
        try:
            return self._exchange(re.compile(rb"\n%b (\d+)\n" % nonce.encode()), time.monotonic() + timeout)
        except BaseException:
            self.close()  # an answer that comes later must not be taken for the next one's
            raise

    def _exchange(self, end: re.Pattern[bytes], deadline: float) -> Answer:
        stdin, stdout, stderr = self._pipes
        got = {stdout: bytearray(), stderr: bytearray()}
        ends: dict[IO[bytes], re.Match[bytes]] = {}
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            selector.register(stderr, selectors.EVENT_READ)
            selector.register(stdin, selectors.EVENT_WRITE)
            while len(ends) < 2:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise ChannelError(_text(got[stderr]), None)
                for key, _ in selector.select(left):
                    pipe: IO[bytes] = key.fileobj  # type: ignore[assignment]
                    if pipe is stdin:
                        if not self._send():
                            selector.unregister(stdin)
                        continue
                    new = os.read(pipe.fileno(), 1 << 16)
                    if not new:
                        raise ChannelError(_text(got[stderr]) + self._last_words(), self._status())
                    seen = len(got[pipe])
                    got[pipe] += new
                    if found := end.search(got[pipe], max(0, seen - 64)):
                        ends[pipe] = found
        return Answer(
            bytes(got[stdout][: ends[stdout].start()]), _text(got[stderr][: ends[stderr].start()]), int(ends[stdout][1])
        )

    def _send(self) -> bool:
        """Send what can be sent now; True while there is more."""
        try:
            sent = os.write(self._pipes[0].fileno(), self._unsent[: 1 << 16])
        except BlockingIOError:
            return True
        except BrokenPipeError:
            return False  # why, its end tells
        del self._unsent[:sent]
        return bool(self._unsent)

    def _last_words(self) -> str:
        """What ssh still says when the connection has ended."""
        stderr = self._pipes[2]
        words = bytearray()
        deadline = time.monotonic() + 2
        with selectors.DefaultSelector() as selector:
            selector.register(stderr, selectors.EVENT_READ)
            while selector.select(max(0, deadline - time.monotonic())) and (new := os.read(stderr.fileno(), 1 << 16)):
                words += new
        return _text(words)

    def _status(self) -> int | None:
        try:
            return self._process.wait(2)
        except subprocess.TimeoutExpired:
            return None

    def close(self) -> None:
        """End it; the shared connection, where there is one, stays."""
        self._process.kill()
        self._process.wait()
        for pipe in self._pipes:
            pipe.close()


def _text(data: bytes | bytearray) -> str:
    return data.decode("utf-8", "replace")
