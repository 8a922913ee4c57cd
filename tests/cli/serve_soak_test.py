# SPDX-License-Identifier: MIT
"""Servers that reload and hand over to each other, again and again, while clients come, stay, go
and break off: no request that was taken is lost. HEDDLE_SOAK_SECONDS sets how long (default: 3).

A kept connection may be closed by a server that drains just when its client asks again; then the
client asks once more on a new connection, as RFC 9112 section 9.3.1 has it. Only a failure there
counts, and an answer that has begun and is not whole."""

import http.client
import os
import signal
import socket
import struct
import threading
import time
import unittest

from program import LIMIT_S, SiteTest
from serve_restart_test import Churn

SECONDS = float(os.environ.get("HEDDLE_SOAK_SECONDS", "3"))
RESET = struct.pack("ii", 1, 0)  # for SO_LINGER: close with a reset


class Clients(Churn):
    """Churn, and beside it clients that stay, and some that break off."""

    def __init__(self, address):
        super().__init__(address, clients=2)
        self.kept = self.again = self.rude = 0
        self.threads += [threading.Thread(target=self.stay) for _ in range(2)]
        self.threads.append(threading.Thread(target=self.break_off))

    def stay(self):
        connection, fresh = None, True
        while not self.over.is_set():
            if connection is None:
                connection, fresh = http.client.HTTPConnection(*self.address, timeout=LIMIT_S), True
            try:
                connection.request("GET", "/")
                answer = connection.getresponse()
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError) as why:
                connection.close()
                connection = None
                if fresh:
                    self.wrong.append(f"a new connection: {why!r}")
                self.again += 1
                continue
            except OSError as why:
                self.wrong.append(repr(why))
                connection.close()
                connection = None
                continue
            fresh = False
            body = answer.read()
            if (answer.status, body) != (200, b"<p>index"):
                self.wrong.append(f"{answer.status} {body!r}")
            self.kept += 1
            if answer.will_close:
                connection.close()
                connection = None
        if connection is not None:
            connection.close()

    def break_off(self):
        texts = (b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 3, b"",
                 b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc")
        while not self.over.is_set():
            for text in texts:
                try:
                    with socket.create_connection(self.address, timeout=LIMIT_S) as conn:
                        conn.sendall(text)
                        conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                except OSError as why:
                    self.wrong.append(f"rude: {why!r}")
                self.rude += 1
            time.sleep(0.002)


class ServeSoak(SiteTest):
    def soak(self, driver, seconds):
        path = str(self.root / ("handover-" + driver))
        words = ("--log", "off", "--handover", path, "--driver", driver)
        server = self.serve(*words).__enter__()
        handed, old = 0, []
        with Clients((server.host, server.port)) as clients:
            begun = time.monotonic()

            def enough():
                """The time is over, and on a slow machine a little of everything has happened."""
                lasted = time.monotonic() - begun
                return lasted >= seconds + LIMIT_S or lasted >= seconds and (
                    min(clients.answers, clients.kept) > 20 and handed >= 1)

            while not enough():
                server.talk = ""
                server.send(signal.SIGHUP)
                server.wait_for("Settings read again")
                clients.wait_for_more()
                following = self.serve(*words).__enter__()
                clients.wait_for_more()
                server.wait_for("Handed over")
                old.append(server)
                server, handed = following, handed + 1
                while len(old) > 2:  # the others may still drain
                    self.end(old.pop(0))
        for each in old:
            self.end(each)
        self.assertEqual(clients.wrong, [])
        self.assertEqual(server.stop(), 0)
        server.__exit__()
        if __name__ == "__main__":
            print(f"{driver}: {clients.answers} connections, {clients.kept} requests on kept ones "
                  f"({clients.again} asked again), {clients.rude} broken off, {handed} handovers")
        self.assertGreater(clients.answers, 20)
        self.assertGreater(clients.kept, 20)
        self.assertGreaterEqual(handed, 1)

    def end(self, server):
        self.assertEqual(server.process.wait(LIMIT_S), 0)
        server.__exit__()

    def test_no_request_is_lost_through_reloads_and_handovers(self):
        for driver in ("io_uring", "epoll"):
            with self.subTest(driver):
                self.soak(driver, SECONDS / 2)


if __name__ == "__main__":
    unittest.main()
