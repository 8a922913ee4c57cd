# SPDX-License-Identifier: MIT
"""Tests of scripts/bench and scripts/gates: what programs print, and what is made of it."""

import importlib.machinery
import importlib.util
import json
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

import bench_disk
import bench_machine as machine
import bench_overload
import bench_sealed

loader = importlib.machinery.SourceFileLoader("gates", str(ROOT / "scripts" / "gates"))
gates = importlib.util.module_from_spec(importlib.util.spec_from_loader("gates", loader))
loader.exec_module(gates)


class Parsing(unittest.TestCase):
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


class Disk(unittest.TestCase):
    SAID = "  2000 requests in 2.00s, 31 MB read\nRequests/sec:   1000.0\n"

    def test_bytes_of_the_disk_and_processor_time_are_those_of_one_request(self):
        found = {m: v for m, v, _ in bench_disk.values(self.SAID, 2000 * 15_000, 0.1)}
        self.assertEqual(found, {"requests_per_s": 1000, "disk_bytes": 15_000, "cpu_us": 50})

    def test_broken_answers_are_no_figures(self):
        late = "  Socket errors: connect 0, read 0, write 0, timeout 3\n"
        self.assertEqual(len(bench_disk.values(self.SAID + late, 1, 1)), 3)
        for wrong in ("  Non-2xx or 3xx responses: 1\n", late.replace("read 0", "read 1")):
            with self.assertRaises(machine.Failed):
                bench_disk.values(self.SAID + wrong, 1, 1)


class Pages(unittest.TestCase):
    """A measurement that no page shows goes."""

    @classmethod
    def setUpClass(cls):
        cls.pages = "\n".join(p.read_text() for p in sorted((ROOT / "docs").rglob("*.md")))

    def is_shown(self, suite):
        return re.search(rf"scripts/bench( [\w-]+)* {suite}\b|SUITE={suite}\b", self.pages)

    def test_each_suite_is_the_command_of_a_page(self):
        text = (ROOT / "scripts" / "bench").read_text()
        suites = re.findall(r'"(\w+)": bench_\w+', text)
        self.assertGreater(len(suites), 5)
        self.assertEqual([s for s in suites if not self.is_shown(s)], [])

    def test_each_program_is_in_a_page_or_in_a_suite_that_is(self):
        unused = []
        for path in sorted((ROOT / "bench").glob("*/*.cc")):
            room, name = path.parent.name, path.stem
            if room == "gates" or re.search(rf"bench/{room}[_/]{name}\b", self.pages):
                continue
            if not (self.is_shown(room) and f'"{room}/' in path.read_text()):
                unused.append(str(path.relative_to(ROOT)))
        self.assertEqual(unused, [])

    def test_each_module_of_the_harness_has_a_user(self):
        scripts = {p: p.read_text() for kind in ("bench*", "papers*.py", "papers")
                   for p in (ROOT / "scripts").glob(kind)}
        for path in scripts:
            uses = re.compile(rf"(import|from) {path.stem}\b")
            shown = path.name in ("bench", "papers") or f"scripts/{path.name}" in self.pages
            self.assertTrue(shown or any(uses.search(t) for p, t in scripts.items() if p != path),
                            f"{path.name} is in no page and in no other script")


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
