# SPDX-License-Identifier: MIT
"""Suite rolling: three `heddle serve` behind one `heddle proxy`, each restarted in turn under load.

Clients with keep-alive read files of several sizes and put files, through the proxy, and compare
each answer with what was asked for. Case handover: the next server takes the listening socket over
(--handover). Case stop_and_start: SIGTERM, and a new server at the same port once the old one has
ended; the next restart waits until the proxy's health checks succeed. Metrics: requests, failed
(no answer, another status than expected, other bytes), and restarts.
tests/cli/proxy_rolling_restart_test.py uses the same classes.
"""

import http.client
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import bench_machine as machine
from bench_machine import Failed
from bench_plan import build_folder, Measure, Plan

ROUNDS = (3, 1)                          # whole, brief
SIZES = (0, 1, 100, 4096, 16 << 10, 100_000, 1 << 20)
SERVERS = 3
READERS, WRITERS = 4, 1
BETWEEN = 100                            # answers that come between two restarts
LIMIT_S = 30
WAYS = ("handover", "stop_and_start")
SUBJECTS = {"heddle_epoll": "epoll", "heddle_uring": "io_uring"}


def make_site(folder):
    """Files whose bytes tell their names: {path: bytes}."""
    (folder / "inbox").mkdir(parents=True)
    (folder / "health.txt").write_text("good\n")
    site = {}
    for size in SIZES:
        for copy in range(3):
            name = f"/{size}-{copy}.bin"
            site[name] = random.Random(name).randbytes(size)
            (folder / name[1:]).write_bytes(site[name])
    return site


class Asker(threading.Thread):
    """A client with one connection at a time, which asks until `over` and checks each answer."""

    def __init__(self, port, seed, over):
        super().__init__(daemon=True)
        self.port, self.over, self.random = port, over, random.Random(seed)
        self.asked, self.answered, self.wrong, self.servers = 0, 0, [], set()
        self.connection = None

    def run(self):
        while not self.over.is_set():
            self.asked += 1
            try:
                wrong = self.once()
                self.answered += 1
            except (OSError, http.client.HTTPException) as why:
                wrong = repr(why)
                self.connection = None
            if wrong:
                self.wrong.append(wrong)
        if self.connection:
            self.connection.close()

    def ask(self, method, path, body=None):
        """(status, body)"""
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        self.connection.request(method, path, body=body)
        answer = self.connection.getresponse()
        data = answer.read()
        self.servers.add(answer.headers["X-Server"])
        if answer.will_close:
            self.connection.close()
            self.connection = None
        return answer.status, data


class Reader(Asker):
    def __init__(self, port, seed, over, site):
        super().__init__(port, seed, over)
        self.site, self.paths = site, sorted(site)

    def once(self):
        path = self.random.choice(self.paths)
        status, data = self.ask("GET", path)
        if status != 200 or data != self.site[path]:
            return f"GET {path}: {status} with {len(data)} B: {data[:80]!r}"
        return None


class Writer(Asker):
    """Puts files, each under a name of its own; `written` is what was acknowledged."""

    def __init__(self, port, seed, over):
        super().__init__(port, seed, over)
        self.name, self.written = seed, {}

    def once(self):
        path = f"/inbox/{self.name}-{len(self.written)}.bin"
        data = self.random.randbytes(self.random.choice(SIZES[:-1]))
        status, said = self.ask("PUT", path, data)
        if status not in (201, 204):     # 204: sent twice, and the first had arrived
            return f"PUT {path}: {status}: {said[:80]!r}"
        self.written[path] = data
        return None


