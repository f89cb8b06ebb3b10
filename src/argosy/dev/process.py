"""Start and end processes that outlive the command that started them.

A process is known by its id *and* the moment it started, so that an id that the system gave to
somebody else meanwhile is never signalled. Each process leads a session of its own: a ^C in the
terminal does not reach it. Linux only, as Kubernetes' own servers are run here.
"""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = [
    "Process",
    "find_marked",
    "identify",
    "is_alive",
    "memory",
    "signal_group",
    "spawn",
    "stop",
    "uninterrupted",
]

ZOMBIE = "Z"


class Process(msgspec.Struct, frozen=True):
    """A process that was started: its name in the cluster, its id, and when it started."""

    name: str
    pid: int
    started: int  # clock ticks since boot, field 22 of /proc/PID/stat
    boot: str  # ids and ticks start anew when the machine does


def identify(name: str, pid: int) -> Process | None:
    """Return the running process `pid`, or None when there is none."""
    found = _stat(pid)
    if found is None or found[0] == ZOMBIE:
        return None
    return Process(name, pid, found[1], _boot())


def is_alive(process: Process) -> bool:
    """Say whether this very process still runs."""
    _reap(process.pid)
    return identify(process.name, process.pid) == process


def memory(process: Process) -> int:
    """Return the resident memory in bytes, 0 when the process is gone."""
    try:
        pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def spawn(name: str, argv: Sequence[str], *, log: Path, env: Mapping[str, str]) -> Process:
    """Start a program with its output going to `log`; return without waiting for anything.

    `os.posix_spawn` rather than `subprocess`: nobody here waits for the process to end, and
    signals are held back until the caller has written down what was started.
    """
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    pid = os.posix_spawn(
        argv[0], list(argv), dict(env), file_actions=actions, setsid=True, setsigmask=()
    )
    return identify(name, pid) or Process(name, pid, 0, _boot())


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold ^C and SIGTERM back, so that no process is started without being written down."""
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def stop(processes: Iterable[Process], *, grace: float) -> None:
    """End processes and return when all are gone: SIGTERM, and SIGKILL after `grace` seconds."""
    left = [p for p in processes if is_alive(p)]
    for sign, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, 30.0)):
        for process in left:
            signal_group(process, sign)
        left = _wait_for_end(left, patience)
        if not left:
            return
    raise OSError(f"process {left[0].pid} ({left[0].name}) does not end, even by SIGKILL")


def signal_group(process: Process, sign: signal.Signals) -> None:
    """Send a signal to the process; SIGKILL goes to the whole group that it leads."""
    if not is_alive(process):
        return
    with suppress(ProcessLookupError):
        if sign is signal.SIGKILL:
            os.killpg(process.pid, sign)
        else:
            os.kill(process.pid, sign)


def find_marked(mark: str) -> list[Process]:
    """Return the processes of ours in whose environment `mark` stands, whoever started them."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended, or is somebody else's
            if mark.encode() in (entry / "environ").read_bytes():
                process = identify("marked", int(entry.name))
                found += [process] if process else []
    return found


def _wait_for_end(processes: list[Process], patience: float) -> list[Process]:
    """Wait until all have ended or the time is up; return those that still run."""
    deadline = time.monotonic() + patience
    for process in processes:
        try:
            handle = os.pidfd_open(process.pid)
        except ProcessLookupError:
            continue
        try:
            if is_alive(process):
                poll = select.poll()
                poll.register(handle, select.POLLIN)
                poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
        finally:
            os.close(handle)
    return [p for p in processes if is_alive(p)]


def _stat(pid: int) -> tuple[str, int] | None:
    """Return the state letter and the start time of a process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()  # the command's name may hold spaces and brackets
    return fields[0], int(fields[19])


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _reap(pid: int) -> None:
    """Take note of the end of a child of ours, so that it does not stay as a zombie."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
