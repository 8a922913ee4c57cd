# SPDX-License-Identifier: MIT
"""Suite capacity: the constants of the model that scripts/papers_model.py computes with.

tasks_N: memory for each of N tasks that only yield (bench/core/many.cc). idle_N: memory of `heddle
serve` and of the kernel for each of N idle connections, the kernel's by its slabs. workers_N:
processor time of `heddle serve` for a request, with N workers. hop: what a message to another color
costs, by the program of the gate. hops_*: how many of them a request takes, counted in the
simulation with 16 workers (bench/core/hops.cc).
"""

import os
import pathlib
import re
import resource

import bench_http_idle as idle
import bench_machine as machine
import bench_own
import bench_servers as servers
from bench_http_values import load_values
from bench_machine import Failed
from bench_plan import build_folder, Measure

ROUNDS = (5, 3)
MOST, SPARE = 100_000, 1_000
HUGE_TASKS = 10_000_000
# Slabs of the kernel: of both ends, of the end that epoll watches, and those that all programs use,
# of which each end has one object.
BOTH, WATCHED, ONE_EACH = ("TCP", "sock_inode_cache"), ("eventpoll_epi", "eventpoll_pwq"), (
    "filp", "dentry")
SLABINFO = pathlib.Path("/proc/slabinfo")
WARMUP = ("--connections", 50, "--seconds", 0.1, "--warmup", 0)
HOPS = 2_000_000


def slabs_of(text):
    """{name: (objects in use, bytes of one)}, from /proc/slabinfo."""
    rows = re.findall(r"^(\S+) +(\d+) +\d+ +(\d+)", text, re.M)
    found = {name: (int(used), int(size)) for name, used, size in rows}
    if not all(name in found for name in BOTH + ONE_EACH):
        raise Failed("/proc/slabinfo has no slabs of connections")
    return found


def kernel_bytes(before, after, count):
    """What the kernel keeps for the server's end of each of `count` more connections.

    Both ends are on this machine. Files and names that others open meanwhile do not count.
    """
    def grown(name):
        used, size = after.get(name, (0, 0))
        return max(0, used - before.get(name, (0, 0))[0]) * size / count

    return (sum(grown(name) for name in BOTH) / 2 + sum(grown(name) for name in WATCHED)
            + sum(after[name][1] for name in ONE_EACH))


def slabs():
    """None where we may not know: then the kernel's memory is left out."""
    try:
        return slabs_of(SLABINFO.read_text())
    except PermissionError:
        return None


def idle_counts():
    """Two numbers of connections, one ten times the other; the larger one is 100,000 at most.

    Each is a descriptor of the server and one of the client, and few processes may have that many.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < MOST + SPARE:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, MOST + SPARE))
            hard = MOST + SPARE
        except (ValueError, PermissionError):
            pass
    most = min(MOST, (hard - SPARE) // 1000 * 1000)
    return most // 10, most


class Suite(servers.Suite):
    def __init__(self, context):
        super().__init__(context, "capacity")
        self.seconds = 0.5 if context.brief else 2.0
        for one in bench_own.measures(context, "capacity", ("core",), 0.1):
            if not (context.brief and one.case == f"tasks_{HUGE_TASKS}"):
                one.rounds_max = 2
                self.plan.add(one)
        rivals = context.rivals
        rivals.build_cpp(("rival_load_load", "rival_load_idle"))
        self.client, self.holder = rivals.path("load", "load"), rivals.path("load", "idle")
        if self.client is None or self.holder is None:
            self.plan.skip("heddle serve", f"the load client: {rivals.missing['load']}")
            return
        self.site = context.root / "build" / "bench" / "capacity"
        self.site.mkdir(parents=True, exist_ok=True)
        (self.site / "100B.txt").write_bytes(b"b" * 100)
        if not os.access(SLABINFO, os.R_OK):
            self.plan.skip("the kernel, idle", f"only root may read {SLABINFO}")
        for count in idle_counts():
            for server in self.own(1, "--connections", 2 * count):
                self.add(f"idle_{count}", server, 6.0 * count / MOST + 1,
                         lambda s=server, n=count: self.idle(s, n), 2 if context.brief else 3)
        for workers in (1, 2):
            for server in self.own(workers):
                self.add(f"workers_{workers}", server, self.seconds + 0.5,
                         lambda s=server: self.request(s))
        hop = build_folder(context.root) / "bench" / "gates_color_hop"
        if hop.exists():
            self.plan.add(Measure("hop", "heddle", 0.5, lambda: self.hop(hop)))
        else:
            self.plan.skip("heddle, hop", "gates_color_hop is not built")

    def own(self, workers, *words):
        """`heddle serve` on epoll, so that what the kernel keeps is all in its slabs."""
        path = build_folder(self.context.root) / "bin" / "heddle"
        missing = None if path.exists() else "bin/heddle is not built"
        yield servers.Server("heddle_epoll", lambda port: [
            path, "serve", self.site, "-p", port, "--log", "off", *words], missing,
            env={"HEDDLE_DRIVER": "epoll", "HEDDLE_WORKERS": str(workers)})

    def add(self, case, server, seconds, run, rounds=None):
        if server.missing:
            self.plan.skip(f"{server.name}, {case}", server.missing)
            return
        server.group = self.group
        self.started.append(server)
        self.plan.add(Measure(case, server.name, seconds, run, rounds_max=rounds))

    def idle(self, server, count):
        """What the second half of the connections adds: the first fills what was free before."""
        def look(pids):
            return machine.memory(pids)[1], slabs()

        def hold(more):
            return idle.hold(server, self.holder, "/100B.txt", count // 2, more)

        server.restart()
        try:
            machine.run([self.client, "--port", server.port, "--path", "/100B.txt", *WARMUP],
                        core=machine.CLIENT_CORE, group=self.group)
            base = look(server.pids())[0]
            half, whole = hold(lambda pids: (look(pids), hold(look)))
        finally:
            server.stop()
        found = [("conn_bytes", max(0, whole[0] - half[0]) / (count // 2), "B"),
                 ("base_bytes", base, "B")]
        if half[1] and whole[1]:
            found.append(("kernel_conn_bytes", kernel_bytes(half[1], whole[1], count // 2), "B"))
        return found

    def request(self, server):
        """Not pinned, so that both workers have a core; the client takes its share of one."""
        server.start()
        for pid in server.pids():
            machine.run(["taskset", "-apc", "0-1", pid], core=None)
        words = [w for pid in server.pids() for w in ("--server", pid)]
        text = machine.run([self.client, "--port", server.port, "--path", "/100B.txt",
                            "--connections", 64, "--seconds", self.seconds, "--warmup", 0.1,
                            *words], core=None, group=self.group)
        return [v for v in load_values(text) if v[0] in ("cpu_us", "requests_per_s",
                                                         "server_core")]

    def hop(self, program):
        """The difference of two runs, so that starting the program does not count."""
        spent = []
        for count in (HOPS, 2 * HOPS):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            machine.run([program, count])
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return [("cpu_ns", max(0.0, spent[1] - spent[0]) / HOPS * 1e9, "ns")]


plan = Suite.plan_of
