# SPDX-License-Identifier: MIT
"""Tests of scripts/bench and scripts/gates: what programs print, and what is made of it."""

import importlib.machinery
import importlib.util
import json
import pathlib
import sys
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

import bench_core
import bench_curves
import bench_machine as machine
import bench_overload
import bench_sealed

loader = importlib.machinery.SourceFileLoader("gates", str(ROOT / "scripts" / "gates"))
gates = importlib.util.module_from_spec(importlib.util.spec_from_loader("gates", loader))
loader.exec_module(gates)


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
        self.assertEqual(bench_core.case_of("sched/stream", "sched"), "stream")
        self.assertIsNone(bench_core.case_of("core/stream", "sched"))

    def test_what_sealed_load_prints_becomes_metrics_and_nothing_sent_is_no_figure(self):
        said = {"seconds": 1, "answers": 3, "bytes_per_s": 9e8, "bytes_per_server_cpu_s": 1e9,
                "server_cpus": 0.9, "client_cpus": 0.03}
        self.assertEqual([v[1] for v in bench_sealed.values(json.dumps(said))],
                         [9e8, 1e9, 0.9, 0.03])
        with self.assertRaises(machine.Failed):
            bench_sealed.values(json.dumps({**said, "bytes_per_s": 0}))


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
        self.assertEqual(gates.verdict(18.0, 18.0), ("+0.0 %", True))
        self.assertTrue(gates.verdict(102.0, 100.0)[1])
        self.assertFalse(gates.verdict(102.1, 100.0)[1])
        self.assertTrue(gates.verdict(10.5, 10.0)[1])
        self.assertFalse(gates.verdict(10.6, 10.0)[1])
        self.assertEqual(gates.verdict(1.0, None), ("new", True))

    def test_callgrinds_report_is_read(self):
        self.assertEqual(gates.collected("==1== Collected : 122600\n"), 122600)
        with self.assertRaises(gates.Failed):
            gates.collected("valgrind: cannot run")

if __name__ == "__main__":
    unittest.main()
