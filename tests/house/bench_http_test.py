# SPDX-License-Identifier: MIT
"""Tests of suite http: its cases and targets, its peers' settings, memory, and what it prints."""

import json
import os
import pathlib
import socket
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

import bench_http
import bench_http_peers as peers
import bench_http_table as table
import bench_http_values as values
import bench_machine as machine
import bench_plan
import bench_servers as servers


class Values(unittest.TestCase):
    def test_wrong_answers_are_no_figure(self):
        with self.assertRaises(machine.Failed):
            values.load_values('{"errors": 1, "requests": 100}')
        with self.assertRaises(machine.Failed):
            values.wrk_values("9 requests in\nRequests/sec: 4\nNon-2xx responses: 9", 1.0)

    def test_a_burst_gives_its_processor_time_alone(self):
        text = json.dumps({"errors": 0, "requests": 1000, "seconds": 1, "requests_per_s": 1000,
                           "p50_us": 1, "p99_us": 2, "p999_us": 3,
                           "server_cpu_s": 0.005, "server_user_s": 0})
        self.assertEqual(values.burst_values(text), [("burst_cpu_us", 5.0, "us")])

    def test_wrk_is_read(self):
        text = "  1000 requests in 2.00s, 1MB read\nRequests/sec:    500.25\n"
        self.assertEqual(values.wrk_values(text, 0.01),
                         [("wrk_cpu_us", 10.0, "us"), ("wrk_requests_per_s", 500.25, "1/s")])

    def test_idle_connections_share_what_the_server_grew_by(self):
        found = {m: v for m, v, _ in values.idle_values((9000, 1000), (12000, 3000), 10)}
        self.assertEqual(found, {"conn_bytes": 200, "conn_resident_bytes": 300,
                                 "base_bytes": 1000, "base_resident_bytes": 9000})

    def test_memory_counts_what_a_process_took_for_itself(self):
        before = machine.memory(["self"])
        taken = bytearray(b"x" * (16 << 20))
        after = machine.memory(["self"])
        self.assertGreaterEqual(after[1] - before[1], len(taken) - (1 << 20))
        self.assertGreaterEqual(after[0], after[1])
        self.assertEqual(machine.memory([]), (0, 0))


class NoRivals:
    """Rivals of which only the clients could be built."""

    def __init__(self, client):
        self.client = client
        self.missing = {name: f"{name} is too new" for name in ("ceiling", "load", *peers.NAMES)}

    def path(self, name, _):
        return self.client if name == "load" else None

    def build_cpp(self):
        pass

    build_go = build_cpp

    def build_rust(self, *_):
        pass


class Cases(unittest.TestCase):
    def suite(self, brief=False, client="load"):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        context = bench_plan.Context(pathlib.Path(folder.name), brief, NoRivals(client), print)
        suite = bench_http.Suite(context)
        self.addCleanup(suite.close)
        return suite

    def test_an_absent_subject_is_skipped_with_its_reason(self):
        suite = self.suite()
        skipped = dict(suite.plan.skipped)
        for name in ("ceiling_epoll", "hyper", "monoio", "beast", "go", "heddle_uring"):
            self.assertIn(f"{name}, all cases", skipped)
        self.assertEqual(skipped["hyper, all cases"], "hyper is too new")
        measured = {m.subject for m in suite.plan.measures}
        self.assertFalse(measured & set(peers.IN_MEMORY))

    def test_without_a_client_nothing_is_measured_and_that_is_said(self):
        plan = self.suite(client=None).plan
        self.assertEqual((plan.measures, plan.skipped),
                         ([], [("everything", "the load client: load is too new")]))

    def test_what_is_asked_for_is_there(self):
        suite = self.suite()
        for shape in bench_http.CASES.values():
            for size in shape.sizes:
                file = suite.site / bench_http.path_of(size)[1:]
                self.assertEqual(file.stat().st_size, bench_http.SIZES[size])

    def test_every_target_belongs_to_a_figure_that_is_made(self):
        suite = self.suite()
        made = {("/".join((a, b if isinstance(b, str) else "best_peer")), m + "_ratio")
                for a, b, m in suite.plan.pairs}
        targets = json.loads((ROOT / "bench" / "targets.json").read_text())
        seen = 0
        for key, target in targets.items():
            _, case, metric = key.split("/")
            if key.startswith("http/"):
                self.assertIn(case, suite.plan.order, key)
                for subject in target if isinstance(target, dict) else ():
                    self.assertIn((subject, metric), made, key)
                    seen += 1
        self.assertGreater(seen, 30)

    def test_subjects_that_a_case_names_are_those_of_the_suite(self):
        known = {"heddle_epoll", "heddle_uring", "ceiling_epoll", "ceiling_uring", *peers.NAMES}
        for case, shape in bench_http.CASES.items():
            self.assertLessEqual(set(shape.only or ()), known, case)

    def test_the_names_of_peers_are_those_of_their_servers(self):
        made = peers.everyone(NoRivals(None), pathlib.Path("h"), pathlib.Path("s"))
        self.assertEqual(tuple(s.name for s in made), peers.NAMES)


