#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures TLS 1.3 of heddle serve, with OpenSSL's records and with own ones, beside nginx and h2o.

scripts/bench_tls.py [--rounds N] [--seconds S] [--idle COUNT] [--json FILE] [--heddle PROGRAM]

One worker on core 0, a P-256 certificate, AES-256-GCM, files of 100 B and 128 KB. The client is wrk
on core 1, with 32 keep-alive connections. Metric cpu_us is the server's processor time for a
request, from the scheduler's run time; idle_bytes is what its memory grows by for each connection
that asked once and is silent. Subjects take turns in each round. Prints a table; --json writes the
rows of docs/reference/figures.md. The default takes about a minute on a quiet machine.
"""

import argparse
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import bench_figures as figures
import bench_machine as machine
import bench_servers as servers
from bench_machine import Failed
from bench_plan import build_folder

SIZES = {"tls_100B": 100, "tls_128K": 128 * 1024}
CONNECTIONS = 32
WARM = 300     # connections before the base of idle_bytes is taken
CIPHER = "TLS_AES_256_GCM_SHA384"
PAIRS = [("heddle_own", "heddle", "cpu_us"), ("heddle_own", "nginx", "cpu_us"),
         ("heddle_own", "h2o", "cpu_us"), ("heddle", "nginx", "cpu_us"),
         ("heddle_own", "nginx", "idle_bytes"), ("heddle", "nginx", "idle_bytes")]

NGINX = servers.NGINX.replace(
    "listen 127.0.0.1:{port} backlog=4096;",
    "listen 127.0.0.1:{port} ssl backlog=4096; ssl_certificate {chain}; "
    "ssl_certificate_key {key}; ssl_protocols TLSv1.3; ssl_session_cache shared:all:10m;")
H2O = """
{user}
num-threads: 1
max-connections: 16384
listen:
  host: 127.0.0.1
  port: {port}
  ssl:
    certificate-file: {chain}
    key-file: {key}
    minimum-version: TLSv1.3
pid-file: {home}/h2o.{port}.pid
error-log: {home}/error.log
http1-request-timeout: 600
file.send-compressed: OFF
hosts:
  default:
    paths:
      /:
        file.dir: {site}
"""


def subjects(heddle, home, site):
    """[Server]: ours first. A peer that is not installed has `missing`."""
    chain, key = home / "localhost.pem", home / "localhost.key"

    def ours(name, *words):
        command = [heddle, "serve", site, "--tls", chain, key, *words, "--log", "off", "--bind",
                   "127.0.0.1", "--connections-per-address", "0", "--idle-timeout", "600s"]
        return servers.Server(name, lambda port: [*command, "-p", str(port)])

    nginx, h2o = servers.program("nginx"), servers.program("h2o")
    root = "user root;" if machine.os.geteuid() == 0 else ""
    return [
        ours("heddle_own", "--tls-own-records"), ours("heddle"),
        servers.configured("nginx", nginx, home, NGINX,
                           lambda config: [nginx, "-p", config.parent, "-c", config],
                           site=site, cache=servers.OPEN_FILE_CACHE, user=root, chain=chain,
                           key=key),
        servers.configured("h2o", h2o, home, H2O, lambda config: [h2o, "-c", config], site=site,
                           user="user: root" if root else "", chain=chain, key=key)]


def context():
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    return made


def ask(connection, path):
    """One GET; the whole answer's body."""
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    got = b""
    while b"\r\n\r\n" not in got:
        got += receive(connection)
    head, _, body = got.partition(b"\r\n\r\n")
    size = int(re.search(rb"(?i)content-length: *(\d+)", head)[1])
    while len(body) < size:
        body += receive(connection)
    if not head.startswith(b"HTTP/1.1 200"):
        raise Failed(f"answers {head.splitlines()[0]!r}")
    return body


def receive(connection):
    part = connection.recv(65536)
    if not part:
        raise Failed("ended the connection")
    return part


def open_one(port, made):
    return made.wrap_socket(socket.create_connection(("127.0.0.1", port), 10))


def check(server):
    """Every subject answers right, with the same version and cipher."""
    for case, size in SIZES.items():
        with open_one(server.port, context()) as connection:
            body = ask(connection, f"/{case}.txt")
            if len(body) != size or connection.cipher()[0] != CIPHER:
                raise Failed(f"gives {len(body)} bytes with {connection.cipher()[0]}")


