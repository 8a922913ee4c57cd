# SPDX-License-Identifier: MIT
"""tests/support/seeds.py chooses seeds and reports them as heddle/sim/seeds.hh does."""

import contextlib
import io
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import seeds


class Seeds(unittest.TestCase):
    def run_with(self, count=3, fails=None, first=1, command="a_test", **variables):
        """(seeds that ran, stderr, what was raised)."""
        ran, said, raised = [], io.StringIO(), None
        clean = {k: v for k, v in os.environ.items() if not k.startswith("HEDDLE_")}

        def body(seed):
            ran.append(seed)
            if seed == fails:
                raise AssertionError("as asked")

        with mock.patch.dict(os.environ, clean | variables, clear=True), \
                contextlib.redirect_stderr(said):
            try:
                count_ran = seeds.for_seeds(count, body, command, first)
                self.assertEqual(count_ran, len(ran))
            except AssertionError as error:
                raised = error
        return ran, said.getvalue(), raised

    def test_the_test_chooses_if_the_environment_does_not(self):
        self.assertEqual(self.run_with(first=5), ([5, 6, 7], "", None))
        self.assertEqual(str(self.run_with(count=0)[2]), "no seed ran")

    def test_the_first_failing_seed_ends_the_run_and_is_named(self):
        ran, said, raised = self.run_with(count=9, fails=4)
        self.assertEqual((ran, str(raised)), ([1, 2, 3, 4], "as asked"))
        self.assertEqual(said, "heddle: seed 4 failed; again: HEDDLE_SEED=4 a_test\n")

    def test_a_seed_or_a_range_is_chosen(self):
        self.assertEqual(self.run_with(HEDDLE_SEED="7")[0], [7])
        self.assertEqual(self.run_with(HEDDLE_SEED="7-9")[0], [7, 8, 9])
        self.assertEqual(self.run_with(count=2, HEDDLE_SEED="")[0], [1, 2])
        for wrong in ("x", "7-", "7-3", "7-9x", "-1", "7 9", "99999999999999999999"):
            ran, _, raised = self.run_with(HEDDLE_SEED=wrong)
            self.assertEqual(ran, [], wrong)
            self.assertIn(f"HEDDLE_SEED={wrong} is no seed", str(raised))

    def test_a_time_is_spent_unless_a_seed_fails(self):
        ran, said, _ = self.run_with(count=1, HEDDLE_SEED="41", HEDDLE_HUNT_S="0.01")
        self.assertGreater(len(ran), 10)
        self.assertEqual(said, f"heddle: hunted {len(ran)} seeds from 41 on in 0.0 s\n")
        ran, said, _ = self.run_with(fails=44, HEDDLE_SEED="41", HEDDLE_HUNT_S="600")
        self.assertEqual(ran, [41, 42, 43, 44])
        self.assertIn("seed 44 failed", said)
        drawn = [self.run_with(HEDDLE_HUNT_S="0.0001")[0][0] for _ in range(2)]
        self.assertNotEqual(*drawn)
        for wrong in ("x", "-1", "0", "3s"):
            ran, _, raised = self.run_with(HEDDLE_HUNT_S=wrong)
            self.assertEqual(ran, [], wrong)
            self.assertIn("is no number of seconds", str(raised))

    def test_the_running_seed_is_in_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "at"
            self.run_with(fails=2, HEDDLE_HUNT_AT=str(path))
            self.assertEqual(int.from_bytes(path.read_bytes(), sys.byteorder), 2)
            _, said, raised = self.run_with(HEDDLE_HUNT_AT=str(path / "no"))
            self.assertIsNone(raised)
            self.assertIn(f"HEDDLE_HUNT_AT: cannot write {path}/no", said)

    def test_a_test_is_named_by_its_file(self):
        with mock.patch.dict(os.environ, {"HEDDLE": "a b"}):
            self.assertEqual(
                seeds.command_of(self),
                f"HEDDLE='a b' python3 -B {os.path.relpath(__file__)} "
                "Seeds.test_a_test_is_named_by_its_file")


if __name__ == "__main__":
    unittest.main()
