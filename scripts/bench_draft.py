# SPDX-License-Identifier: MIT
"""Suite draft: what Angiuli and Sullivan measure, for programs compiled from Draft.

Servers: compiled from Draft (`draft`), the same by hand in C on the same ABI (`hand`), the same as
tasks of C++ (`tasks`), each with both fast drivers; `draft_files` is the example paper_http, which
opens a file for each request as nginx and lighttpd do. The server has core 0, the client core 1.
Case `instructions` counts under callgrind, so it repeats exactly where times do not. The others
look at the compiler: lines, frames, and the time that it takes.
"""

import resource
import subprocess
import time

import bench_draft_compiler as compiler
import bench_http_idle as idle
import bench_http_peers as peers
import bench_machine as machine
import bench_servers as servers
from bench_http_values import burst_values, idle_values, load_values
from bench_machine import Failed
from bench_plan import build_folder, Measure

ROUNDS = (7, 2)   # whole, brief
SIZES = {"100B": 100, "16KB": 16 << 10, "128KB": 128 << 10}
DRIVERS = {"epoll": "epoll", "uring": "io_uring"}
OWN = ("draft", "hand", "tasks")
IDLE = 10_000
ECHO = ("--echo", 100)
WAKES = 5_000_000
REQUESTS = 2000              # of a count of instructions


