# SPDX-License-Identifier: MIT
"""Suite overload: what becomes of answers when more is asked than a server can do.

Subjects: Heddle with its overload control at 5 ms, without it, and nginx; one worker each, one
static file from memory or the page cache, so large that a request costs the server several times
what a refusal costs (client_core shows that the client is not the limit). The client
(bench/rivals/load/open.cc) asks at a given rate whatever the server does. Load is counted in shares
of what the same server answers in a closed loop, measured anew before and after each run, so that a
slow moment of the machine counts for both; the larger of the two is the peak.
"""

import json
import statistics

import bench_machine as machine
import bench_servers as servers
from bench_machine import Failed
from bench_plan import build_folder, Measure, Plan

LOADS = (20, 50, 80, 100, 120, 150, 200, 250, 300)
LOADS_BRIEF = (50, 80, 200)
FULL_CONNECTIONS = 16        # for the closed loop: enough that the server never sleeps
CONNECTIONS = 400            # for the open one: more than are ever busy while answers are in time
BODY = 1000 * 1024           # Heddle caches files of up to 1 MiB
PATH = "/file.bin"


def values_of(text, peak_per_s, p99_at_80):
    """(metric, value, unit) from the open client's JSON."""
    r = json.loads(text)
    if r["errors"]:
        raise Failed(f"{r['errors']} wrong or broken answers")
    if not r["asked"]:
        raise Failed("nothing was asked")
    found = [("goodput_share", r["goodput_per_s"] / peak_per_s, "x"),
             ("goodput_per_s", r["goodput_per_s"], "1/s"),
             ("refused_share", r["refused"] / r["asked"], "x"),
             ("p50", r["p50_us"], "us"),
             ("p99", r["p99_us"], "us"),
             ("client_core", r["client_cpu_s"] / r["client_s"], "cores")]
    if p99_at_80:
        found.append(("p99_to_load_80", r["p99_us"] / p99_at_80, "x"))
    return found


class Suite:
    def __init__(self, context):
        self.seconds = 0.8 if context.brief else 3.0
        self.warmup = 0.4 if context.brief else 0.7
        self.peak_seconds = 0.3 if context.brief else 0.7
        loads = LOADS_BRIEF if context.brief else LOADS
        self.plan = Plan([f"load_{load}" for load in loads])
        self.plan.close = self.close
        self.p99_at_80 = {}
        self.runs = 0
        context.rivals.build_cpp()
        self.client = context.rivals.path("load", "open")
        self.subjects = []
        self.group = machine.Group("heddle_bench")
        if self.client is None:
            self.plan.skip("everything", f"the load client: {context.rivals.missing['load']}")
            return
        home = context.root / "build" / "bench" / "overload"
        site = home / "site"
        site.mkdir(parents=True, exist_ok=True)
        (site / PATH[1:]).write_bytes(b"b" * BODY)
        program = build_folder(context.root) / "bin" / "heddle"
        missing = None if program.exists() else "build/dist/bin/heddle is not built"

        def serve(*more):
            return lambda port: [program, "serve", site, "-p", port, "--log", "off", *more]

        cached = ("open_file_cache max=1000 inactive=600s; open_file_cache_valid 600s; "
                  "open_file_cache_min_uses 1;")
        self.subjects = [servers.Server("heddle", serve("--queue-delay", "5ms"), missing),
                         servers.Server("heddle_unbounded", serve("--queue-delay", "0"), missing),
                         servers.nginx(home, site, "nginx", cached)]
        for server in self.subjects:
            server.group = self.group
            if server.missing:
                self.plan.skip(server.name, server.missing)
                continue
            for load in loads:
                self.plan.add(Measure(
                    f"load_{load}", server.name,
                    self.seconds + self.warmup + 2 * self.peak_seconds + 0.4,
                    lambda s=server, n=load: self.measure(s, n),
                    rounds_max=1 if context.brief else 3))

    def measure(self, server, load):
        fresh = server.process is None
        server.start()
        if fresh:
            try:
                servers.check_http(server, PATH, BODY)
            except OSError as why:
                raise Failed(f"{server.name}: {why}") from None
            self.ask(server, 0, 0.1, 2 * self.warmup, FULL_CONNECTIONS)   # its first second is slow
        before = self.peak(server)
        text = self.ask(server, before * load / 100, self.seconds, self.warmup, CONNECTIONS)
        peak = max(before, self.peak(server))
        at_80 = self.p99_at_80.get(server.name)
        if load == 80:
            self.p99_at_80.setdefault(server.name, []).append(json.loads(text)["p99_us"])
            at_80 = None
        return values_of(text, peak, statistics.median(at_80) if at_80 and load > 80 else None)

    def peak(self, server):
        full = json.loads(self.ask(server, 0, self.peak_seconds, 0.1, FULL_CONNECTIONS))
        if not full["goodput_per_s"] or full["errors"]:
            raise Failed("no answers in a closed loop")
        return full["goodput_per_s"]

    def ask(self, server, rate, seconds, warmup, connections):
        self.runs += 1
        return machine.run([self.client, "--port", server.port, "--path", PATH, "--rate", rate,
                            "--seconds", seconds, "--warmup", warmup, "--seed", self.runs,
                            "--connections", connections], core=machine.CLIENT_CORE, timeout=60,
                           group=self.group)

    def close(self):
        for server in self.subjects:
            server.stop()
        self.group.close()


def plan(context):
    return Suite(context).plan
