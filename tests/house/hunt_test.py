# SPDX-License-Identifier: MIT
"""scripts/hunt: its table fits the tree, and its verdicts are what they should be."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("hunt", str(ROOT / "scripts" / "hunt"))
hunt = importlib.util.module_from_spec(importlib.util.spec_from_loader("hunt", loader))
sys.modules["hunt"] = hunt
loader.exec_module(hunt)

ENTRY = {"name": "a", "kind": "k", "generator": "g", "oracle": "o", "share": 1, "commit_s": 2,
         "program": "a_test", "filter": "steps.*"}


def as_toml(entry):
    return "[[row]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in entry.items())


class Table(unittest.TestCase):
    def test_each_row_names_tests_that_draw_seeds(self):
        for row in hunt.rows_of(hunt.ROWS.read_text("utf-8")):
            if row.command or row.script:
                self.assertTrue((ROOT / (row.command or row.script).split()[0]).exists(), row.name)
                continue
            folder = ROOT / "tests" / row.program.removesuffix("_test")
            for part in row.filter.split(":"):
                suite = re.escape(part.removeprefix("*/").split(".")[0].split("/")[0])
                using = [file for file in folder.glob("*.cc")
                         if re.search(rf"_TEST\({suite},", text := file.read_text("utf-8"))
                         and re.search(r"\bfor_(?:seeds|runs)\b", text + "".join(
                             header.read_text("utf-8")
                             for name in re.findall(r'#include "([^"]+)"', text)
                             for header in (ROOT / "tests" / name, folder / name)
                             if header.is_file() and header.name != "seeds.hh"))]
                self.assertTrue(using, f"{row.name}: no file with {suite} draws seeds")

    def test_a_commit_takes_at_most_five_minutes(self):
        rows = hunt.rows_of(hunt.ROWS.read_text("utf-8"))
        self.assertLessEqual(sum(row.commit_s * row.cores for row in rows), 2 * 300)

    def test_what_is_not_whole_is_refused(self):
        self.assertEqual(1, len(hunt.rows_of(as_toml(ENTRY))))
        for change in ({"kind": 7}, {"share": 0}, {"seed": 1}, {"command": "scripts/fuzz"},
                       {"commit_s": -1}):
            with self.assertRaisesRegex(hunt.Wrong, r"tests/hunt.toml, row 1 \(a\)"):
                hunt.rows_of(as_toml(ENTRY | change))
        with self.assertRaisesRegex(hunt.Wrong, "the same seeds"):
            hunt.rows_of(as_toml(ENTRY | {"restart_s": 1}))
        for lacks in ("kind", "oracle", "share", "program", "filter"):
            with self.assertRaises(hunt.Wrong):
                hunt.rows_of(as_toml({key: value for key, value in ENTRY.items() if key != lacks}))
        with self.assertRaisesRegex(hunt.Wrong, "twice"):
            hunt.rows_of(as_toml(ENTRY) + as_toml(ENTRY))

    def test_an_unknown_row_is_an_error_that_lists_the_others(self):
        rows = hunt.rows_of(as_toml(ENTRY))
        self.assertEqual(rows, hunt.chosen(rows, []))
        with self.assertRaisesRegex(hunt.Wrong, "no row b; there are: a"):
            hunt.chosen(rows, ["b"])

    def test_rows_share_the_time_of_all_cores(self):
        rows = hunt.rows_of(as_toml(ENTRY) + as_toml(ENTRY | {"name": "b", "share": 2, "cores": 2}))
        seconds = hunt.seconds_of(rows, 10, 2)
        self.assertAlmostEqual(10 * 60 * 2, seconds["a"] + 2 * seconds["b"])
        self.assertAlmostEqual(2 * seconds["a"], seconds["b"])

    def test_a_program_that_cannot_run_for_long_runs_several_times(self):
        row = hunt.rows_of(as_toml(ENTRY | {"restart_s": 5}))[0]
        listing = subprocess.CompletedProcess([], 0, "steps.\n  one\n  two\n")
        with mock.patch.object(hunt.subprocess, "run", lambda *_, **__: listing), \
                mock.patch.object(hunt, "program_of", lambda *_: pathlib.Path(__file__)):
            jobs = hunt.jobs_of(row, 24, ["release"])
        self.assertEqual(["steps.one", "steps.two"] * 3, [job.test for job in jobs])
        self.assertEqual([4] * 6, [job.seconds for job in jobs])
        self.assertEqual(list(range(6)), [job.number for job in jobs])

    def test_names_of_tests_are_read_from_the_listing(self):
        listing = "Running main()\nsteps.\n  one rule  # GetParam() = 3\n  a.b\nall/more.\n  two\n"
        self.assertEqual(["steps.one rule", "steps.a.b", "all/more.two"],
                         hunt.names_listed(listing))


class Verdicts(unittest.TestCase):
    """Programs of a few lines in place of test programs."""

    def run_program(self, body, seconds=0.1, first_seed=""):
        with tempfile.TemporaryDirectory(prefix="heddle-hunt-") as name, \
                mock.patch.object(hunt, "LOGS", pathlib.Path(name)), \
                mock.patch.object(hunt, "BEYOND_S", 1):
            program = pathlib.Path(name) / "a_test"
            program.write_text("#!/usr/bin/env python3\nimport os, sys, time\n"
                               + textwrap.dedent(body))
            program.chmod(0o755)
            row = hunt.rows_of(as_toml(ENTRY))[0]
            with mock.patch.object(hunt, "program_of", lambda *_: program):
                return hunt.run(hunt.Job(row, "release", "steps.x", seconds),
                                {"now": set(), "lock": threading.Lock()}, first_seed)

    def test_seeds_of_all_lines_are_counted(self):
        got = self.run_program("""
            assert "HEDDLE_SEED" not in os.environ and float(os.environ["HEDDLE_HUNT_S"]) == 0.1
            print("heddle: hunted 12 seeds from 7 on in 0.1 s")
            print("heddle: hunted 30 seeds from 9 on in 0.1 s", file=sys.stderr)""")
        self.assertEqual((42, ""), (got.seeds, got.found))

    def test_the_seeds_of_a_commit_begin_at_a_fixed_number(self):
        got = self.run_program("""
            assert os.environ["HEDDLE_SEED"] == "1000001"
            print("heddle: hunted 12 seeds from 1000001 on in 0.1 s")""",
                               first_seed=hunt.COMMIT_SEED)
        self.assertEqual((12, ""), (got.seeds, got.found))

    def test_a_failed_seed_is_shown_with_its_command(self):
        got = self.run_program("""
            print("heddle: seed 9 failed; again: HEDDLE_SEED=9 build/a_test --gtest_filter='x.*'")
            sys.exit(1)""")
        self.assertEqual(("exit status 1", "HEDDLE_SEED=9 build/a_test --gtest_filter='x.*'"),
                         (got.found, got.again))

    def test_a_crash_is_shown_with_the_seed_that_ran(self):
        got = self.run_program("""
            open(os.environ["HEDDLE_HUNT_AT"], "wb").write((77).to_bytes(8, sys.byteorder))
            os.abort()""")
        self.assertEqual("ended by SIGABRT", got.found)
        self.assertRegex(got.again, r"^HEDDLE_SEED=77 .*a_test --gtest_brief=1 ")

    def test_a_hang_is_ended_and_shown_with_the_seed_that_ran(self):
        got = self.run_program("""
            open(os.environ["HEDDLE_HUNT_AT"], "wb").write((5).to_bytes(8, sys.byteorder))
            time.sleep(600)""")
        self.assertEqual("it hangs", got.found)
        self.assertIn("HEDDLE_SEED=5 ", got.again)

    def test_the_filter_of_a_test_is_one_pattern(self):
        self.assertEqual("a.no wake?up is lost? HTTP/1.1",
                         hunt.filter_for("a.no wake-up is lost: HTTP/1.1"))

    def test_a_test_that_is_skipped_here_has_found_nothing(self):
        self.assertEqual("", self.run_program("print('[  SKIPPED ] 1 test.')").found)

    def test_a_test_without_seeds_has_looked_at_nothing(self):
        self.assertIn("no seed ran", self.run_program("print('passed')").found)

    def test_marks_that_no_hunt_has_reached_for_a_week_are_named(self):
        got = self.run_program("""
            print("heddle: mark 3 ../../src/io/a.cc:7 a file is cut")
            print("heddle: mark 0 ../../src/io/a.cc:9 a disk is full")
            print("heddle: mark 1 ../../tests/io/a_test.cc:9 of a test")
            print("heddle: hunted 5 seeds from 1 on in 1.0 s")""")
        full, cut = "src/io/a.cc: a disk is full", "src/io/a.cc: a file is cut"
        self.assertEqual({cut: 3, full: 0}, got.marks)
        with tempfile.TemporaryDirectory() as name:
            state = pathlib.Path(name) / "deep" / "marks.json"
            self.assertEqual(({cut: 3, full: 0}, []), hunt.marks_of([got], state, 100))
            self.assertEqual([], hunt.marks_of([got], state, 106)[1])
            self.assertEqual([full], hunt.marks_of([got], state, 107)[1])
            got.marks[full] = 1
            self.assertEqual([], hunt.marks_of([got, got], state, 108)[1])
            self.assertEqual(2, hunt.marks_of([got, got], state, 108)[0][full])

    def test_the_table_of_results_adds_up_and_json_names_each_test(self):
        row = hunt.rows_of(as_toml(ENTRY))[0]
        results = [hunt.Result(hunt.Job(row, "release", f"steps.{number}", 2), 50, 2.0, found,
                               "again", ROOT / "build/hunt/x.log")
                   for number, found in enumerate(("", "it hangs"))]
        lines = list(hunt.table([row], results))
        self.assertEqual(["a", "release", "100", "4", "25", "1"], lines[1].split())
        self.assertEqual(["steps.0", "steps.1"],
                         [one["test"] for one in json.loads(hunt.as_json(results))])


class Running(unittest.TestCase):
    def test_no_more_cores_are_used_than_there_are(self):
        rows = hunt.rows_of(as_toml(ENTRY) + as_toml(ENTRY | {"name": "b", "cores": 2}))
        busy, most, lock = [0], [0], threading.Lock()

        def one(job, *_):
            with lock:
                busy[0] += job.row.cores
                most[0] = max(most[0], busy[0])
            threading.Event().wait(0.01)
            with lock:
                busy[0] -= job.row.cores
            return job

        jobs = [hunt.Job(rows[number % 2], "release", "x", 1) for number in range(20)]
        with mock.patch.object(hunt, "run", one), contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(20, len(list(hunt.run_all(jobs, 2))))
        self.assertEqual(2, most[0])


if __name__ == "__main__":
    unittest.main()
