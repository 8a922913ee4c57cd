# SPDX-License-Identifier: MIT
"""Tests of the load clients and the ceilings, built here: against each other and lying servers."""

import http.server
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

import bench_http_idle
import bench_machine as machine
import bench_servers as servers


class Programs(unittest.TestCase):
    """The load client and the ceilings, built here, against each other and a lying server."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        compiler = shutil.which("clang++-19") or shutil.which("g++")
        rivals = ROOT / "bench" / "rivals"
        for source, flags in (("load/load", []), ("load/open", []), ("load/idle", []),
                              ("ceiling/ceiling_epoll", []),
                              ("ceiling/ceiling_uring", ["-luring"])):
            subprocess.run([compiler, "-std=c++23", "-O1", rivals / f"{source}.cc", "-o",
                            cls.program(source), *flags], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def program(cls, source):
        return pathlib.Path(cls.folder.name) / source.rpartition("/")[2]

    def ceiling(self, kind, *options):
        path = self.program(f"ceiling_{kind}")
        server = servers.Server(kind, lambda port: [path, "--port", port, *options])
        server.start()
        self.addCleanup(server.stop)
        return server

    def load(self, port, *options):
        done = subprocess.run([self.program("load"), "--port", str(port), "--connections", "3",
                               "--seconds", "0.2", "--warmup", "0", *options],
                              capture_output=True, text=True)
        return json.loads(done.stdout)

    def both(self, *options):
        return [self.ceiling(kind, *options) for kind in ("epoll", "uring")]

    def test_requests_that_come_in_pieces_are_each_answered_once(self):
        for server in self.both("--body", "7"):
            with socket.create_connection(("127.0.0.1", server.port), 5) as s:
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for byte in b"GET / HTTP/1.1\r\nA: \r\r\n\r\nGET / HTTP/1.1\r\n\r\n":
                    s.sendall(bytes([byte]))
                s.shutdown(socket.SHUT_WR)
                text = b"".join(iter(lambda: s.recv(4096), b""))
            self.assertEqual(text.count(b"HTTP/1.1 200 OK\r\n"), 2)
            self.assertTrue(text.endswith(b"\r\n\r\nxxxxxxx"))

    def test_a_full_socket_loses_no_answer(self):
        count = 20_000
        for server in self.both("--body", "1000"):
            size = servers.get(server.port, "/")[2]
            with socket.create_connection(("127.0.0.1", server.port), 10) as s:
                request = b"GET / HTTP/1.1\r\n\r\n" * count
                sender = threading.Thread(target=s.sendall, args=(request,))
                sender.start()
                left = count * size
                while left > 0:
                    part = s.recv(65536)
                    self.assertTrue(part)
                    left -= len(part)
                sender.join()
                self.assertEqual(left, 0)

    def test_the_answer_is_padded_to_the_length_asked_for(self):
        for server in self.both("--body", "100", "--total", "300"):
            self.assertEqual(servers.get(server.port, "/")[2], 300)

    def test_both_ceilings_echo_long_texts(self):
        text = bytes(range(256)) * 4000
        for server in self.both("--echo"):
            servers.check_echo(server)
            with socket.create_connection(("127.0.0.1", server.port), 10) as s:
                sender = threading.Thread(target=s.sendall, args=(text,))
                sender.start()
                back = b""
                while len(back) < len(text):
                    part = s.recv(65536)
                    self.assertTrue(part)
                    back += part
                sender.join()
            self.assertEqual(back, text)

    def test_the_client_counts_answers(self):
        for server in self.both():
            for options in ((), ("--pipeline", "8"), ("--burst", "1")):
                result = self.load(server.port, *options, "--server", str(server.process.pid),
                                   "--requests", "2000", "--seconds", "30")
                self.assertEqual(result["errors"], 0)
                self.assertGreaterEqual(result["requests"], 2000)
                self.assertGreater(result["server_cpu_s"], 0)
                self.assertLessEqual(result["p50_us"], result["p99_us"])

    def test_the_client_discards_long_bodies_and_still_counts(self):
        server = self.ceiling("epoll", "--body", "100000")
        result = self.load(server.port)
        self.assertEqual(result["errors"], 0)
        self.assertGreater(result["bytes"], result["requests"] * 100000)

    def test_an_answer_of_10_megabytes_comes_whole_and_is_kept_but_twice(self):
        body = 10 << 20
        for server in self.both("--body", str(body)):
            size = servers.get(server.port, "/")[2]
            with socket.create_connection(("127.0.0.1", server.port), 10) as s:
                s.sendall(b"GET / HTTP/1.1\r\n\r\n" * 3)
                s.shutdown(socket.SHUT_WR)
                text = b"".join(iter(lambda: s.recv(1 << 20), b""))
            self.assertEqual(len(text), 3 * size)
            for i in range(3):
                self.assertTrue(text[i * size:].startswith(b"HTTP/1.1 200 OK\r\n"))
                self.assertEqual(text[(i + 1) * size - body:(i + 1) * size].count(b"x"), body)
            self.assertLess(machine.memory([server.process.pid])[1], 2.5 * body)
            self.assertEqual(self.load(server.port)["errors"], 0)

    def site(self, idle_s=None):
        """A server of Python's; gives its port, its requests by path, and its connections."""
        seen, links = {}, []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = idle_s
            disable_nagle_algorithm = True

            def setup(self):
                super().setup()
                self.asked = 0
                links.append(self)

            def do_GET(self):
                self.asked += 1
                seen[self.path] = seen.get(self.path, 0) + 1
                self.send_response(200)
                body = b"b" * int(self.path[1:])
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                self.wfile.flush()

            def log_message(self, *_):
                pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server.server_port, seen, links

    def test_the_client_takes_a_new_connection_for_each_request(self):
        for options in ((), ("--burst", "1")):
            port, _, links = self.site()
            result = self.load(port, "--close", "1", "--path", "/20000", *options,
                               "--requests", "100", "--seconds", "30")
            self.assertEqual((result["errors"], result["reconnects"]), (0, 0))
            self.assertGreaterEqual(result["requests"], 100)
            self.assertEqual(max(link.asked for link in links), 1)
            # Not counted: those of the first turn, and those under way at the end.
            self.assertIn(len(links) - result["requests"], range(10))

    def test_the_client_asks_for_several_paths_in_turn(self):
        port, seen, _ = self.site()
        paths = ("/10", "/30000", "/700", "/6")   # one more than connections
        result = self.load(port, *(w for p in paths for w in ("--path", p)),
                           "--requests", "200", "--seconds", "30")
        self.assertEqual(result["errors"], 0)
        # Each connection goes round by itself; a slow one may be behind.
        self.assertGreater(min(seen.get(p, 0) for p in paths), 20)

    def test_options_that_contradict_each_other_are_refused(self):
        for wrong in (("--pipeline", "2", "--close", "1"), ("--echo", "9", "--close", "1"),
                      ("--pipeline", "2", "--path", "/a", "--path", "/b"), ("--nonsense", "1")):
            done = subprocess.run([self.program("load"), "--port", "1", *wrong],
                                  capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("usage: load", done.stderr)

    def test_idle_connections_are_held_and_those_that_were_lost_are_noticed(self):
        server = self.ceiling("epoll")
        resident, anonymous = bench_http_idle.hold(server, self.program("idle"), "/", 200)
        self.assertGreater(resident, anonymous)
        lossy = servers.Server("lossy", None)
        lossy.process = server.process
        lossy.port, _, links = self.site(idle_s=0.05)
        with self.assertRaisesRegex(machine.Failed, "kept 0 of 3"):
            # The memory is read only once all connections have been given up.
            with unittest.mock.patch.object(
                    machine, "memory", lambda _: self.all_closed(links) or (1, 1)):
                bench_http_idle.hold(lossy, self.program("idle"), "/5", 3)
        with self.assertRaisesRegex(machine.Failed, "not answered"):
            bench_http_idle.hold(lossy, self.program("idle"), "/words", 3)

    def all_closed(self, links):
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline and not (
                len(links) == 3 and all(link.wfile.closed for link in links)):
            time.sleep(0.01)

    def test_the_client_stops_at_a_count(self):
        server = self.ceiling("epoll")
        result = self.load(server.port, "--requests", "1000", "--seconds", "30")
        self.assertGreaterEqual(result["requests"], 1000)
        self.assertLess(result["seconds"], 10)

    def open(self, port, *options):
        done = subprocess.run([self.program("open"), "--port", str(port), "--seconds", "0.3",
                               "--warmup", "0.05", *options], capture_output=True, text=True)
        return json.loads(done.stdout)

    def test_the_open_client_asks_at_its_rate(self):
        server = self.ceiling("epoll", "--body", "100000")
        result = self.open(server.port, "--rate", "1000", "--connections", "20")
        self.assertEqual((result["errors"], result["refused"]), (0, 0))
        # 300 on average, by its seed alone: what was due while the client did not run is asked too.
        self.assertTrue(250 < result["asked"] < 350, result)
        self.assertGreater(result["answered"], 0)
        full = self.open(server.port, "--rate", "0", "--connections", "4", "--seconds", "1")
        self.assertEqual(full["errors"], 0)
        self.assertGreater(full["answered"], 4)  # each connection asks again: the machine's pace

    def test_the_open_client_waits_for_nobody(self):
        """One connection to a server that takes 0.1 s: what waits for it is late or given up."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def dawdle():
            s, _ = listener.accept()
            with s:
                for head in (b"200 OK", b"503 Busy") * 10:
                    if not s.recv(1000):
                        return
                    time.sleep(0.1)
                    try:
                        s.sendall(b"HTTP/1.1 " + head + b"\r\nContent-Length: 2\r\n\r\nok")
                    except OSError:
                        return
        threading.Thread(target=dawdle, daemon=True).start()
        result = self.open(listener.getsockname()[1], "--rate", "500", "--connections", "1",
                           "--seconds", "0.6", "--patience", "0.05")
        self.assertEqual((result["errors"], result["good"]), (0, 0))
        self.assertGreater(result["answered"], 0)
        self.assertGreater(result["refused"], 0)
        self.assertGreater(result["given_up"], 20)

    def test_wrong_answers_are_errors(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def lie():
            while True:
                try:
                    s, _ = listener.accept()
                    with s:
                        s.recv(1000)
                        s.sendall(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
                except OSError:
                    return
        threading.Thread(target=lie, daemon=True).start()
        self.assertGreater(self.load(listener.getsockname()[1])["errors"], 0)

if __name__ == "__main__":
    unittest.main()
