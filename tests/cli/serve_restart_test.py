# SPDX-License-Identifier: MIT
"""A restart without a dropped connection: the next server takes the socket over, under churn."""

import os
import socket
import stat
import threading
import time
import unittest

from program import LIMIT_S, Load, SiteTest, run, wait_until

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


class Churn(Load):
    """Clients that connect, ask once and want a whole answer, again and again."""

    def __init__(self, address, clients=4):
        super().__init__()
        self.address = address
        self.threads = [threading.Thread(target=self.run) for _ in range(clients)]

    def run(self):
        while not self.over.is_set():
            text = b""
            try:
                with socket.create_connection(self.address, timeout=LIMIT_S) as conn:
                    conn.sendall(REQUEST)
                    while data := conn.recv(65536):
                        text += data
            except OSError as error:
                self.wrong.append(repr(error))
                continue
            if not text.endswith(b"\r\n\r\n<p>index"):
                self.wrong.append(repr(text))
            self.answers += 1

    def wait_for_more(self, count=10):
        enough = self.answers + count
        wait_until(lambda: self.answers, f"{enough} answers; {self.wrong[:3]}",
                   lambda n: n >= enough)


class ServeRestart(SiteTest):
    def test_the_next_server_takes_over_and_nobody_notices(self):
        path = str(self.root / "handover")
        words = (str(self.site), "--log", "off", "--handover", path)
        for driver, workers in (("io_uring", 1), ("epoll", 1), ("io_uring", 3), ("epoll", 3)):
            more = ("--driver", driver, "--workers", str(workers))
            server = self.serve(*words[1:], *more).__enter__()
            port = server.port
            self.assertTrue(stat.S_ISSOCK(os.lstat(path).st_mode))
            self.assertEqual(os.lstat(path).st_mode & 0o077, 0)
            before = []
            with Churn((server.host, port)) as churn:
                for _ in range(3):
                    following = self.serve(*words[1:], *more).__enter__()
                    self.assertEqual(following.port, port)  # it did not ask for one of its own
                    churn.wait_for_more(20)
                    server.wait_for("Handed over")
                    before.append(server)
                    server = following
                for old in before:
                    self.assertEqual(old.process.wait(LIMIT_S), 0)
                    old.__exit__()
            self.assertEqual(churn.wrong, [])
            self.assertGreater(churn.answers, 50)
            self.assertEqual(server.stop(), 0)
            server.__exit__()

    def test_the_places_of_listen_are_handed_over_too(self):
        path, local = str(self.root / "handover"), str(self.root / "site.sock")
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        both = ("--listen", f"unix:{local}", "--listen", f"127.0.0.1:{port}")

        def answer(family, at):
            with socket.socket(family) as conn:
                conn.settimeout(LIMIT_S)
                conn.connect(at)
                conn.sendall(REQUEST)
                text = b""
                while data := conn.recv(65536):
                    text += data
            return text[-8:]

        for driver, workers in (("io_uring", "1"), ("epoll", "3")):
            words = ("--log", "off", "--handover", path, "--driver", driver, "--workers", workers)
            server = self.serve(*words, *both).__enter__()
            file_before = os.lstat(local).st_ino
            with Churn(("127.0.0.1", port)) as churn:
                for places in (both, both[2:] + both[:2]):  # in whatever order
                    following = self.serve(*words, *places).__enter__()
                    churn.wait_for_more()
                    server.wait_for("Handed over")
                    self.assertEqual(server.process.wait(LIMIT_S), 0)
                    server.__exit__()
                    server = following
                    self.assertEqual(answer(socket.AF_UNIX, local), b"<p>index")
                    self.assertEqual(os.lstat(local).st_ino, file_before)
            self.assertEqual(churn.wrong, [])
            # A next server with other places opens what it was not given, and closes the rest.
            other = str(self.root / "other.sock")
            with self.serve(*words, "--listen", f"unix:{other}") as last:
                server.wait_for("Handed over")
                self.assertEqual(server.process.wait(LIMIT_S), 0)
                server.__exit__()
                self.assertEqual(answer(socket.AF_UNIX, other), b"<p>index")
                with self.assertRaises(ConnectionRefusedError):
                    answer(socket.AF_INET, ("127.0.0.1", port))
                self.assertEqual(last.stop(), 0)

    def test_workers_share_the_door_through_reloads(self):
        for driver in ("io_uring", "epoll", "poll"):
            with self.serve("--workers", "3", "--metrics", "--driver", driver) as server:
                server.wait_for("3 workers, " + driver)
                with Churn((server.host, server.port)) as churn:
                    for _ in range(5):
                        server.talk = ""
                        server.send(1)  # SIGHUP
                        server.wait_for("Settings read again")
                        churn.wait_for_more(20)
                    page = server.ask("/metrics")[2].decode()
                    self.assertIn("heddle_workers 3", page)
                self.assertEqual(churn.wrong, [])
                self.assertGreater(churn.answers, 50)
                self.assertEqual(server.stop(), 0)
                server.wait_for(r"\n\d+ requests, .* 0 errors\n$")

    def test_a_next_server_that_fails_changes_nothing(self):
        path = str(self.root / "handover")
        with self.serve("--handover", path) as server:
            with socket.socket(socket.AF_UNIX) as impatient:
                impatient.connect(path)
                data, fds, _, _ = socket.recv_fds(impatient, 1, 1)
                self.assertEqual((data, len(fds)), (b"g", 1))
                os.close(fds[0])
            self.assertEqual(server.ask("/")[0], 200)
            self.assertEqual(server.stop(), 0)
        with self.serve("--handover", path) as server:  # what was left behind is in nobody's way
            self.assertEqual(server.ask("/")[0], 200)

    def test_who_asks_and_stays_silent_holds_up_no_successor(self):
        path = str(self.root / "handover")
        with self.serve("--handover", path) as server:
            silent = [socket.socket(socket.AF_UNIX) for _ in range(2)]
            for s in silent:
                s.connect(path)
                self.addCleanup(s.close)
            begun = time.monotonic()
            with self.serve("--handover", path) as following:
                self.assertLess(time.monotonic() - begun, 4)
                self.assertEqual(following.port, server.port)
                server.wait_for("Handed over")
                for s in silent:
                    s.settimeout(LIMIT_S)
                    self.assertEqual(s.recv(2), b"g")
                    self.assertEqual(s.recv(1), b"")  # the one that took over was another
                self.assertEqual(server.process.wait(LIMIT_S), 0)
                self.assertEqual(following.ask("/")[0], 200)

    def test_one_that_is_late_to_take_over_ends_and_changes_nothing(self):
        path = str(self.root / "handover")
        with self.serve("--handover", path) as server:
            with socket.socket(socket.AF_UNIX) as late:
                late.connect(path)
                late.settimeout(LIMIT_S)
                self.assertEqual(late.recv(1), b"g")
                with self.serve("--handover", path) as following:
                    self.assertEqual(server.process.wait(LIMIT_S), 0)
                    with self.assertRaises(OSError):
                        late.sendall(b"b")
                    with self.serve("--handover", path) as third:
                        self.assertEqual(third.port, following.port)
                        self.assertEqual(following.process.wait(LIMIT_S), 0)

    def test_of_several_that_begin_together_one_is_the_next(self):
        path = str(self.root / "handover")
        with self.serve("--handover", path) as server:
            asking = [socket.socket(socket.AF_UNIX) for _ in range(8)]
            for s in asking:
                s.connect(path)
                s.settimeout(LIMIT_S)
                self.assertEqual(s.recv(1), b"g")
            sent = []
            for s in asking:
                try:
                    s.sendall(b"b")
                    sent.append(s)
                except BrokenPipeError:
                    pass  # another one has begun, and this one is late
            won = 0
            for s in sent:
                try:
                    won += s.recv(1) == b""
                except ConnectionResetError:
                    pass
            for s in asking:
                s.close()
            self.assertEqual(won, 1)
            self.assertEqual(server.process.wait(LIMIT_S), 0)

    def test_a_successor_with_another_port_or_address_is_refused(self):
        path = str(self.root / "handover")
        with self.serve("--handover", path) as server:
            for words in (("-p", str(server.port % 60000 + 1024)), ("--public",),
                          ("--bind", "127.0.0.2")):
                code, _, err = run("serve", str(self.site), "--handover", path, *words)
                self.assertEqual(code, 1, err)
                self.assertIn(f"error: the server at {path} listens on 127.0.0.1:{server.port}, "
                              "and these settings ask for ", err)
                self.assertEqual(server.ask("/")[0], 200)
            with self.serve("--handover", path, port=str(server.port)) as following:
                self.assertEqual(following.ask("/")[0], 200)

    def test_busy_kept_connections_are_told_that_they_end(self):
        path = str(self.root / "handover")
        request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
        for driver in ("io_uring", "epoll"):
            words = ("--log", "off", "--handover", path, "--driver", driver)
            with self.serve(*words) as server, \
                    socket.create_connection((server.host, server.port), LIMIT_S) as conn:
                conn.sendall(request)
                self.assertNotIn(b"Connection: close", conn.recv(4096))
                with self.serve(*words):
                    server.wait_for("Handed over")
                    text, end = b"", time.monotonic() + LIMIT_S
                    while b"Connection: close" not in text and time.monotonic() < end:
                        conn.sendall(request)  # refused, or without an answer: the test fails
                        text = conn.recv(4096)
                        self.assertIn(b"200 OK", text)
                        time.sleep(0.01)
                    self.assertIn(b"Connection: close", text)
                    self.assertEqual(conn.recv(1), b"")

    def test_reloads_under_churn_lose_nothing(self):
        with self.serve("--log", "off") as server, Churn((server.host, server.port)) as churn:
            for _ in range(20):
                server.talk = ""
                server.send(1)  # SIGHUP
                server.wait_for("Settings read again")
                churn.wait_for_more()
        self.assertEqual(churn.wrong, [])
        self.assertGreaterEqual(churn.answers, 200)


if __name__ == "__main__":
    unittest.main()