class Suite(servers.Suite):
    def __init__(self, context):
        super().__init__(context, "draft")
        self.seconds, self.burst_s, self.warmup = (0.2, 0.12, 0.05) if context.brief else (
            0.6, 0.4, 0.15)
        self.bin = build_folder(context.root) / "bench" / "draft"
        self.home = context.root / "build" / "bench" / "draft"
        self.site = self.home / "site"
        self.site.mkdir(parents=True, exist_ok=True)
        for size, count in SIZES.items():
            (self.site / f"{size}.txt").write_bytes(b"b" * count)
        rivals = context.rivals
        rivals.build_cpp()
        self.client, self.idle = rivals.path("load", "load"), rivals.path("load", "idle")
        compiler.add(context, self.plan)
        self.add_wakes()
        if self.client is None:
            self.plan.skip("all servers", f"the load client: {rivals.missing['load']}")
            return
        self.web = [*self.own("http"), *self.files()]
        self.peers = [servers.nginx(self.home, self.site, "nginx", ""),
                      servers.nginx(self.home, self.site, "nginx_cached",
                                    servers.OPEN_FILE_CACHE),
                      servers.lighttpd(self.home, self.site),
                      peers.apache(self.home, self.site)]
        for server in [*self.web, *self.peers]:
            if server.missing:
                self.plan.skip(f"{server.name}, all cases", server.missing)
        self.add_loads()
        self.add_instructions()
        self.add_idle()
        for driver in DRIVERS:
            self.plan.pairs += [
                (f"draft_{driver}", other, metric)
                for other in (f"hand_{driver}", f"tasks_{driver}", "nginx", "nginx_cached",
                              "lighttpd", "apache")
                for metric in ("cpu_us", "burst_cpu_us")]
            self.plan.pairs += [(f"draft_files_{driver}", other, "burst_cpu_us")
                                for other in ("nginx", "lighttpd")]
        self.plan.pairs += [("draft", other, metric) for other in ("hand", "tasks")
                            for metric in ("cpu_ns", "instructions", "lines")]

    # Servers.

    def program(self, name, subject, words):
        path = self.bin / name
        missing = None if path.exists() else f"build/dist/bench/draft/{name} is not built"
        for driver, value in DRIVERS.items():
            yield servers.Server(f"{subject}_{driver}",
                                 lambda port, p=path: [p, *words(port)], missing,
                                 env={"HEDDLE_DRIVER": value, "HEDDLE_WORKERS": "1"})

    def own(self, what):
        words = (lambda port: [port, self.site]) if what == "http" else (lambda port: [port])
        for subject in OWN:
            name = what if subject == "draft" else f"{what}_{subject}"
            yield from self.program(name, subject, words)

    def files(self):
        return self.program("paper_http", "draft_files", lambda port: [port, self.site])

    def add_loads(self):
        for size in SIZES:
            for server in [*self.web, *self.peers]:
                self.add_load(f"http_{size}_c50", server, 50, ["--path", f"/{size}.txt"],
                              lambda s=server, n=size: servers.check_http(
                                  s, f"/{n}.txt", SIZES[n]))
        for server in self.own("echo"):
            self.add_load("echo_100B_c50", server, 50, [*ECHO],
                          lambda s=server: servers.check_echo(s))

    def add_load(self, case, server, connections, words, check):
        """A closed loop and bursts; see suite http."""
        if server.missing:
            return
        self.started.append(server)
        for seconds, values in ((self.seconds, load_values), (self.burst_s, burst_values)):
            more = [*words, "--connections", connections, "--seconds", seconds,
                    "--burst", int(values is burst_values)]
            self.plan.add(Measure(case, server.name, seconds + self.warmup + 0.05,
                                  lambda m=more, v=values: self.load(case, server, m, check, v)))

    # Memory of idle clients.

    def add_idle(self):
        cases = {"idle_echo_10000": (list(self.own("echo")), "--echo", [*ECHO]),
                 "idle_http_10000": ([*self.own("http"), *self.peers[:-1]], "/100B.txt",
                                     ["--path", "/100B.txt"])}
        for case, (subjects, path, words) in cases.items():
            for server in subjects:
                if not server.missing:
                    self.plan.add(Measure(case, server.name, 3.0,
                                          lambda s=server, p=path, w=words: self.rest(s, p, w),
                                          rounds_max=1 if self.context.brief else 3))

    def rest(self, server, path, words):
        server.group = self.group
        server.restart()
        try:
            machine.run([self.client, "--port", server.port, "--connections", 50, "--seconds", 0.1,
                         "--warmup", 0, *words], core=machine.CLIENT_CORE, timeout=60,
                        group=self.group)
            before = machine.memory(server.pids())
            after = idle.hold(server, self.idle, path, IDLE)
        finally:
            server.stop()
        return idle_values(before, after, IDLE)

    # Wakes, and counts of instructions.

    def add_wakes(self):
        for subject in OWN:
            path = self.bin / ("wake" if subject == "draft" else f"wake_{subject}")
            if path.exists():
                self.plan.add(Measure("wake_2", subject, 0.2, lambda p=path: self.wake(p)))
            else:
                self.plan.skip(f"{subject}, wake_2", f"{path.name} is not built")

    def wake(self, path):
        """Two threads wake each other; the start is taken away by a run of no turns."""
        def seconds(turns):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            machine.run([path, turns], env={"HEDDLE_WORKERS": "1", "HEDDLE_DRIVER": "epoll"},
                        group=self.group)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
        spent = seconds(WAKES) - seconds(0)
        return [("cpu_ns", max(spent, 0) / (2 * WAKES) * 1e9, "ns")]

    def add_instructions(self):
        for what, words in (("echo", [*ECHO]), ("http_100B", ["--path", "/100B.txt"])):
            for server in self.own(what.partition("_")[0]):
                if not server.missing and server.name.endswith("_epoll"):
                    self.plan.add(Measure(
                        f"instructions_{what}", server.name.removesuffix("_epoll"), 12.0,
                        lambda s=server, w=words: self.instructions(s, w), rounds_max=1))

    def instructions(self, server, words):
        once, twice = (self.count(server, words, n * REQUESTS) for n in (1, 2))
        return [("instructions", (twice - once) / REQUESTS, "1")]

    def count(self, server, words, requests):
        """Instructions of a whole run of a server that answers so many requests of one client."""
        out = self.home / "callgrind.out"
        port = machine.free_port()
        process = subprocess.Popen(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}",
             *(str(w) for w in server.command(port))],
            env={**server.env, "HEDDLE_MEMORY": str(1 << 28), "PATH": "/usr/bin:/bin"},
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            machine.wait_for_port(process, port, 30)
            machine.run([self.client, "--port", port, "--connections", 1, "--warmup", 0,
                         "--requests", requests, "--seconds", 60, *words], core=None, timeout=90)
            time.sleep(0.2)
        finally:
            machine.stop(process)
        said = process.stderr.read()
        process.stderr.close()
        return compiler.collected(said)


plan = Suite.plan_of
