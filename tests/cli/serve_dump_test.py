# SPDX-License-Identifier: MIT
"""A running server that is asked by SIGQUIT says where it waits, and goes on serving."""

import signal
import unittest

from program import SiteTest
from serve_restart_test import Churn


class ServeDump(SiteTest):
    def test_a_busy_server_says_where_it_waits_and_serves_on(self):
        for driver in ("io_uring", "epoll", "poll"):
            for workers in (1, 4):
                with self.subTest(driver=driver, workers=workers), \
                        self.serve("--log", "off", "--driver", driver,
                                   "--workers", str(workers)) as server:
                    with Churn((server.host, server.port)) as churn:
                        churn.wait_for_more()
                        for asked in range(1, 4):
                            server.process.send_signal(signal.SIGQUIT)
                            head = rf"(heddle: process \d+, {workers} worker[\s\S]*?){{{asked}}}"
                            server.wait_for(head + r"waits for  at\n[\s\S]*signal ")
                            churn.wait_for_more()
                    self.assertEqual(churn.wrong, [])
                    self.assertIsNone(server.process.poll())
                    self.assertRegex(server.talk, r"serve\w*\.cc:\d+ in ")
                    self.assertEqual(server.stop(), 0)

    def test_a_server_that_is_asked_just_before_it_ends_ends_as_ever(self):
        for _ in range(5):
            with self.serve("--log", "off", "--workers", "4") as server:
                server.process.send_signal(signal.SIGQUIT)
                self.assertEqual(server.stop(), 0)
                self.assertIn("4 workers, ", server.talk)


if __name__ == "__main__":
    unittest.main()
