# SPDX-License-Identifier: MIT
"""Anonymous memory of heddle serve per idle keep-alive connection, as the kernel counts it. Run by
itself it prints the figures; HEDDLE_IDLE_CONNECTIONS sets how many connections there are."""

import os
import re
import resource
import socket
import unittest

from program import SANITIZED, SiteTest, wait_until

COUNT = int(os.environ.get("HEDDLE_IDLE_CONNECTIONS", "1500"))
WARM = 100  # connections after which the first pages of every table are there
BYTES_MAX = 345  # tests/web/idle_test.cc is exact; here pages, and poll's records, are counted too
PAGES_SLACK = 3 * 65536  # slabs grow by 64 KiB
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


def anonymous_bytes(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rollup:
        return int(re.search(r"^Anonymous:\s+(\d+) kB", rollup.read(), re.M)[1]) * 1024


class ServeIdle(SiteTest):
    def setUp(self):
        super().setUp()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = COUNT + WARM + 100
        if hard < wanted:
            self.skipTest("ulimit -n is too low")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))

    def open_idle(self, server, conns, count):
        """Connections that have had one answer."""
        for _ in range(count):
            conn = socket.create_connection((server.host, server.port))
            conns.append(conn)
            conn.sendall(GET)
            answer = b""
            while not answer.endswith(b"<p>index"):
                answer += conn.recv(4096)

    @unittest.skipIf(SANITIZED, "a sanitizer has memory of its own")
    def test_an_idle_connection_takes_little_memory(self):
        for driver in ("io_uring", "epoll", "poll"):
            conns = []
            with self.subTest(driver), self.serve("--log", "off", "--driver", driver,
                                                  "--connections-per-address", "0") as server:
                base = anonymous_bytes(server.process.pid)
                self.open_idle(server, conns, WARM)
                before = anonymous_bytes(server.process.pid)
                self.open_idle(server, conns, COUNT)
                self.assertEqual(server.ask("/")[0], 200)  # all turns for those before are over
                after = wait_until(lambda: anonymous_bytes(server.process.pid),
                                   f"{COUNT} idle connections in {BYTES_MAX} bytes each, "
                                   f"beside the {before} bytes from before",
                                   lambda now: now - before <= COUNT * BYTES_MAX + PAGES_SLACK)
                if __name__ == "__main__":
                    print(f"{driver}: {(after - before) / COUNT:.0f} bytes a connection, "
                          f"{base / 1e6:.1f} MB before the first")
                self.assertLessEqual(base, 4_000_000)
                for conn in conns:
                    conn.close()


if __name__ == "__main__":
    unittest.main()
