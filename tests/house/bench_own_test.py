# SPDX-License-Identifier: MIT
"""Tests of the suites fiber, sync and io: names and values of benchmarks.

Run: python3 -B -m unittest tests/house/bench_own_test.py
"""

import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

import bench_machine as machine
import bench_own


def text_of(*runs):
    return json.dumps({"benchmarks": list(runs)})


class Own(unittest.TestCase):
    def test_a_name_is_a_suite_a_case_and_perhaps_a_subject(self):
        self.assertEqual(bench_own.split("fiber/switch"), ("fiber", "switch", "heddle"))
        self.assertEqual(bench_own.split("io/send_body_0/heddle_epoll/process_time"),
                         ("io", "send_body_0", "heddle_epoll"))
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

    def test_another_counter_is_all_that_counts(self):
        text = text_of({"bytes": 7, "cpu_time": 9, "time_unit": "ms"})
        self.assertEqual(bench_own.values(text), [("bytes", 7, "B")])

    def test_an_error_and_a_missing_run_are_failures(self):
        for text in (text_of(), text_of({"error_occurred": True, "error_message": "no disk"})):
            with self.assertRaises(machine.Failed):
                bench_own.values(text)


if __name__ == "__main__":
    unittest.main()
