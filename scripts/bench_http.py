# SPDX-License-Identifier: MIT
"""Suite http: what a request costs a server, beside the ceilings and other servers.

The server has core 0, the client (bench/rivals/load, and wrk where installed) core 1. The figure
that survives noise is the server's processor time for a request; requests a second and latencies
mean something only while `server_core` is at least 0.9.

In a closed loop the server's time per request cannot fall below the client's: a cheaper server
wakes more often for fewer requests, and the best look alike. So most cases are measured in bursts
too (metric burst_cpu_us): all connections ask at once, and again when all are answered.
"""

import dataclasses
import shutil

import bench_http_idle as idle
import bench_http_peers as peers
import bench_http_table
import bench_machine as machine
import bench_servers as servers
from bench_http_values import burst_values, load_values, wrk_values
from bench_machine import Failed
from bench_plan import Measure

ROUNDS = (5, 2)   # whole, brief
table = bench_http_table.lines
SIZES = {"100B": 100, "16KB": 16 << 10, "128KB": 128 << 10, "10MB": 10 << 20}
# Sizes that sites are made of: most files are small, most bytes are in a few large ones.
MIXED = ("100B",) * 5 + ("16KB",) * 2 + ("128KB",)
QUICK = ("heddle_epoll", "heddle_uring", "ceiling_epoll", "ceiling_uring", "nginx", "nginx_cached",
         "lighttpd", "h2o", "monoio", "hyper")
IDLE = 10_000
ECHO_BYTES = 100


@dataclasses.dataclass(frozen=True)
class Shape:
    """How a case asks. `only` are its subjects (None: all); ceilings know one size at a time."""
    connections: int
    sizes: tuple
    options: tuple = ()
    burst: bool = True
    brief: bool = True
    only: tuple = None
    ceilings: bool = True


CASES = {
    "http_100B_c50": Shape(50, ("100B",)),
    "http_100B_c500": Shape(500, ("100B",)),
    "http_16KB_c50": Shape(50, ("16KB",)),
    "http_16KB_c500": Shape(500, ("16KB",), burst=False, brief=False, only=QUICK),
    "http_128KB_c50": Shape(50, ("128KB",)),
    "http_128KB_c500": Shape(500, ("128KB",), burst=False, brief=False, only=QUICK),
    "http_10MB_c50": Shape(50, ("10MB",), burst=False, brief=False, only=QUICK),
    "http_100B_close_c50": Shape(50, ("100B",), ("--close", 1), ceilings=False),
    "http_100B_pipelined_c50": Shape(50, ("100B",), ("--pipeline", 16)),
    "http_mixed_c50": Shape(50, MIXED, burst=False, ceilings=False),
}
ECHO_CASE = "echo_100B_c50"
IDLE_CASE = "idle_10000"


def path_of(size):
    return f"/{size}.txt"


