# SPDX-License-Identifier: MIT
"""Suite http: what a request costs a server, beside the ceilings and other servers.

The server has core 0, the client (bench/rivals/load, and wrk where installed) core 1. The figure
that survives noise is the server's processor time for a request; requests a second and latencies
mean something only while `server_core` is at least 0.9.

In a closed loop the server's time per request cannot fall below the client's: a cheaper server
wakes more often for fewer requests, and the best look alike. So every subject is measured in bursts
too (metric burst_cpu_us): all connections ask at once, and again when all are answered.
"""

import json
import re
import shutil

import bench_machine as machine
import bench_servers as servers
from bench_machine import Failed
from bench_plan import Measure, Plan

CASES = {"http_100B_c50": 50, "http_100B_c500": 500, "echo_100B_c50": 50}
BODY = 100
PATH = f"/{BODY}B.txt"


def load_values(text):
    """(metric, value, unit) from the load client's JSON."""
    r = json.loads(text)
    if r["errors"]:
        raise Failed(f"{r['errors']} wrong or broken answers")
    if not r["requests"]:
        raise Failed("no request was answered")
    return [("cpu_us", r["server_cpu_s"] / r["requests"] * 1e6, "us"),
            ("user_us", r["server_user_s"] / r["requests"] * 1e6, "us"),
            ("requests_per_s", r["requests_per_s"], "1/s"),
            ("p50", r["p50_us"], "us"),
            ("p99", r["p99_us"], "us"),
            ("server_core", r["server_cpu_s"] / r["seconds"], "cores")]


def burst_values(text):
    """What a burst costs; its rates and latencies say nothing."""
    return [("burst_" + metric, value, unit) for metric, value, unit in load_values(text)
            if metric == "cpu_us"]


def wrk_values(text, cpu_s):
    count = int(re.search(r"(\d+) requests in", text)[1])
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1])
    if "Non-2xx" in text or not count:
        raise Failed("wrk got wrong answers")
    return [("wrk_cpu_us", cpu_s / count * 1e6, "us"), ("wrk_requests_per_s", rate, "1/s")]


class Suite:
    def __init__(self, context):
        self.context = context
        self.seconds = 0.5 if context.brief else 2.0
        self.warmup = 0.1 if context.brief else 0.3
        self.plan = Plan(CASES)
        self.plan.close = self.close
        self.started = []
        context.rivals.build_cpp()
        self.client = context.rivals.path("load", "load")
        if self.client is None:
            self.plan.skip("everything", f"the load client: {context.rivals.missing['load']}")
            return
        home = context.root / "build" / "bench" / "http"
        site = home / "site"
        site.mkdir(parents=True, exist_ok=True)
        (site / PATH[1:]).write_text("b" * BODY)
        own = list(servers.heddle(
            context.root, lambda port: ["serve", site, "-p", port, "--log", "off"],
            "build/release/bin/heddle"))
        cached = ("open_file_cache max=1000 inactive=600s; open_file_cache_valid 600s; "
                  "open_file_cache_min_uses 1;")
        web = [*servers.ceilings(context.rivals, "--body", BODY, *self.answer_length(own)), *own,
               servers.nginx(home, site, "nginx", ""),
               servers.nginx(home, site, "nginx_cached", cached), servers.lighttpd(home, site)]
        self.add_subjects([c for c in CASES if c.startswith("http")], web,
                          lambda s: servers.check_http(s, PATH, BODY))
        echo = [*servers.ceilings(context.rivals, "--echo"),
                *servers.heddle(context.root, lambda port: [port], "build/release/examples/echo")]
        self.add_subjects(["echo_100B_c50"], echo, servers.check_echo)
        for kind in ("epoll", "uring"):
            for peer in (f"ceiling_{kind}", "nginx", "nginx_cached", "lighttpd"):
                for metric in ("cpu_us", "burst_cpu_us"):
                    self.plan.pairs.append((f"heddle_{kind}", peer, metric))

    def answer_length(self, own):
        """The ceilings answer with as many bytes as Heddle does, where it can be asked."""
        server = own[0]
        if server.missing:
            return []
        self.started.append(server)
        try:
            server.start()
            return ["--total", servers.get(server.port, PATH)[2]]
        except (Failed, OSError):
            return []   # its rows will say what is wrong with it

    def add_subjects(self, cases, subjects, check):
        for server in subjects:
            if server.missing:
                self.plan.skip(f"{server.name}, {', '.join(cases)}", server.missing)
                continue
            self.started.append(server)
            for case in cases:
                about = self.seconds + self.warmup + 0.1
                for values, burst in ((load_values, 0), (burst_values, 1)):
                    self.plan.add(Measure(
                        case, server.name, about, lambda s=server, c=case, v=values, b=burst:
                        v(self.load(s, c, check, b))))
                if shutil.which("wrk") and case.startswith("http") and not self.context.brief:
                    self.plan.add(Measure(case, server.name, about,
                                          lambda s=server, c=case: self.wrk(s, c),
                                          rounds_max=3))

    def load(self, server, case, check, burst):
        fresh = server.process is None
        server.start()
        if fresh:
            try:
                check(server)
            except OSError as why:
                raise Failed(f"{server.name}: {why}") from None
        command = [self.client, "--port", server.port, "--connections", CASES[case],
                   "--seconds", self.seconds, "--warmup", self.warmup,
                   "--burst", burst]
        command += ["--echo", BODY] if case.startswith("echo") else ["--path", PATH]
        for pid in server.pids():
            command += ["--server", pid]
        return machine.run(command, core=machine.CLIENT_CORE, timeout=60)

    def wrk(self, server, case):
        server.start()
        pids = server.pids()
        before = machine.cpu_seconds(pids)
        text = machine.run(["wrk", "-t1", f"-c{CASES[case]}", f"-d{max(1, round(self.seconds))}s",
                            f"http://127.0.0.1:{server.port}{PATH}"],
                           core=machine.CLIENT_CORE, timeout=60)
        return wrk_values(text, machine.cpu_seconds(pids) - before)

    def close(self):
        for server in self.started:
            server.stop()


def plan(context):
    return Suite(context).plan