class Fleet:
    """The servers, the proxy and the clients; a context."""

    def __init__(self, program, home, way, driver, scheme="http", group=None):
        self.program, self.home, self.way, self.group = program, home, way, group
        self.env = {**os.environ, "HEDDLE_DRIVER": driver, "HEDDLE_WORKERS": "1"}
        self.folder = home / "site"
        self.site = make_site(self.folder)
        self.ports = [machine.free_port() for _ in range(SERVERS)]
        self.urls = [f"{scheme}://127.0.0.1:{port}" for port in self.ports]
        self.port = machine.free_port()
        self.servers, self.ended, self.said = [None] * SERVERS, [], []
        self.generation = [0] * SERVERS
        self.proxy, self.restarts, self.looks = None, 0, 0
        self.over = threading.Event()
        self.askers = [Reader(self.port, n, self.over, self.site) for n in range(READERS)]
        self.askers += [Writer(self.port, n, self.over) for n in range(WRITERS)]

    def start(self, words, name):
        log = self.home / name
        with log.open("ab") as out:
            process = subprocess.Popen(
                [str(w) for w in (self.program, *words)], env=self.env, stdin=subprocess.DEVNULL,
                stdout=out, stderr=out, start_new_session=True,
                preexec_fn=machine.pin_to(None, self.group))
        process.log = log
        return process

    def server(self, n):
        self.generation[n] += 1
        name = f"{n}.{self.generation[n]}"
        words = ["serve", self.folder, "-p", self.ports[n], "--log", "off", "--queue-delay", "0",
                 "--header", f"X-Server: {name}", "--upload", "/inbox/*", "--upload-replace"]
        if self.way == "handover":
            words += ["--handover", self.home / f"handover.{n}"]
        return self.start(words, name)

    def __enter__(self):
        try:
            for n in range(SERVERS):
                self.servers[n] = self.server(n)
                machine.wait_for_port(self.servers[n], self.ports[n], LIMIT_S)
            self.proxy = self.start(
                ["proxy", f"127.0.0.1:{self.port}", *self.urls, "--log", "off", "--metrics",
                 "--queue-delay", "0", "--fail-pause", "100ms",
                 "--health", "/health.txt", "--health-interval", "50ms"],
                "proxy")
            machine.wait_for_port(self.proxy, self.port, LIMIT_S)
            for n in range(SERVERS):
                self.wait_until_up(n)
        except BaseException:
            self.__exit__()
            raise
        for asker in self.askers:
            asker.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for asker in self.askers:
            if asker.ident:
                asker.join(LIMIT_S)
        for process in (self.proxy, *self.servers):   # the proxy first: it lets requests end
            if process is not None:
                machine.stop(process)

    def wait_until(self, good, what):
        end = time.monotonic() + LIMIT_S
        while not good():
            if time.monotonic() > end:
                raise Failed(f"waited {LIMIT_S} s for {what}; {self.wrong()[:3]}; "
                             f"{self.proxy.log.read_text()[-500:]}")
            time.sleep(0.01)

    def wait_until_up(self, n):
        def up():
            self.looks += 1
            on = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
            on.request("GET", "/metrics")
            page = on.getresponse().read().decode()
            on.close()
            return f'heddle_upstream_up{{upstream="{self.urls[n]}"}} 1\n' in page
        self.wait_until(up, f"{self.urls[n]} to be up")

    def wait_for_answers(self, count=BETWEEN):
        """Each client gets at least one of these."""
        before = [a.answered for a in self.askers]
        self.wait_until(lambda: all(a.answered > b for a, b in zip(self.askers, before))
                        and sum(a.answered for a in self.askers) >= sum(before) + count,
                        f"{count} answers")

    def restart(self, n):
        """Replaces server n as an operator would."""
        old = self.servers[n]
        if self.way == "handover":
            self.servers[n] = self.server(n)
        else:
            old.send_signal(signal.SIGTERM)
        try:
            code = old.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            old.kill()
            raise Failed(f"a server did not end: {old.log.read_text()[-500:]}") from None
        if code != 0:
            raise Failed(f"a server ended with {code}: {old.log.read_text()[-500:]}")
        if self.way != "handover":
            self.servers[n] = self.server(n)
        machine.wait_for_port(self.servers[n], self.ports[n], LIMIT_S)
        self.wait_until_up(n)
        self.restarts += 1

    def run(self, rounds):
        """Restarts each server in turn, so many times, and lets answers come in between."""
        for _ in range(rounds):
            for n in range(SERVERS):
                self.wait_for_answers()
                self.restart(n)
        self.wait_for_answers()

    def asked(self):
        return sum(a.asked for a in self.askers)

    def wrong(self):
        return [w for a in self.askers for w in a.wrong]

    def lost(self):
        """Files whose arrival was acknowledged, and that are not there as they were sent."""
        return [path for a in self.askers if isinstance(a, Writer)
                for path, data in a.written.items()
                if not (self.folder / path[1:]).exists()
                or (self.folder / path[1:]).read_bytes() != data]

    def proxy_requests(self):
        """What the proxy counts, once it has ended: (requests, errors)."""
        found = re.search(r"^(\d+) requests, .*?(\d+) errors$", self.proxy.log.read_text(), re.M)
        if not found:
            raise Failed(f"the proxy said no count: {self.proxy.log.read_text()[-500:]}")
        return int(found[1]), int(found[2])


def measure(program, way, driver, rounds, group):
    home = pathlib.Path(tempfile.mkdtemp(prefix="heddle-rolling-"))
    try:
        with Fleet(program, home, way, driver, group=group) as fleet:
            fleet.run(rounds)
        failed = len(fleet.wrong()) + len(fleet.lost())
        counted = fleet.proxy_requests()[0] - fleet.looks
        if counted != fleet.asked():
            raise Failed(f"the proxy counts {counted} requests of {fleet.asked()}")
        return [("failed", failed, "1"), ("requests", fleet.asked(), "1"),
                ("restarts", fleet.restarts, "1")]
    finally:
        shutil.rmtree(home, ignore_errors=True)


def plan(context):
    out = Plan(WAYS)
    program = build_folder(context.root) / "bin" / "heddle"
    if not program.exists():
        out.skip("heddle", f"{program.relative_to(context.root)} is not built")
        return out
    group = machine.Group("heddle_rolling")
    out.close = group.close
    rounds = 2 if context.brief else 10
    for way in WAYS:
        for subject, driver in SUBJECTS.items():
            out.add(Measure(way, subject, 1.5 * rounds + 2,
                            lambda w=way, d=driver: measure(program, w, d, rounds, group)))
    return out
