# SPDX-License-Identifier: MIT
"""Suite workers: one `heddle serve` with one and with two workers, under the same client load.

On a machine with two cores the client and two workers cannot each have a core. So the server is
held to 15 % of a core for each worker (a control group's CPU quota): the client then has more than
a core, and says how much of it it used (client_core). Without a control group that we may make
(root, cgroup version 1 with its cpu controller) the suite is skipped.

Subject heddle_2_workers is one process with two workers; heddle_2_processes, two processes with one
worker and half of the clients each, is the upper bound.
"""

import os
import pathlib
import re
import resource
import subprocess

import bench_machine as machine
import bench_servers as servers
from bench_machine import Failed
from bench_plan import build_folder, Measure, Plan

QUOTA_SHARE = 0.15      # of a core for each worker
PERIOD_US = 100_000
CONNECTIONS = 64
BODY = 1024
PATH = "/file.txt"


class Quota:
    """A control group that gets so much of a core."""

    def __init__(self, name, share):
        self.path = pathlib.Path("/sys/fs/cgroup/cpu") / f"{name}_{os.getpid()}"
        self.path.mkdir()
        (self.path / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (self.path / "cpu.cfs_quota_us").write_text(str(int(PERIOD_US * share)))

    def enter(self):
        (self.path / "cgroup.procs").write_text("0")

    def close(self):
        try:
            self.path.rmdir()
        except OSError:
            pass


class AnyCore(servers.Server):
    """A server that may use every core, within its group."""

    def start(self):
        if self.process is not None and self.process.poll() is None:
            return
        self.port = machine.free_port()
        self.process = subprocess.Popen(
            [str(c) for c in self.command(self.port)], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=self.group.enter if self.group else None)
        machine.wait_for_port(self.process, self.port)


def wrk(port, connections, seconds):
    return subprocess.Popen(["wrk", "-t2", f"-c{connections}", f"-d{seconds}s",
                             f"http://127.0.0.1:{port}{PATH}"], stdout=subprocess.PIPE, text=True)


def rate_of(text):
    found = re.search(r"Requests/sec:\s+([0-9.]+)", text)
    if not found or "Non-2xx" in text or "Socket errors" in text:
        raise Failed(f"the client says: {text.strip()}")
    return float(found[1])


def plan(context):
    out = Plan(["serve_1k"])
    program = build_folder(context.root) / "bin" / "heddle"
    if not program.exists() or servers.program("wrk") is None:
        out.skip("heddle", "build/dist/bin/heddle or wrk is missing")
        return out
    home = context.root / "build" / "bench" / "workers"
    home.mkdir(parents=True, exist_ok=True)
    (home / PATH[1:]).write_bytes(b"b" * BODY)
    seconds = 1 if context.brief else 3
    made = []

    def group(name, share):
        made.append(Quota(name, share))
        return made[-1]

    def serve(workers, quota):
        s = AnyCore("heddle", lambda port: [program, "serve", home, "-p", port, "--log", "off",
                                            "--queue-delay", "0", "--workers", workers])
        s.group = quota
        made.append(s)
        return s

    try:
        subjects = {
            "heddle_1_worker": [serve(1, group("heddle_one", QUOTA_SHARE))],
            "heddle_2_workers": [serve(2, group("heddle_two", 2 * QUOTA_SHARE))],
            "heddle_2_processes": [serve(1, group("heddle_a", QUOTA_SHARE)),
                                   serve(1, group("heddle_b", QUOTA_SHARE))],
        }
    except OSError as why:
        out.skip("heddle", f"no control group with a CPU quota: {why}")
        return out

    def measure(parts):
        for s in parts:
            s.start()
            servers.check_http(s, PATH, BODY)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        clients = [wrk(s.port, CONNECTIONS // len(parts), seconds) for s in parts]
        texts = [c.communicate(timeout=60)[0] for c in clients]
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
        return [("rate", sum(rate_of(t) for t in texts), "1/s"),
                ("client_core", used / seconds, "cores")]

    def close():
        for each in reversed(made):
            each.stop() if isinstance(each, servers.Server) else each.close()

    out.close = close
    for name, parts in subjects.items():
        out.add(Measure("serve_1k", name, seconds + 0.3, lambda p=parts: measure(p)))
    out.pairs += [("heddle_2_workers", "heddle_1_worker", "rate"),
                  ("heddle_2_workers", "heddle_2_processes", "rate")]
    return out
