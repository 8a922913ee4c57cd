# SPDX-License-Identifier: MIT
"""What the suites need of the machine: pinning, processor time of processes, free ports."""

import os
import pathlib
import platform
import re
import resource
import signal
import socket
import subprocess
import time

SERVER_CORE = 0
CLIENT_CORE = 1


class Failed(Exception):
    """A measurement that could not be made, and why."""


class Group:
    """A control group with a large share of the processor, for what is measured in real time.

    Other work on the machine then waits while a measurement runs. Only where we may make one
    (root, cgroup version 1 with its cpu controller); elsewhere it changes nothing.
    """

    def __init__(self, name):
        shares = int(os.environ.get("HEDDLE_BENCH_SHARE", 65536))   # 1024: as anybody else
        self.path = pathlib.Path("/sys/fs/cgroup/cpu") / f"{name}_{os.getpid()}"
        try:
            self.path.mkdir()
            (self.path / "cpu.shares").write_text(str(shares))
        except OSError:
            self.path = None

    def enter(self):
        """For a child between fork and exec."""
        if self.path:
            (self.path / "cgroup.procs").write_text("0")

    def close(self):
        """Once everything in it has ended."""
        try:
            if self.path:
                self.path.rmdir()
        except OSError:
            pass
        self.path = None


def pin_to(core, group=None):
    """For preexec_fn: keeps the child on one core, where the machine has it; None: on any.

    The child may open as many files as the machine allows: some servers ask for no more than they
    were given.
    """
    def pin():
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        if core in os.sched_getaffinity(0):
            os.sched_setaffinity(0, {core})
        if group:
            group.enter()
    return pin


def run(command, core=SERVER_CORE, timeout=300, env=None, group=None):
    """The standard output of a command that must succeed, pinned to a core (None: not pinned)."""
    try:
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True,
                              timeout=timeout, preexec_fn=pin_to(core, group), env=env)
    except subprocess.TimeoutExpired:
        raise Failed(f"took more than {timeout} s: {' '.join(map(str, command))}") from None
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:] or ["no message"]
        raise Failed(f"{pathlib.Path(str(command[0])).name}: exit {done.returncode}: {said[0]}")
    return done.stdout


def family(pid):
    """A process and all its descendants, the eldest first."""
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue   # it ended meanwhile
            children.setdefault(parent, []).append(int(entry.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def cpu_seconds(pids):
    """User and system seconds of the processes so far, from /proc/PID/stat."""
    ticks = 0
    for pid in pids:
        try:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def memory(pids):
    """Bytes of the processes together: (resident, anonymous). Pages shared among them count once.

    Anonymous is what a program took for itself: heap, stacks, and shared memory without a file.
    """
    resident = anonymous = 0
    for pid in pids:
        try:
            text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        kib = {name: int(value) for name, value in re.findall(r"^(\w+): +(\d+) kB", text, re.M)}
        resident += kib["Pss"] * 1024
        anonymous += (kib["Pss_Anon"] + kib["Pss_Shmem"]) * 1024
    return resident, anonymous


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for_port(process, port, seconds=10):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise Failed(f"ended at once with exit status {process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), 0.2).close()
            return
        except OSError:
            time.sleep(0.02)
    raise Failed(f"did not listen on port {port} within {seconds} s")


def stop(process):
    """Ends a process that we started, politely first."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def describe():
    """One line about the machine, for the head of a report."""
    model = "unknown processor"
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    load = os.getloadavg()[0]
    return f"{model}, {os.cpu_count()} cores, Linux {platform.release()}, load {load:.2f}"
