# SPDX-License-Identifier: MIT
"""Tests of scripts/bench: from samples to rows and tables, and turns between subjects."""

import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

import bench_figures as figures
import bench_machine as machine
import bench_plan


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

    def test_the_best_of_several_peers_is_that_of_the_lowest_median(self):
        samples = [sample(s, v, r) for s, values in
                   (("heddle", (3, 3, 3)), ("go", (1, 6, 6)), ("rust", (2, 2, 2)))
                   for r, v in enumerate(values)]
        pairs = [("heddle", ("go", "rust", "absent"), "cpu_ns"), ("heddle", ("absent",), "cpu_ns")]
        targets = {"core/yield_2/cpu_ns_ratio": {"heddle/best_peer": "<= 1.0"}}
        rows = figures.rows_of("core", samples, pairs, targets)
        self.assertEqual(len(rows), 4)
        self.assertEqual((rows[-1]["subject"], rows[-1]["best"], rows[-1]["value"],
                          rows[-1]["ok"]), ("heddle/best_peer", "rust", 1.5, False))
        self.assertIn("heddle/best_peer (rust)", "\n".join(figures.table(rows)))

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

if __name__ == "__main__":
    unittest.main()
