# SPDX-License-Identifier: MIT
"""Tests of the suites fiber, sync and io: names and values of benchmarks, cases, and curves.

Run: python3 -B -m unittest tests/house/bench_own_test.py
"""

import json
import pathlib
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

import bench_figures as figures
import bench_io
import bench_io_curves
import bench_machine as machine
import bench_own


def text_of(*runs):
    return json.dumps({"benchmarks": list(runs)})


class Own(unittest.TestCase):
    def test_a_name_is_a_suite_a_case_and_perhaps_a_subject(self):
        self.assertEqual(bench_own.split("fiber/switch"), ("fiber", "switch", "heddle"))
        self.assertEqual(bench_own.split("io/pipes_idle_0/heddle_epoll/process_time"),
                         ("io", "pipes_idle_0", "heddle_epoll"))
        self.assertEqual(bench_own.split("sync/read_variables/heddle_10/10"),
                         ("sync", "read_variables", "heddle_10"))
        self.assertEqual(bench_own.split("fiber/parked_bytes/iterations:1"),
                         ("fiber", "parked_bytes", "heddle"))
        self.assertIsNone(bench_own.split("io"))

    def test_without_counters_the_metric_is_the_processor_time_of_an_item(self):
        text = text_of({"items_per_second": 2e8, "cpu_time": 9, "time_unit": "ns"})
        self.assertEqual(bench_own.values(text), [("cpu_ns", 5, "ns")])

    def test_a_counter_of_processor_time_leaves_the_clock_its_own_metric(self):
        text = text_of({"items_per_second": 1e8, "cpu_ns": 25, "cpu_time": 1, "time_unit": "ns"})
        self.assertEqual(bench_own.values(text), [("cpu_ns", 25, "ns"), ("wall_ns", 10, "ns")])

    def test_other_counters_are_all_that_counts(self):
        text = text_of({"reads_per_s": 7, "cpu_us": 2, "cpu_time": 9, "time_unit": "ms"})
        self.assertEqual(sorted(bench_own.values(text)),
                         [("cpu_us", 2, "us"), ("reads_per_s", 7, "1/s")])

    def test_an_error_and_a_missing_run_are_failures(self):
        for text in (text_of(), text_of({"error_occurred": True, "error_message": "no disk"})):
            with self.assertRaises(machine.Failed):
                bench_own.values(text)

    def test_a_rival_says_what_is_asked_of_it(self):
        line = '{"in_flight":8,"reads_per_s":3}'
        self.assertEqual(bench_own.rival_values(line, ("reads_per_s",)),
                         [("reads_per_s", 3, "1/s")])


class Cases(unittest.TestCase):
    def test_reads_are_as_many_as_the_benchmark_makes(self):
        text = (ROOT / "bench" / "io" / "direct_reads.cc").read_text()
        formula = re.search(r"reads = count == 1 \? (\d+) : "
                            r"std::max<std::size_t>\((\d+), 2 \* count", text)
        self.assertEqual([int(n) for n in formula.groups()],
                         [bench_io.reads_of(1), bench_io.reads_of(8)])
        self.assertEqual(bench_io.reads_of(65536), 131072)

    def test_targets_name_cases_that_exist(self):
        targets = figures.load_targets(ROOT / "bench" / "targets.json")
        source = (ROOT / "bench" / "io" / "direct_reads.cc").read_text()
        counts = re.search(r"count : \{([^}]*)\}", source)[1].replace("'", "").split(", ")
        for key in targets:
            suite, case, _ = key.split("/")
            if suite == "io" and case.startswith(bench_io.READS):
                self.assertIn(str(bench_io.number(case)), counts)


class Curves(unittest.TestCase):
    @staticmethod
    def row(case, subject, value, metric="bytes_per_cpu_s"):
        return {"suite": "io", "case": case, "subject": subject, "metric": metric, "value": value}

    def test_both_figures_are_drawn_as_pictures_that_parse(self):
        rows = [self.row(f"pipes_idle_{n}", s, 1e9 + n) for n in (0, 100, 10000)
                for s in ("heddle_epoll", "tokio")]
        rows += [self.row(f"direct_reads_{n}", "pthread", 10 * n, "reads_per_s") for n in (1, 8)]
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(bench_io_curves.draw(rows, pathlib.Path(folder)), 2)
            for name, curves in (("figure_17", 1), ("figure_18", 2)):
                tree = xml.etree.ElementTree.parse(pathlib.Path(folder) / f"{name}.svg")
                lines = [e for e in tree.iter() if e.tag.endswith("polyline")]
                self.assertEqual(len(lines), curves)

    def test_nothing_is_drawn_of_a_single_case_or_of_ratios(self):
        rows = [self.row("pipes_idle_0", "tokio", 1), self.row("pipes_idle_9", "a/b", 1)]
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(bench_io_curves.draw(rows, pathlib.Path(folder)), 0)

    def test_none_at_all_has_a_place_left_of_the_first(self):
        at_x = bench_io_curves.axis([0, 100, 1000])
        self.assertEqual(at_x(0), bench_io_curves.LEFT)
        self.assertAlmostEqual(at_x(1000) - at_x(100), at_x(100) - at_x(0))


if __name__ == "__main__":
    unittest.main()