class Suite(servers.Suite):
    def __init__(self, context):
        super().__init__(context, "http", [*CASES, ECHO_CASE, IDLE_CASE])
        # For closed loops, for bursts, and before each of them.
        self.seconds, self.burst_s, self.warmup = (0.25, 0.12, 0.05) if context.brief else (
            1.0, 0.4, 0.15)
        rivals = context.rivals
        rivals.build_cpp()
        self.client = rivals.path("load", "load")
        self.idle = rivals.path("load", "idle")
        if self.client is None:
            self.plan.skip("everything", f"the load client: {rivals.missing['load']}")
            return
        rivals.build_go()
        for name in ("hyper", "monoio"):
            rivals.build_rust(name, {"http": f"http_{name}"})
        self.home = context.root / "build" / "bench" / "http"
        self.site = self.home / "site"
        self.site.mkdir(parents=True, exist_ok=True)
        for size, count in SIZES.items():
            (self.site / path_of(size)[1:]).write_bytes(b"b" * count)
        self.web = [*self.own(), *peers.everyone(rivals, self.home, self.site)]
        self.started += self.web
        for server in self.web:
            if server.missing:
                self.plan.skip(f"{server.name}, all cases", server.missing)
        self.add_cases()
        self.add_echo()
        for server in [*self.own(), *peers.everyone(rivals, self.home / "idle", self.site)]:
            self.add_idle(server)
        for kind in ("epoll", "uring"):
            against = [f"ceiling_{kind}", *peers.NAMES, peers.NAMES]
            self.plan.pairs += [(f"heddle_{kind}", peer, metric) for peer in against
                                for metric in ("cpu_us", "burst_cpu_us", "conn_bytes")]

    def own(self):
        return servers.heddle(self.context.root,
                              lambda port: ["serve", self.site, "-p", port, "--log", "off"],
                              "bin/heddle")

    def add_cases(self):
        lengths = self.answer_lengths()
        ceilings = {size: list(servers.ceilings(self.context.rivals, "--body", count,
                                                *lengths.get(size, ())))
                    for size, count in SIZES.items()}
        for case, shape in CASES.items():
            if self.context.brief and not shape.brief:
                continue
            subjects = list(self.web)
            if shape.ceilings:
                subjects = ceilings[shape.sizes[0]] + subjects
            for server in subjects:
                if not server.missing and (shape.only is None or server.name in shape.only):
                    self.add(case, shape, server)
        for all_of_size in ceilings.values():
            self.started += all_of_size
        for server in ceilings["100B"]:
            if server.missing:
                self.plan.skip(f"{server.name}, all cases", server.missing)

    def answer_lengths(self):
        """The ceilings answer with as many bytes as Heddle does, where it can be asked."""
        server = self.web[0]
        if server.missing:
            return {}
        server.group = self.group
        try:
            server.start()
            return {size: ("--total", servers.get(server.port, path_of(size))[2])
                    for size in SIZES}
        except (Failed, OSError):
            return {}   # its rows will say what is wrong with it

    def add(self, case, shape, server):
        words = [w for size in shape.sizes for w in ("--path", path_of(size))] + [*shape.options]

        def check():
            for size in dict.fromkeys(shape.sizes):
                servers.check_http(server, path_of(size), SIZES[size])

        self.add_loads(case, server, shape.connections, words, check, shape.burst)
        if case == "http_100B_c50" and shutil.which("wrk") and not self.context.brief:
            self.plan.add(Measure(case, server.name, self.seconds + 0.2,
                                  lambda: self.wrk(server, shape), rounds_max=3))

    def add_loads(self, case, server, connections, words, check, burst):
        """A closed loop, and bursts where they say more."""
        for seconds, values in ((self.seconds, load_values), (self.burst_s, burst_values)):
            if values is load_values or burst:
                more = [*words, "--connections", connections, "--seconds", seconds,
                        "--burst", int(values is burst_values)]
                self.plan.add(Measure(case, server.name, seconds + self.warmup + 0.05,
                                      lambda m=more, v=values:
                                      self.load(case, server, m, check, v)))

    def add_echo(self):
        subjects = [*servers.ceilings(self.context.rivals, "--echo"),
                    *servers.heddle(self.context.root, lambda port: [port],
                                    "examples/echo")]
        for server in subjects:
            if server.missing:
                self.plan.skip(f"{server.name}, {ECHO_CASE}", server.missing)
                continue
            self.started.append(server)
            self.add_loads(ECHO_CASE, server, 50, ["--echo", ECHO_BYTES],
                           lambda s=server: servers.check_echo(s), True)

    def add_idle(self, server):
        server.group = self.group
        if not server.missing:
            self.started.append(server)
            self.plan.add(Measure(
                IDLE_CASE, server.name, 3.0,
                lambda: idle.measure(server, self.client, self.idle, path_of("100B"), IDLE),
                rounds_max=1 if self.context.brief else 3))

    def load(self, case, server, words, check, values):
        found = super().load(case, server, words, check, values)
        if values is load_values:
            resident, anonymous = machine.memory(server.pids())
            found += [("resident", resident, "B"), ("anonymous", anonymous, "B")]
        return found

    def wrk(self, server, shape):
        server.start()
        pids = server.pids()
        before = machine.cpu_seconds(pids)
        text = machine.run(["wrk", "-t1", f"-c{shape.connections}",
                            f"-d{max(1, round(self.seconds))}s",
                            f"http://127.0.0.1:{server.port}{path_of(shape.sizes[0])}"],
                           core=machine.CLIENT_CORE, timeout=60, group=self.group)
        return wrk_values(text, machine.cpu_seconds(pids) - before)


plan = Suite.plan_of
