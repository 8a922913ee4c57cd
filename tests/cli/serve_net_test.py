# SPDX-License-Identifier: MIT
"""heddle serve --net user: TCP in the program over a TUN device, in a network namespace of the
test's own. The clients are Python and curl with the kernel's TCP. It needs root; elsewhere it is
skipped."""

import ctypes
import hashlib
import http.client
import os
import shutil
import signal
import subprocess
import unittest

import program

DEVICE = """
ip link set lo up &&
ip tuntap add dev tun0 mode tun vnet_hdr multi_queue &&
ip address add 10.9.0.1/24 dev tun0 &&
ip link set tun0 up
"""
SIZES = (0, 1, 1460, 65536, 5_000_000)
CLONE_NEWNET = 0x40000000


def prepare():
    """Why it cannot run here, or nothing. This process is in the namespace from then on."""
    if os.geteuid() != 0 or not os.access("/dev/net/tun", os.W_OK) or not shutil.which("ip"):
        return "it needs root, /dev/net/tun and the program ip"
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        return "network namespaces are not allowed here"
    made = subprocess.run(["sh", "-c", DEVICE], capture_output=True, text=True)
    return made.stderr


class NetTest(program.SiteTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.before = os.open("/proc/self/ns/net", os.O_RDONLY)
        if why := prepare():
            cls.leave()
            raise unittest.SkipTest(why)

    @classmethod
    def tearDownClass(cls):
        cls.leave()
        super().tearDownClass()

    @classmethod
    def leave(cls):
        ctypes.CDLL(None).setns(cls.before, CLONE_NEWNET)
        os.close(cls.before)

    def setUp(self):
        super().setUp()
        for size in SIZES:
            (self.site / f"{size}.bin").write_bytes(self.text(size))

    def text(self, size):
        return hashlib.shake_128(str(size).encode()).digest(size)

    def serve(self, *words):
        return program.Server(str(self.site), "--net", "user:tun0,10.9.0.2/24", *words)

    def test_files_of_all_sizes_are_exact(self):
        for words in ((), ("-w", "2"), ("--driver", "epoll"), ("--driver", "poll")):
            with self.subTest(words=words), self.serve(*words) as server:
                self.assertEqual(server.host, "10.9.0.2")
                for size in SIZES:
                    answer, body = self.get(server, f"/{size}.bin")
                    self.assertEqual((answer, body), (200, self.text(size)))
                self.assertEqual(server.stop(), 0)

    def get(self, server, target):
        connection = http.client.HTTPConnection(server.host, server.port, timeout=program.LIMIT_S)
        connection.request("GET", target)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body

    def test_many_requests_on_many_connections(self):
        with self.serve("-w", "2") as server:
            open_ones = []
            for _ in range(50):
                open_ones.append(http.client.HTTPConnection(server.host, server.port,
                                                            timeout=program.LIMIT_S))
            for _ in range(4):
                for connection in open_ones:
                    connection.request("GET", "/65536.bin")
                for connection in open_ones:
                    self.assertEqual(connection.getresponse().read(), self.text(65536))
            for connection in open_ones:
                connection.close()
            self.assertEqual(server.stop(), 0)

    @unittest.skipUnless(shutil.which("curl"), "no curl")
    def test_curl_gets_the_right_bytes(self):
        with self.serve() as server:
            got = subprocess.run(["curl", "-sS", "--max-time", "20",
                                  f"http://{server.host}:{server.port}/5000000.bin"],
                                 capture_output=True)
            self.assertEqual((got.returncode, got.stderr), (0, b""))
            self.assertEqual(got.stdout, self.text(5_000_000))
            self.assertEqual(server.stop(), 0)

    def test_metrics_count_packets_and_why_they_were_dropped(self):
        with self.serve("--metrics") as server:
            self.get(server, "/1.bin")
            status, body = self.get(server, "/metrics")
            self.assertEqual(status, 200)
            self.assertIn(b"heddle_tcp_accepted_total 2\n", body)
            self.assertRegex(body, rb"heddle_tcp_packets_received_total [1-9]")
            self.assertEqual(server.stop(), 0)

    def test_a_trace_has_the_packets_and_tcpdump_reads_it(self):
        path = self.site / "packets.pcap"
        with program.Server(str(self.site), "--net",
                            f"user:tun0,10.9.0.2/24,trace={path}") as server:
            self.get(server, "/5000000.bin")
            self.assertEqual(server.stop(), 0)
        code, out, err = program.run("trace", "tcp", str(path))
        self.assertEqual((code, err), (0, ""))
        # The server's own test of its device may be there too.
        sent = max(int(line.split()[5]) for line in out.splitlines()[1:])
        self.assertGreater(sent, 5_000_000)
        self.assertLess(sent, 5_001_000)
        picture = program.run("trace", "tcp", str(path), "-o", "-")[1]
        self.assertIn('class="cwnd"', picture)
        if shutil.which("tcpdump"):
            read = subprocess.run(["tcpdump", "-n", "-r", str(path), "tcp"], capture_output=True,
                                  text=True)
            self.assertEqual(read.returncode, 0, read.stderr)
            self.assertIn("10.9.0.2.", read.stdout)
            self.assertGreater(len(read.stdout.splitlines()), 100)

    def test_parts_of_the_network_are_checked(self):
        for part, words in (("memory=1", "65536"), ("full=perhaps", "full=wait or full=refuse"),
                            ("colour=red", "no part of a network"), ("trace=", "trace=FILE")):
            code, _, talk = program.run("serve", str(self.site), "--net",
                                        f"user:tun0,10.9.0.2/24,{part}")
            self.assertEqual(code, 2)
            self.assertIn(words, talk)

    def test_the_dump_has_the_state_of_the_stack(self):
        with self.serve() as server:
            connection = http.client.HTTPConnection(server.host, server.port,
                                                    timeout=program.LIMIT_S)
            connection.request("GET", "/1.bin")
            connection.getresponse().read()
            server.process.send_signal(signal.SIGQUIT)
            server.wait_for(r"tcp 10\.9\.0\.2: 1 connection, 1 listen, 1 established\n")
            connection.close()
            self.assertEqual(server.stop(), 0)

    def test_what_is_missing_is_said(self):
        code, _, talk = program.run("serve", str(self.site), "--net", "user:tun5,10.9.5.2/24")
        self.assertEqual(code, 1)
        self.assertIn("there is no device tun5", talk)
        self.assertIn("sudo ip tuntap add dev tun5 mode tun user $USER vnet_hdr multi_queue", talk)
        for bad in ("user", "user:tun0", "user:tun0,10.9", "tun0,10.9.0.2/24", "user:,10.9.0.2"):
            code, _, talk = program.run("serve", str(self.site), "--net", bad)
            self.assertEqual(code, 2, bad)
            self.assertIn("user:tun0,10.9.0.2/24", talk)
        for address, why in (("10.9.0.2/99", "1 to 32"), ("0.0.0.0", "no address of a host"),
                             ("127.0.0.1/8", "no address of a host"),
                             ("10.9.0.0/24", "the network itself"),
                             ("10.9.0.255/24", "the broadcast address")):
            code, _, talk = program.run("serve", str(self.site), "--net", f"user:tun0,{address}")
            self.assertEqual(code, 2, address)
            self.assertIn(why, talk)
        code, _, talk = program.run("serve", str(self.site), "--net", "user:tun0,10.9.0.1/24")
        self.assertEqual(code, 1)
        self.assertIn("the kernel has the address 10.9.0.1 itself", talk)
        code, out, _ = program.run("doctor")
        self.assertIn("heddle serve --net user:tun0,10.9.0.2/24", out)


if __name__ == "__main__":
    unittest.main()
