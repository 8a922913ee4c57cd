# SPDX-License-Identifier: MIT
"""A topic over three servers of NATS, each in a network namespace of its own, each killed and
started again once while orders are raised: every order is billed. It needs root, ip, nsenter and
nats-server; elsewhere it is skipped."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

ORDERS = int(os.environ.get("HEDDLE_ORDERS", "100000"))
PROGRAM = os.environ.get("NATS_ORDERS", "build/release/examples/nats_orders")
LIMIT_S = 200

HUB = """
ip link set lo up &&
ip link add bridge type bridge && ip address add 10.77.0.100/24 dev bridge &&
ip link set bridge up && echo ready && exec sleep 1000
"""


def missing():
    if os.geteuid() != 0:
        return "it needs root"
    for name in ("ip", "nsenter", "unshare", "nats-server"):
        if not shutil.which(name):
            return f"it needs {name}"
    if subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode:
        return "network namespaces are not allowed here"
    return None


class Namespace:
    """A process that holds a network namespace."""

    def __init__(self, script="ip link set lo up && echo ready && exec sleep 1000"):
        self.holder = subprocess.Popen(["unshare", "-n", "sh", "-c", script], text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        line = self.holder.stdout.readline().strip()
        if line != "ready":
            raise unittest.SkipTest(f"no namespace: {line}")

    def inside(self, *command):
        return ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net", *map(str, command)]

    def run(self, script):
        subprocess.run(self.inside("sh", "-c", script), check=True)

    def end(self):
        self.holder.kill()
        self.holder.wait()
        self.holder.stdout.close()


class Server:
    def __init__(self, hub, number, folder):
        self.name = f"n{number}"
        self.address = f"10.77.0.{number}"
        self.folder = folder / self.name
        self.space = Namespace()
        pid = self.space.holder.pid
        hub.run(f"ip link add v{number} type veth peer name eth0 netns /proc/{pid}/ns/net && "
                f"ip link set v{number} master bridge up")
        self.space.run(f"ip address add {self.address}/24 dev eth0 && ip link set eth0 up")
        self.process = None

    def start(self):
        routes = ",".join(f"nats://10.77.0.{n}:6222" for n in (1, 2, 3))
        self.process = subprocess.Popen(
            self.space.inside("nats-server", "-js", "-sd", self.folder, "-n", self.name,
                              "-a", self.address, "-p", 4222, "--cluster_name", "c",
                              "--cluster", f"nats://{self.address}:6222", "--routes", routes),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        if self.process and self.process.poll() is None:
            self.kill()
        self.space.end()


class Program:
    """A program whose lines are read while it runs."""

    def __init__(self, hub, role):
        self.lines = []
        self.process = subprocess.Popen(
            hub.inside(PROGRAM, role, ORDERS, 3, *(f"10.77.0.{n}:4222" for n in (1, 2, 3))),
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip())

    def billed(self):
        return sum(line.startswith("billed order ") for line in list(self.lines)) * 10000

    def end(self, limit_s=0.0):
        try:
            self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            if limit_s:   # it should have ended: its dump says where it waits
                self.process.send_signal(signal.SIGQUIT)
                time.sleep(2)
            self.process.kill()
            self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        return self.process.returncode


class NatsClusterTest(unittest.TestCase):
    def wait(self, holds, what, limit_s=60):
        end = time.monotonic() + limit_s
        while not holds():
            if time.monotonic() > end:
                self.fail(f"{what}: not within {limit_s} s; {self.state()}")
            time.sleep(0.1)

    def state(self):
        return "; ".join("\n".join(each.lines[-60:]) for each in (self.billing, self.shop) if each)

    def test_each_order_is_billed_although_each_server_is_killed_once(self):
        reason = missing()
        if reason:
            self.skipTest(reason)
        self.billing = self.shop = None
        folder = pathlib.Path(tempfile.mkdtemp(prefix="nats-cluster-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        hub = Namespace(HUB)
        self.addCleanup(hub.end)
        servers = []
        for number in (1, 2, 3):
            servers.append(Server(hub, number, folder))
            self.addCleanup(servers[-1].end)
        for each in servers:
            each.start()
        self.billing = Program(hub, "billing")
        self.addCleanup(self.billing.end)
        self.wait(lambda: any("connected" in line for line in self.billing.lines), "a connection")
        self.shop = Program(hub, "shop")
        self.addCleanup(self.shop.end)
        step = ORDERS // 5
        for place, each in enumerate(servers, 1):
            self.wait(lambda: self.billing.billed() >= place * step // 10000 * 10000,
                      f"{place * step} orders billed", LIMIT_S)
            each.kill()
            time.sleep(1)  # long enough for the others to choose another leader
            each.start()
        self.assertEqual(self.shop.end(LIMIT_S), 0, self.state())
        self.assertEqual(self.billing.end(LIMIT_S), 0, self.state())
        self.assertIn(f"sold {ORDERS} orders", self.shop.lines)
        last = re.fullmatch(r"billed (\d+) orders, (\d+) cups, (\d+) came again",
                            self.billing.lines[-1])
        self.assertTrue(last, self.billing.lines[-3:])
        self.assertEqual(int(last[1]), ORDERS)
        self.assertEqual(int(last[2]), sum(n % 10 for n in range(1, ORDERS + 1)))
        lost = sum("lost the connection" in line for line in self.shop.lines + self.billing.lines)
        self.assertGreater(lost, 0, "no program has noticed that its server was killed")


if __name__ == "__main__":
    unittest.main()