class FileServers(unittest.TestCase):
    """Those of the peers that are installed here: their settings are accepted, and they serve."""

    def test_each_serves_files_over_one_connection(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            folder.chmod(0o755)   # Apache's user is not ours
            site = folder / "site"
            site.mkdir()
            for size in (100, 16384):
                (site / f"{size}.txt").write_text("b" * size)
                # Apache marks what changed in the last second: its answers would change in length.
                os.utime(site / f"{size}.txt", (10**9, 10**9))
            for server in peers.everyone(NoRivals(None), folder, site):
                if server.missing or server.name in peers.IN_MEMORY:
                    continue
                with self.subTest(server.name):
                    server.start()
                    self.addCleanup(server.stop)
                    self.ask(server)
                    server.stop()
            self.assertEqual([str(p) for p in folder.rglob("*access*")], [])

    def ask(self, server):
        servers.check_http(server, "/16384.txt", 16384)
        one = servers.get(server.port, "/100.txt")[2]
        batch, answers = 100, 0
        with socket.create_connection(("127.0.0.1", server.port), 5) as link:
            while answers < 1100:   # more than servers grant a connection by default
                link.sendall(b"GET /100.txt HTTP/1.1\r\nHost: localhost\r\n\r\n" * batch)
                text = b""
                while len(text) < batch * one:
                    part = link.recv(65536)
                    self.assertTrue(part, f"closed after {answers} answers")
                    text += part
                answers += text.count(b"HTTP/1.1 200")
                self.assertEqual((len(text), answers % batch), (batch * one, 0))


class Table(unittest.TestCase):
    def row(self, subject, metric, value, case="http_100B_c50", **more):
        return {"suite": "http", "case": case, "subject": subject, "metric": metric,
                "value": value, "unit": "us", "n": 1, "spread": [value, value], **more}

    def test_subjects_stand_under_their_cases(self):
        text = table.lines([self.row("heddle_epoll", "burst_cpu_us", 4.5),
                            self.row("nginx", "burst_cpu_us", 9.25, "http_16KB_c50"),
                            self.row("nginx", "anonymous", 2048.0)])
        head = next(line for line in text if "16KB_c50" in line)
        heddle = next(line for line in text if "heddle_epoll" in line)
        nginx = next(line for line in text if "nginx" in line)
        self.assertEqual(heddle.index("4.50") + 4, head.index("100B_c50") + len("100B_c50"))
        self.assertEqual(nginx.index("9.25") + 4, head.index("16KB_c50") + len("16KB_c50"))
        self.assertTrue(text[-1].endswith("       2"))

    def test_targets_are_listed_with_their_misses(self):
        text = "\n".join(table.lines([self.row("heddle_epoll/h2o", "burst_cpu_us_ratio", 0.9,
                                               target="<= 0.75", ok=False)]))
        self.assertIn("MISS", text)


if __name__ == "__main__":
    unittest.main()
