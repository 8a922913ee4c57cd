# SPDX-License-Identifier: MIT
"""Each limit of heddle serve: the flag sets it, what is beyond it is refused, and the metrics page
counts that. One line a limit; a limit without a line here fails the last test."""

import http.client
import socket
import time
import unittest

from program import LIMIT_S, SiteTest, run, wait_until

GET = b"GET / HTTP/1.1\r\nHost: x\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n"

# Flag, value, what a client sends, the status that it gets (None: the connection closes without
# one), and the counter.
LIMITS = (
    ("request-line", "64", b"GET /" + b"a" * 64 + b" HTTP/1.1\r\n\r\n", 414, "uris_too_long"),
    ("header-bytes", "100", GET + b"X: " + b"a" * 200 + b"\r\n\r\n", 431, "heads_too_large"),
    ("header-count", "2", GET + b"A: 1\r\nB: 2\r\n\r\n", 431, "heads_too_large"),
    ("body", "4K", POST + b"\r\n" + b"b" * 5000, 405, "bodies_abandoned"),
    ("body-timeout", "100ms", POST + b"\r\n" + b"b" * 10, 405, "body_timeouts"),
    ("header-timeout", "100ms", GET, 408, "header_timeouts"),
    ("idle-timeout", "100ms", b"", None, "idle_timeouts"),
    ("pipeline", "2", (GET + b"\r\n") * 5 + GET + b"Connection: close\r\n\r\n", 200,
     "pipeline_pauses"),
)
# Those whose tests stand elsewhere, or below.
ELSEWHERE = {"driver", "connections", "connections-per-address", "trusted", "body-rate",
             "write-timeout", "send", "drain-timeout", "queue-delay", "retry-after", "cache",
             "cached-file", "held", "recheck", "address-space",
             "file-parts", "upload-bytes", "page-connections", "archive-files",
             "trusted-proxy", "trusted-field", "proxy-protocol"}