def run_seconds(pids):
    """Seconds that all threads of these processes have run, from the scheduler."""
    total = 0
    for pid in pids:
        for thread in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
            try:
                total += int(thread.read_text().split()[0])
            except OSError:
                continue   # the thread ended
    return total / 1e9


def load(server, case, seconds):
    """cpu_us of one run of wrk."""
    url = f"https://127.0.0.1:{server.port}/{case}.txt"
    words = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", url]
    before = run_seconds(server.pids())
    text = machine.run(words, core=machine.CLIENT_CORE, timeout=60, group=server.group)
    used = run_seconds(server.pids()) - before
    count = int(re.search(r"(\d+) requests in", text)[1])
    if "Non-2xx" in text or not count:
        raise Failed("wrk got wrong answers")
    return used / count * 1e6


def hold(port, count):
    """The program of --hold: opens connections in steps, each asks once; a line from standard
    input begins the next step."""
    made, kept = context(), []
    for step in (WARM, count):
        for _ in range(step):
            kept.append(open_one(port, made))
            ask(kept[-1], "/tls_100B.txt")
        print("open", flush=True)
        sys.stdin.readline()


def idle(server, count):
    """idle_bytes of a server that was started afresh."""
    server.restart()
    command = [sys.executable, __file__, "--hold", str(server.port), "--idle", str(count)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          preexec_fn=machine.pin_to(machine.CLIENT_CORE, server.group)) as client:
        try:
            levels = []
            for _ in range(2):
                if client.stdout.readline() != "open\n":
                    raise Failed("the connections could not be opened")
                time.sleep(0.3)
                levels.append(machine.memory(server.pids())[1])
                client.stdin.write("\n")
                client.stdin.flush()
        finally:
            client.stdin.close()
            client.wait(30)
    return (levels[1] - levels[0]) / count


def measure(args, everyone, say):
    """[Sample] of all rounds. A subject that fails is left out from then on."""
    samples, left = [], list(everyone)
    for turn in range(args.rounds):
        for server in list(left):
            try:
                server.start()
                if turn == 0:
                    check(server)
                for case in SIZES:
                    load(server, case, 1)   # caches and pools of the server
                    samples.append(figures.Sample(case, server.name, "cpu_us", "us", turn,
                                                  load(server, case, args.seconds)))
                if turn == 0:
                    samples.append(figures.Sample("tls_idle", server.name, "idle_bytes", "B", turn,
                                                  idle(server, args.idle)))
            except (Failed, OSError) as why:
                say(f"without {server.name}: {why}")
                left.remove(server)
            finally:
                server.stop()
    return samples


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=2, help="turns each subject takes (2)")
    parser.add_argument("--seconds", type=int, default=1, help="of each run of wrk (1)")
    parser.add_argument("--idle", type=int, default=1000, help="silent connections (1000)")
    parser.add_argument("--json", type=pathlib.Path, help="write the rows to this file")
    parser.add_argument("--heddle", type=pathlib.Path, default=build_folder(ROOT) / "bin/heddle")
    parser.add_argument("--hold", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.hold:
        hold(args.hold, args.idle)
        return 0

    def say(text):
        print(f"bench_tls: {text}", file=sys.stderr, flush=True)

    if not args.heddle.is_file():
        say(f"no {args.heddle}: cmake --preset dist && "
            "cmake --build --preset dist --target heddle_cli")
        return 2
    if not shutil.which("wrk"):
        say("no wrk: scripts/setup installs it")
        return 2
    with tempfile.TemporaryDirectory(prefix="heddle-bench-tls-") as name:
        home = pathlib.Path(name)
        home.chmod(0o755)
        machine.run([args.heddle, "cert", "-o", home, "--authority", home / "ca"])
        site = home / "site"
        site.mkdir()
        for case, size in SIZES.items():
            (site / f"{case}.txt").write_bytes(b"x" * size)
        everyone = subjects(args.heddle, home, site)
        for server in everyone:
            if server.missing:
                say(f"without {server.name}: {server.missing}")
        samples = measure(args, [s for s in everyone if not s.missing], say)
    rows = figures.rows_of("tls", samples, PAIRS, {})
    print("\n".join(figures.table(rows)))
    if args.json:
        figures.write(args.json, rows)
    return 0 if any(s.subject == "heddle_own" for s in samples) else 1


if __name__ == "__main__":
    sys.exit(main())
