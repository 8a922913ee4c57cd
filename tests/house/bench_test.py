# SPDX-License-Identifier: MIT
"""Tests of scripts/bench and scripts/gates: figures, turns, parsing, and the two HTTP programs.

Run: python3 -B -m unittest discover -s tests/house -p bench_test.py
"""

import importlib.machinery
import importlib.util
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
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

import bench_core
import bench_curves
import bench_figures as figures
import bench_http
import bench_machine as machine
import bench_overload
import bench_plan
import bench_sealed
import bench_servers as servers
import bench_svg

loader = importlib.machinery.SourceFileLoader("gates", str(ROOT / "scripts" / "gates"))
gates = importlib.util.module_from_spec(importlib.util.spec_from_loader("gates", loader))
loader.exec_module(gates)


def sample(subject, value, round_number, metric="cpu_ns", case="yield_2"):
    return figures.Sample(case, subject, metric, "ns", round_number, value)


class Figures(unittest.TestCase):
    def test_a_row_has_the_median_the_spread_and_its_verdict(self):
        samples = [sample("heddle", v, i) for i, v in enumerate((1.6, 1.7, 2.0))]
        rows = figures.rows_of("core", samples, [], {"core/yield_2/cpu_ns": "<= 3"})
        self.assertEqual(rows, [{
            "suite": "core", "case": "yield_2", "subject": "heddle", "metric": "cpu_ns",
            "value": 1.7, "unit": "ns", "target": "<= 3", "ok": True, "n": 3,
            "spread": [1.6, 2.0]}])

    def test_a_row_that_misses_stays_and_a_peer_has_no_target(self):
        targets = {"core/yield_2/cpu_ns": "<= 3"}
        rows = figures.rows_of("core", [sample("heddle", 4, 0), sample("go", 80, 0)], [], targets)
        self.assertIs(rows[0]["ok"], False)
        self.assertNotIn("target", rows[1])

    def test_a_ratio_is_the_median_of_per_round_ratios(self):
        pairs = [("heddle", "go", "cpu_ns")]
        samples = [sample("heddle", v, r) for r, v in enumerate((1, 4, 9))]
        samples += [sample("go", v, r) for r, v in enumerate((1, 2, 3))]
        row = figures.rows_of("core", samples, pairs, {})[-1]
        self.assertEqual((row["subject"], row["metric"], row["value"], row["spread"]),
                         ("heddle/go", "cpu_ns_ratio", 2, [1, 3]))

    def test_rounds_that_one_subject_missed_make_no_ratio(self):
        samples = [sample("heddle", 1, 0), sample("heddle", 100, 1), sample("go", 2, 0)]
        row = figures.rows_of("core", samples, [("heddle", "go", "cpu_ns")], {})[-1]
        self.assertEqual((row["value"], row["n"]), (0.5, 1))

    def test_targets_of_ratios_name_their_subjects(self):
        targets = figures.load_targets(ROOT / "bench" / "targets.json")
        for kind in ("epoll", "uring"):
            subject = f"heddle_{kind}/ceiling_{kind}"
            self.assertEqual("<= 1.15", figures.target_of(targets, "http", "http_100B_c50",
                                                          "cpu_us_ratio", subject))
        self.assertIsNone(figures.target_of(targets, "http", "http_100B_c50", "cpu_us_ratio",
                                            "heddle_epoll/nginx"))

    def test_a_malformed_target_is_refused(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            f.write('{"core/yield_2": "<= 3"}')
            f.flush()
            with self.assertRaises(ValueError):
                figures.load_targets(f.name)

    def test_merging_keeps_other_suites_and_replaces_a_whole_one(self):
        def one(suite, case):
            return {"suite": suite, "case": case, "subject": "heddle", "metric": "cpu_ns"}
        old = [one("http", "a"), one("core", "gone"), one("core", "again")]
        new = [one("core", "again")]
        whole = figures.merge(old, new, ["core"], whole=True)
        self.assertEqual([(r["suite"], r["case"]) for r in whole],
                         [("http", "a"), ("core", "again")])
        part = figures.merge(old, new, ["core"], whole=False)
        self.assertEqual([(r["suite"], r["case"]) for r in part],
                         [("http", "a"), ("core", "gone"), ("core", "again")])

    def test_what_is_written_is_read_back(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "deep" / "figures.json"
            rows = figures.rows_of("core", [sample("go", 1.23456, 0)], [], {})
            figures.write(path, rows)
            self.assertEqual(figures.read(path), rows)
            self.assertEqual(rows[0]["value"], 1.235)

    def test_the_table_marks_a_miss(self):
        rows = figures.rows_of("core", [sample("heddle", 4, 0)], [],
                               {"core/yield_2/cpu_ns": "<= 3"})
        self.assertIn("MISS", "\n".join(figures.table(rows)))

    def test_plots_are_drawn_for_groups(self):
        rows = figures.rows_of("core", [sample("heddle", 2, 0), sample("a<b", 4000, 0)], [], {})
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(bench_svg.draw(rows, pathlib.Path(folder)), 1)
            text = (pathlib.Path(folder) / "core_yield_2_cpu_ns.svg").read_text()
        self.assertIn("a&lt;b", text)
        self.assertIn("logarithmic", text)


class Turns(unittest.TestCase):
    """Progress lines of these runs go to standard error, as they do for people."""

    def measured(self, runs, rounds):
        plan = bench_plan.Plan(["one"])
        for measure in runs:
            plan.add(measure)
        return plan, bench_plan.measure("core", plan, rounds, bench_plan.Progress(1))

    def test_subjects_take_turns_within_a_case(self):
        seen = []
        def run(name):
            return lambda: seen.append(name) or [("cpu_ns", 1, "ns")]
        self.measured([bench_plan.Measure("one", n, 0.1, run(n)) for n in "ABC"], 2)
        self.assertEqual("".join(seen), "ABCABC")

    def test_a_subject_that_fails_is_left_out_with_its_reason(self):
        def fails():
            raise machine.Failed("no such luck")
        ok = bench_plan.Measure("one", "B", 0.1, lambda: [("cpu_ns", 1, "ns")])
        plan, samples = self.measured([bench_plan.Measure("one", "A", 0.1, fails), ok], 3)
        self.assertEqual(plan.failed, [("A, one", "no such luck")])
        self.assertEqual([s.round for s in samples], [0, 1, 2])

    def test_a_costly_measurement_takes_fewer_rounds(self):
        m = bench_plan.Measure("one", "A", 0.1, lambda: [("bytes", 1, "B")], rounds_max=2)
        self.assertEqual(len(self.measured([m], 5)[1]), 2)


class Parsing(unittest.TestCase):
    def benchmark(self, **fields):
        return json.dumps({"benchmarks": [{"name": "core/yield_2", "run_type": "iteration",
                                           "cpu_time": 2.5, "time_unit": "us", **fields}]})

    def test_processor_time_becomes_nanoseconds(self):
        self.assertEqual(bench_core.benchmark_values(self.benchmark(), "yield_2"),
                         [("cpu_ns", 2500.0, "ns")])

    def test_counted_items_divide_the_time_and_bytes_are_a_metric(self):
        text = self.benchmark(items_per_second=5e8, bytes=48.0)
        self.assertEqual(bench_core.benchmark_values(text, "yield_2"),
                         [("bytes", 48.0, "B"), ("cpu_ns", 2.0, "ns")])

    def test_with_several_threads_both_times_are_metrics(self):
        text = self.benchmark(items_per_second=5e8, cpu_ns=3.5)
        self.assertEqual(bench_core.benchmark_values(text, "yield_2"),
                         [("cpu_ns", 3.5, "ns"), ("wall_ns", 2.0, "ns")])

    def test_a_benchmark_that_failed_or_is_absent_is_no_figure(self):
        failed = self.benchmark(error_occurred=True, error_message="lost a frame")
        for text, case in ((failed, "yield_2"), (self.benchmark(), "event")):
            with self.assertRaises(machine.Failed):
                bench_core.benchmark_values(text, case)

    def test_cases_are_the_second_word_of_a_benchmarks_name(self):
        self.assertEqual(bench_core.case_of("core/yield_2/process_time"), "yield_2")
        self.assertIsNone(bench_core.case_of("http/parse"))
        self.assertEqual(bench_core.case_of("colors/stream", "colors"), "stream")
        self.assertIsNone(bench_core.case_of("core/stream", "colors"))

    def test_wrong_answers_are_no_figure(self):
        with self.assertRaises(machine.Failed):
            bench_http.load_values('{"errors": 1, "requests": 100}')
        with self.assertRaises(machine.Failed):
            bench_http.wrk_values("9 requests in\nRequests/sec: 4\nNon-2xx responses: 9", 1.0)

    def test_what_sealed_load_prints_becomes_metrics_and_nothing_sent_is_no_figure(self):
        said = {"seconds": 1, "answers": 3, "bytes_per_s": 9e8, "bytes_per_server_cpu_s": 1e9,
                "server_cpus": 0.9, "client_cpus": 0.03}
        self.assertEqual([v[1] for v in bench_sealed.values(json.dumps(said))],
                         [9e8, 1e9, 0.9, 0.03])
        with self.assertRaises(machine.Failed):
            bench_sealed.values(json.dumps({**said, "bytes_per_s": 0}))

    def test_a_burst_gives_its_processor_time_alone(self):
        text = json.dumps({"errors": 0, "requests": 1000, "seconds": 1, "requests_per_s": 1000,
                           "p50_us": 1, "p99_us": 2, "p999_us": 3,
                           "server_cpu_s": 0.005, "server_user_s": 0})
        self.assertEqual(bench_http.burst_values(text), [("burst_cpu_us", 5.0, "us")])

    def test_wrk_is_read(self):
        text = "  1000 requests in 2.00s, 1MB read\nRequests/sec:    500.25\n"
        self.assertEqual(bench_http.wrk_values(text, 0.01),
                         [("wrk_cpu_us", 10.0, "us"), ("wrk_requests_per_s", 500.25, "1/s")])


class Overload(unittest.TestCase):
    ANSWER = {"asked": 100, "errors": 0, "refused": 25, "goodput_per_s": 900.0, "p50_us": 10,
              "p99_us": 60, "client_cpu_s": 0.5, "client_s": 2.0}

    def test_goodput_is_a_share_of_the_peak(self):
        found = {m: v for m, v, _ in bench_overload.values_of(json.dumps(self.ANSWER), 1000, 20)}
        self.assertEqual(found["goodput_share"], 0.9)
        self.assertEqual(found["refused_share"], 0.25)
        self.assertEqual(found["client_core"], 0.25)
        self.assertEqual(found["p99_to_load_80"], 3)

    def test_broken_answers_are_no_figures(self):
        for wrong in ({"errors": 1}, {"asked": 0}):
            with self.assertRaises(machine.Failed):
                bench_overload.values_of(json.dumps({**self.ANSWER, **wrong}), 1000, None)

    def test_the_curves_are_a_picture_for_light_and_dark(self):
        rows = [{"suite": "overload", "case": f"load_{load}", "subject": s, "metric": m, "value": v}
                for load in (50, 300) for s in ("heddle", "nginx")
                for m, v in (("goodput_share", load / 300), ("p99", 10 * load))]
        text = bench_curves.plot(rows)
        self.assertIn("prefers-color-scheme:dark", text)
        lines = [e for e in xml.etree.ElementTree.fromstring(text).iter()
                 if e.tag.endswith("polyline")]
        self.assertEqual([e.get("class") for e in lines], ["heddle", "nginx"] * 2)
        for x, y in (p.split(",") for e in lines for p in e.get("points").split()):
            self.assertTrue(0 < float(x) < 900 and 0 < float(y) < 400)
        self.assertIsNone(bench_curves.plot([]))


class Gates(unittest.TestCase):
    def test_the_start_cancels(self):
        self.assertEqual(gates.measure("x", 100, run=lambda p, n: 123_456 + 18 * n), 18)

    def test_one_instruction_more_is_a_miss(self):
        self.assertEqual(gates.verdict(18.0, 18.0), ("ok", True))
        self.assertFalse(gates.verdict(18.01, 18.0)[1])
        self.assertFalse(gates.verdict(1.0, None)[1])
        self.assertIn("lower", gates.verdict(10.0, 18.0)[0])

    def test_callgrinds_report_is_read(self):
        self.assertEqual(gates.collected("==1== Collected : 122600\n"), 122600)
        with self.assertRaises(gates.Failed):
            gates.collected("valgrind: cannot run")


class Programs(unittest.TestCase):
    """The load client and the ceilings, built here, against each other and a lying server."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        compiler = shutil.which("clang++-19") or shutil.which("g++")
        rivals = ROOT / "bench" / "rivals"
        for source, flags in (("load/load", []), ("load/open", []),
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
                result = self.load(server.port, *options, "--server", str(server.process.pid))
                self.assertEqual(result["errors"], 0)
                self.assertGreater(result["requests"], 100)
                self.assertGreater(result["server_cpu_s"], 0)
                self.assertLessEqual(result["p50_us"], result["p99_us"])

    def test_the_client_discards_long_bodies_and_still_counts(self):
        server = self.ceiling("epoll", "--body", "100000")
        result = self.load(server.port)
        self.assertEqual(result["errors"], 0)
        self.assertGreater(result["bytes"], result["requests"] * 100000)

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
        self.assertTrue(200 < result["asked"] < 400, result)
        full = self.open(server.port, "--rate", "0", "--connections", "4")
        self.assertEqual(full["errors"], 0)
        self.assertGreater(full["answered"], 100)

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
        self.assertGreater(result["given_up"], 100)

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
