# SPDX-License-Identifier: MIT
"""Three servers behind one proxy are restarted in turn under load, and no client notices: each
request is answered once, with the right bytes, and each file that was put is there."""

import pathlib
import sys
import unittest

from program import HEDDLE, SiteTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from bench_rolling import Fleet, SERVERS


class RollingRestart(SiteTest):
    def roll(self, way, scheme):
        for driver in ("io_uring", "epoll", "poll"):
            with self.subTest(driver=driver):
                home = self.root / f"{way}.{driver}.{scheme}"
                home.mkdir()
                with Fleet(HEDDLE, home, way, driver, scheme) as fleet:
                    fleet.run(2)
                said = fleet.proxy.log.read_text("utf-8")[-2000:]
                self.assertEqual(fleet.wrong()[:5], [], said)
                self.assertEqual(fleet.lost(), [])
                self.assertEqual(fleet.restarts, 2 * SERVERS)
                # Each request came to the proxy once, and none of its answers is an error.
                self.assertEqual(fleet.proxy_requests(), (fleet.asked() + fleet.looks, 0))
                # Each server answered, the first ones and those that came last.
                servers = set().union(*(a.servers for a in fleet.askers))
                self.assertLessEqual({f"{n}.{g}" for n in range(SERVERS) for g in (1, 3)}, servers)

    def test_a_handover_loses_no_request(self):
        self.roll("handover", "http")

    def test_a_handover_loses_no_request_over_http2(self):
        self.roll("handover", "h2c")

    def test_a_stop_and_a_start_lose_no_request(self):
        self.roll("stop_and_start", "http")

    def test_a_stop_and_a_start_lose_no_request_over_http2(self):
        self.roll("stop_and_start", "h2c")


if __name__ == "__main__":
    unittest.main()