class ServeLimits(SiteTest):
    def wait_for_counter(self, server, name, at_least=1):
        """Waits until the counter is at least this; gives its value. The page may be refused for
        a moment: its own request is late for a short limit, or all connections are taken."""
        return wait_until(lambda: server.metric(name), f"{name} >= {at_least}",
                          lambda n: n >= at_least,
                          but=(AssertionError, http.client.HTTPException, ConnectionError))

    def test_a_head_that_is_late_is_logged_with_its_status(self):
        """There is no request yet, so the line names none; the same in each form of the log."""
        for form, line in (("plain", r"  408  \(not a request\)  .*127\.0\.0\.1:"),
                           ("common", r'"-" 408 \d+'),
                           ("combined", r'"-" 408 \d+ "-" "-"'), ("json", r'"status":408')):
            with self.serve("--header-timeout", "100ms", "--log", form) as server:
                self.assertIn(b" 408 ", self.until_closed(server, GET))
                server.wait_for(line, "log")

    def until_closed(self, server, sent):
        with socket.create_connection((server.host, server.port), timeout=LIMIT_S) as conn:
            conn.sendall(sent)
            answer = b""
            while data := conn.recv(65536):
                answer += data
        return answer

    def test_what_is_beyond_a_limit_is_refused_and_counted(self):
        for flag, value, sent, status, counter in LIMITS:
            with self.subTest(flag), self.serve("--metrics", "--" + flag, value) as server:
                answer = self.until_closed(server, sent)
                got = int(answer[9:12]) if answer else None
                self.assertEqual(got, status)
                self.wait_for_counter(server, "http_" + counter)

    def test_within_the_limits_nothing_is_counted(self):
        with self.serve("--metrics") as server:
            self.assertEqual(server.ask("/")[0], 200)
            for _, _, _, _, counter in LIMITS:
                self.assertEqual(server.metric("http_" + counter), 0, counter)

    def open_and_ask(self, server, count):
        """How many of so many connections at once get an answer; the others are closed."""
        conns = [socket.create_connection((server.host, server.port), timeout=LIMIT_S)
                 for _ in range(count)]
        answered = 0
        for conn in conns:
            try:
                conn.sendall(GET + b"\r\n")
                answered += conn.recv(65536).startswith(b"HTTP/1.1 200 ")
            except (ConnectionResetError, BrokenPipeError):
                pass
        for conn in conns:
            conn.close()
        return answered

    def test_one_visitor_has_a_limit_of_its_own_unless_it_is_trusted(self):
        with self.serve("--metrics", "--connections-per-address", "4") as server:
            # The metrics are asked over a connection that is one of the four: a new one might be
            # refused as well, as long as the server has not seen that the others have ended.
            held = server.connect()
            self.assertEqual(server.metric("http_refused_connections", held), 0)
            self.assertEqual(self.open_and_ask(server, 8), 3)
            self.assertEqual(server.metric("http_refused_connections", held), 5)
            held.close()
        with self.serve("--connections", "8") as server:
            self.assertEqual(self.open_and_ask(server, 8), 6)
        for words in (("--connections-per-address", "0"),
                      ("--connections-per-address", "3", "--trusted", "10.0.0.0/8",
                       "--trusted", "127.0.0.0/8")):
            with self.serve("--connections", "8", *words) as server:
                self.assertEqual(self.open_and_ask(server, 8), 8, words)
        with self.serve("--connections-per-address", "3", "--trusted", "10.0.0.0/8") as server:
            self.assertEqual(self.open_and_ask(server, 8), 3)

    def test_more_connections_than_the_limit_wait(self):
        with self.serve("--metrics", "--connections", "4", "--connections-per-address", "0",
                        "--idle-timeout", "1s") as server:
            self.assertEqual(self.open_and_ask(server, 8), 8)
            self.wait_for_counter(server, "http_full_waits")

    def test_a_client_that_does_not_read_is_cut(self):
        self.put("large", b"x" * 20_000_000)
        for size in ("512K", "64M"):  # from the file, and from memory
            with self.serve("--metrics", "--write-timeout", "200ms", "--cached-file", size,
                            "--send", "64K") as server, socket.socket() as conn:
                conn.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                conn.connect((server.host, server.port))
                conn.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
                self.assertEqual(self.wait_for_counter(server, "http_write_timeouts"), 1, size)

    def test_a_body_has_a_least_rate(self):
        with self.serve("--metrics", "--body-rate", "1M", "--body-timeout", "300ms") as server, \
                socket.create_connection((server.host, server.port), timeout=LIMIT_S) as conn:
            conn.sendall(POST + b"\r\n")
            try:
                for _ in range(499):  # one more would be the whole body
                    conn.sendall(b"b" * 10)  # no pause as long as body-timeout
                    time.sleep(0.02)
                self.fail("a body below the least rate was read to its end")
            except (ConnectionResetError, BrokenPipeError):
                pass
            self.assertEqual(self.wait_for_counter(server, "http_body_timeouts"), 1)

    def test_files_beyond_what_may_be_held_are_sent_in_parts(self):
        (self.site / "big.bin").write_bytes(b"x" * 100_000)
        with self.serve("--metrics", "--held", "50K") as server:
            for count in (1, 2):
                self.assertEqual(len(server.ask("/big.bin")[2]), 100_000)
                self.assertEqual(server.metric("files_unkept"), count)

    def test_every_limit_of_the_help_has_a_default_there_and_a_test(self):
        code, out, _ = run("serve", "--help-limits")
        self.assertEqual(code, 0)
        self.assertLessEqual(len(out.splitlines()), 50)
        self.assertLessEqual(max(map(len, out.splitlines())), 100)
        flags = set()
        for line in out.splitlines()[1:]:
            flags.add(line.split()[0].removeprefix("--"))
            self.assertRegex(line, r"\(default|trusted")
        self.assertEqual(flags, {limit[0] for limit in LIMITS} | ELSEWHERE)


if __name__ == "__main__":
    unittest.main()
