# SPDX-License-Identifier: MIT
"""Suite net: TCP in the program beside the kernel's, as root, in network namespaces of its own.

cN_SIZE: CPU of `heddle serve` for a request (wrk, keep-alive, N connections), over user TCP on a
TUN device and over the kernel's loopback. idle_N: memory of the server's process for each idle
connection, and of the kernel's TCP. connections: bench/net/connections.cc. goodput_LOSS_DELAY:
bench/net/goodput.cc, in permille and ms each way.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import bench_machine as machine
from bench_http_values import wrk_values
from bench_machine import Failed
from bench_plan import build_folder, Measure, Plan

DEVICE = ("ip link set lo up && ip tuntap add dev tun0 mode tun vnet_hdr multi_queue && "
          "ip address add 10.9.0.1/24 dev tun0 && ip link set tun0 up && echo up && exec cat")
PORT = 8000
SIZES = {"100b": 100, "128k": 128 * 1024}
CONNECTIONS = (50, 1000)
IDLE = 4000                      # below the usual limit of descriptors of the client
SENDERS = {"heddle": 0, "kernel_cubic": 1, "kernel_bbr": 2}
PERMILLE = (0, 10, 30)
DELAYS_MS = (0, 10)
# Keep-alive connections that ask once each and rest; says what it holds, ends with its input.
IDLE_CLIENT = """
import resource, socket, sys
host, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_NOFILE, (count + 64, max(count + 64,
                   resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
held = []
for _ in range(count):
    s = socket.create_connection((host, port), 20)
    s.sendall(b"GET /100b HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
    got = b""
    while not got.endswith(b"x" * 100):
        more = s.recv(4096)
        if not more:
            sys.exit("closed")
        got += more
    held.append(s)
print(len(held), flush=True)
sys.stdin.read()
"""


class Namespace:
    """A network namespace with a TUN device, until close()."""

    def __init__(self):
        self.holder = subprocess.Popen(["unshare", "-n", "sh", "-c", DEVICE], text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)
        if self.holder.stdout.readline() != "up\n":
            why = self.holder.stderr.read().strip()
            self.close()
            raise Failed(why or "no namespace with a TUN device can be made")

    def enter(self, command):
        return ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net", *map(str, command)]

    def kernel_tcp_bytes(self):
        """Pages of the kernel's TCP, of the whole machine: sockets of a namespace count there."""
        text = pathlib.Path("/proc/slabinfo").read_text()
        rows = re.findall(r"^(TCP|TCPv6|sock_inode_cache|filp|dentry) +(\d+) +\d+ +(\d+)", text,
                          re.M)
        return sum(int(used) * int(size) for _, used, size in rows)

    def close(self):
        machine.stop(self.holder)
        for stream in (self.holder.stdin, self.holder.stdout, self.holder.stderr):
            stream.close()


class Site:
    """`heddle serve` of two files, over user TCP or the kernel's, in a namespace of its own."""

    def __init__(self, program, subject):
        self.space = Namespace()
        self.folder = tempfile.TemporaryDirectory()
        for name, size in SIZES.items():
            (pathlib.Path(self.folder.name) / name).write_bytes(b"x" * size)
        user = subject == "heddle"
        self.host = "10.9.0.2" if user else "127.0.0.1"
        where = ["--net", "user:tun0,10.9.0.2/24"] if user else ["--bind", "127.0.0.1"]
        command = [program, "serve", self.folder.name, "-p", PORT, "--log", "off",
                   "--queue-delay", "0", *where]
        self.process = subprocess.Popen(self.space.enter(command), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True,
                                        preexec_fn=machine.pin_to(machine.SERVER_CORE))
        try:
            self.wait()
        except Failed:
            self.close()
            raise

    def wait(self):
        for line in self.process.stderr:
            if "here " in line:
                return
        raise Failed("heddle serve said no address")

    def pids(self):
        return machine.family(self.process.pid)

    def close(self):
        machine.stop(self.process)
        self.process.stderr.close()
        self.space.close()
        self.folder.cleanup()


def request(program, subject, connections, name, seconds):
    """CPU of the server's process for a request, by wrk."""
    site = Site(program, subject)
    try:
        load = ["wrk", "-t1", f"-c{connections}", f"http://{site.host}:{PORT}/{name}"]
        machine.run(site.space.enter([*load, "-d1s"]), core=machine.CLIENT_CORE)
        before = machine.cpu_seconds(site.pids())
        text = machine.run(site.space.enter([*load, f"-d{seconds}s"]), core=machine.CLIENT_CORE)
        return wrk_values(text, machine.cpu_seconds(site.pids()) - before)
    finally:
        site.close()


def idle(program, subject, count):
    """Memory for each idle keep-alive connection: the process', and the kernel's of both ends."""
    site = Site(program, subject)
    try:
        client = [sys.executable, "-c", IDLE_CLIENT, site.host, PORT]
        machine.run(site.space.enter(["sh", "-c", 'exec "$@" < /dev/null', "sh", *client, 50]),
                    core=machine.CLIENT_CORE)
        time.sleep(0.5)
        before, kernel_before = machine.memory(site.pids()), site.space.kernel_tcp_bytes()
        holder = subprocess.Popen(site.space.enter([*client, count]), text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE,
                                  preexec_fn=machine.pin_to(machine.CLIENT_CORE))
        with holder:
            if holder.stdout.readline().strip() != str(count):
                raise Failed(holder.stderr.read().strip() or "connections did not open")
            after, kernel_after = machine.memory(site.pids()), site.space.kernel_tcp_bytes()
            holder.stdin.close()
        return [("conn_bytes", max(0, after[1] - before[1]) / count, "B"),
                ("kernel_conn_bytes", max(0, kernel_after - kernel_before) / count, "B")]
    finally:
        site.close()


def bench_json(program, pattern, **variables):
    env = {**os.environ, **variables}
    text = machine.run([program, f"--benchmark_filter={pattern}", "--benchmark_format=json"],
                       core=None, env=env)
    runs = [b for b in json.loads(text)["benchmarks"] if b.get("run_type") != "aggregate"]
    if len(runs) != 1 or runs[0].get("error_occurred"):
        raise Failed(runs[0].get("error_message", "failed") if runs else f"no {pattern}")
    return runs[0]


def connections(program, subject):
    run = bench_json(program, f"net/connections/{subject}/")
    return [("bytes", run["bytes"], "B"), ("stack_bytes", run["stack_bytes"], "B"),
            ("open_ratio", run["open_ratio"], "x"), ("first_per_s", run["first_per_s"], "1/s"),
            ("last_per_s", run["last_per_s"], "1/s")]


def goodput(program, subject, permille, delay_ms, rounds):
    """MB/s: the mean of some transfers, whose losses differ."""
    run = bench_json(program, f"transfer/sender:{SENDERS[subject]}/permille_lost:{permille}/"
                     f"ms_each_way:{delay_ms}/", ROUNDS=str(rounds))
    return [("mb_per_s", run["bytes_per_second"] / 1e6, "MB/s")]


def plan(context):
    cases = [f"c{n}_{name}" for n in CONNECTIONS for name in SIZES]
    out = Plan([*cases, f"idle_{IDLE}", "connections"])
    build = build_folder(context.root)
    heddle, wrk = build / "bin" / "heddle", shutil.which("wrk")
    missing = ("not root" if os.geteuid() != 0 else
               "no nsenter and unshare" if not shutil.which("nsenter") else
               "no /dev/net/tun" if not os.path.exists("/dev/net/tun") else "")
    seconds = 1 if context.brief else 4
    if missing:
        out.skip("heddle", missing)
        return out
    if not heddle.exists() or not wrk:
        out.skip("heddle", "build/dist/bin/heddle or wrk is not there")
    else:
        for subject in ("heddle", "kernel"):
            for n in CONNECTIONS:
                for name in SIZES:
                    out.add(Measure(f"c{n}_{name}", subject, seconds + 2,
                                    lambda s=subject, n=n, f=name:
                                    request(heddle, s, n, f, seconds)))
            out.add(Measure(f"idle_{IDLE}", subject, 5, lambda s=subject: idle(heddle, s, IDLE)))
    many = build / "bench" / "net_connections"
    if many.exists():
        for subject in ("simulated", "tun"):
            out.add(Measure("connections", subject, 15, lambda s=subject: connections(many, s)))
    else:
        out.skip("connections", "build/dist/bench/net_connections is not built")
    transfers = build / "bench" / "net_goodput"
    if transfers.exists():
        for permille in PERMILLE:
            for delay in DELAYS_MS:
                for subject in SENDERS:
                    out.add(Measure(f"goodput_{permille}_{delay}", subject, 8,
                                    lambda p=permille, d=delay, s=subject:
                                    goodput(transfers, s, p, d, 3 if context.brief else 10)))
    else:
        out.skip("goodput", "build/dist/bench/net_goodput is not built")
    out.pairs += [("heddle", "kernel", "wrk_cpu_us"), ("heddle", "kernel_cubic", "mb_per_s")]
    return out
