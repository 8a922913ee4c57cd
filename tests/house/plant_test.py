# SPDX-License-Identifier: MIT
"""scripts/plant: its table fits the tree, and its verdicts are what they should be."""

import importlib.machinery
import importlib.util
import pathlib
import re
import subprocess
import sys
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("plant", str(ROOT / "scripts" / "plant"))
plant = importlib.util.module_from_spec(importlib.util.spec_from_loader("plant", loader))
loader.exec_module(plant)

FOUND = """heddle: seed 31 failed; again: HEDDLE_SEED=31 again
heddle: site: lost: a row
heddle: made small in 42 runs: 2 of 17 faults are left
heddle: replay: HEDDLE_RUN=build/sim/site-31.run again
"""
AGAIN = """heddle: x.run fails as it did: lost: a row
heddle: it is the same run: its trace is equal
"""


class Table(unittest.TestCase):
    def test_each_fault_fits_the_tree_and_names_a_test_of_runs(self):
        faults = plant.load()  # which looks for the texts
        self.assertGreaterEqual(len(faults), 20)
        for file in {fault.file for fault in faults}:
            text = (ROOT / file).read_text("utf-8")
            plant.mutate.with_edits(text, [f for f in faults if f.file == file])
        for fault in faults:
            program, test = fault.test.split(" ")
            room = program.removesuffix("_test")
            self.assertIn(room, plant.PROGRAMS)
            suite = re.escape(test.split(".")[0])
            self.assertTrue([file for file in (ROOT / "tests" / room).glob("*_test.cc")
                             if re.search(rf"_TEST\({suite},", text := file.read_text("utf-8"))
                             and "for_runs" in text], fault.test)

    def test_the_list_needs_no_build(self):
        done = subprocess.run([ROOT / "scripts" / "plant", "--list", "1"], capture_output=True,
                              text=True, timeout=60)
        self.assertEqual((0, 1), (done.returncode, done.stdout.count("\n")), done.stderr)


class Verdicts(unittest.TestCase):
    def judge(self, *outputs):
        fault = plant.load()[0]
        with mock.patch.object(plant, "run", side_effect=[(text, 1) for text in outputs]):
            return plant.judge(pathlib.Path("x"), fault)

    def test_a_fault_is_found_made_small_and_replayed(self):
        row = self.judge(FOUND, AGAIN)
        self.assertEqual((31, 2, True, "lost: a row"),
                         (row["found"], row["left"], row["replayed"], row["verdict"]))
        self.assertEqual(True, plant.summary([row])[1])

    def test_a_replay_that_is_another_run_does_not_count(self):
        row = self.judge(FOUND, "heddle: x.run fails as it did: lost\nheddle: it runs differently")
        self.assertEqual((False, False), (row["replayed"], plant.summary([row])[1]))

    def test_a_fault_that_is_not_found_or_stays_large_fails(self):
        row = self.judge("[  PASSED  ]")
        self.assertEqual((None, False), (row["found"], plant.summary([row])[1]))
        good = self.judge(FOUND, AGAIN)
        large = self.judge(FOUND.replace("2 of 17", "9 of 17"), AGAIN)
        self.assertEqual(True, plant.summary([good] * 9 + [large])[1])
        self.assertEqual(False, plant.summary([good] * 8 + [large])[1])


if __name__ == "__main__":
    unittest.main()
