# SPDX-License-Identifier: MIT
"""A restart without a dropped connection: the next server takes the socket over, under churn."""

import os
import socket
import stat
import threading
import time
import unittest

from program import LIMIT_S, SiteTest

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


class Churn:
    """Clients that connect, ask once and want a whole answer, again and again."""

    def __init__(self, address, clients=4):
        self.address, self.answers, self.wrong = address, 0, []
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.run) for _ in range(clients)]

    def run(self):
        while not self.over.is_set():
            text = b""
            try:
                with socket.create_connection(self.address, timeout=10) as conn:
                    conn.sendall(REQUEST)
                    while data := conn.recv(65536):
                        text += data
            except OSError as error:
                self.wrong.append(repr(error))
                continue
            if not text.endswith(b"\r\n\r\n<p>index"):
                self.wrong.append(repr(text))
            self.answers += 1

    def wait_for_more(self):
        enough, end = self.answers + 10, time.monotonic() + LIMIT_S
        while self.answers < enough and time.monotonic() < end:
            time.sleep(0.001)

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for t in self.threads:
            t.join()


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
                    churn.wait_for_more()
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

    def test_workers_share_the_door_through_reloads(self):
        for driver in ("io_uring", "epoll", "poll"):
            with self.serve("--workers", "3", "--metrics", "--driver", driver) as server:
                server.wait_for("3 workers, " + driver)
                with Churn((server.host, server.port)) as churn:
                    for _ in range(5):
                        server.talk = ""
                        server.send(1)  # SIGHUP
                        server.wait_for("Settings read again")
                        churn.wait_for_more()
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

    def test_reloads_under_churn_lose_nothing(self):
        with self.serve("--log", "off") as server, Churn((server.host, server.port)) as churn:
            for _ in range(20):
                server.talk = ""
                server.send(1)  # SIGHUP
                server.wait_for("Settings read again")
                churn.wait_for_more()
        self.assertEqual(churn.wrong, [])
        self.assertGreater(churn.answers, 200)


if __name__ == "__main__":
    unittest.main()
