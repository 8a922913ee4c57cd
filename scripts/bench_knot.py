# SPDX-License-Identifier: MIT
"""Suite knot: Krohn and others, 2007, figure 7: small files for 1,200 clients at once.

Each request has a connection of its own, as the paper counts connections. Files are those of the
smallest class of SPECweb99: nine of 102 to 918 bytes. The server has core 0, the client core 1, and
what counts is requests for each second of the server's processor time. `threads`, `rss_bytes` and
`size_bytes` are what the kernel says of the process while it answers.
"""

import pathlib
import re

import bench_machine as machine
import bench_servers as servers
from bench_http_values import load_values
from bench_machine import Failed
from bench_plan import build_folder, Measure, Plan

CASE = "small_c1200"
CLIENTS = 1200
FILES = {f"class0_{i}.txt": 102 * i for i in range(1, 10)}
IN_MEMORY = ("nptl", "boost_fiber", "go", "hyper")
ROUNDS = (5, 2)


def process_values(text):
    """Threads and memory from /proc/PID/status."""
    found = dict(re.findall(r"^(Threads|VmRSS|VmSize):\s+(\d+)", text, re.M))
    if len(found) != 3:
        raise Failed("the process has ended")
    return [("threads", int(found["Threads"]), "1"),
            ("rss_bytes", int(found["VmRSS"]) * 1024, "B"),
            ("size_bytes", int(found["VmSize"]) * 1024, "B")]


def rates(values):
    """Requests for each second of processor time, beside what the load client says."""
    by_name = {metric: value for metric, value, _ in values}
    return [("requests_per_core_s", 1e6 / by_name["cpu_us"], "1/s"),
            *(v for v in values if v[0] in ("requests_per_s", "server_core", "p99"))]


class Suite:
    def __init__(self, context):
        self.context = context
        # The paper: 30 s before, then 60 s.
        self.seconds, self.warmup = (1.0, 0.3) if context.brief else (10.0, 3.0)
        self.plan = Plan([CASE])
        self.plan.close = self.close
        self.group = machine.Group("heddle_knot")
        self.started = []
        rivals = context.rivals
        rivals.build_cpp()
        self.client = rivals.path("load", "load")
        if self.client is None:
            self.plan.skip("everything", f"the load client: {rivals.missing['load']}")
            return
        rivals.build_go()
        rivals.build_rust("hyper", {"http": "http_hyper"})
        self.site = context.root / "build" / "bench" / "knot"
        self.site.mkdir(parents=True, exist_ok=True)
        for name, size in FILES.items():
            (self.site / name).write_bytes(b"k" * size)
        for server in (*self.own(), *self.rivals(rivals)):
            if server.missing:
                self.plan.skip(f"{server.name}, {CASE}", server.missing)
                continue
            server.group = self.group
            self.started.append(server)
            self.plan.add(Measure(CASE, server.name, self.seconds + self.warmup + 0.1,
                                  lambda s=server: self.load(s)))

    def own(self):
        root = self.context.root
        knot = build_folder(root) / "examples" / "tame_knot"
        missing = None if knot.exists() else "examples/tame_knot is not built"
        yield servers.Server("heddle_tame_knot", lambda port: [knot, port, self.site], missing,
                             env={"HEDDLE_DRIVER": "epoll"})
        yield from servers.heddle(
            root, lambda port: ["serve", self.site, "-p", port, "--log", "off"], "bin/heddle")

    def rivals(self, rivals):
        for name in IN_MEMORY:
            path = rivals.path(name, "http")
            missing = None if path else rivals.missing[name]
            yield servers.Server(name, lambda port, p=path: [p, port, self.site], missing)

    def load(self, server):
        server.start()
        for name, size in FILES.items():
            try:
                servers.check_http(server, f"/{name}", size)
            except OSError as why:
                raise Failed(f"{server.name}: {why}") from None
        words = [w for name in FILES for w in ("--path", f"/{name}")]
        for pid in server.pids():
            words += ["--server", pid]
        text = machine.run([self.client, "--port", server.port, "--connections", CLIENTS,
                            "--close", 1, "--warmup", self.warmup, "--seconds", self.seconds,
                            *words], core=machine.CLIENT_CORE, timeout=120, group=self.group)
        status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
        return rates(load_values(text)) + process_values(status)

    def close(self):
        for server in self.started:
            server.stop()
        self.group.close()


def plan(context):
    return Suite(context).plan
