# SPDX-License-Identifier: MIT
"""Tests of suite sim: its figures from a benchmark's output and from strace's table.

Run: python3 -B -m unittest tests/house/bench_sim_test.py
"""

import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

import bench_sim

TABLE = """% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 58.37    0.002269           0      3848           sigaltstack
 41.63    0.001478           0      1931         7 madvise
------ ----------- ----------- --------- --------- ----------------
100.00    0.003747           0      5779{}total
"""


class Sim(unittest.TestCase):
    def test_the_sum_of_a_table_is_read_with_and_without_errors(self):
        self.assertEqual(bench_sim.calls(TABLE.format("         7 ")), 5779)
        self.assertEqual(bench_sim.calls(TABLE.format("           ")), 5779)

    def test_the_costs_of_a_run_are_read_from_the_benchmark(self):
        text = json.dumps({"benchmarks": [
            {"items_per_second": 2e4, "kernel_ns": 120.0, "page_faults": 0.5, "items_made": 9}]})
        self.assertEqual(bench_sim.costs(text), [
            ("cpu_ns", 50_000, "ns"), ("kernel_ns", 120.0, "ns"), ("page_faults", 0.5, "1")])


if __name__ == "__main__":
    unittest.main()
