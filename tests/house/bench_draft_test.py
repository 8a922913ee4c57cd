# SPDX-License-Identifier: MIT
"""Tests of suite draft: what counts as a line, and what a plan says.

Run: python3 -B -m unittest tests/house/bench_draft_test.py
"""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

import bench_draft_compiler as compiler
import bench_machine as machine


class Draft(unittest.TestCase):
    def test_a_line_counts_when_it_holds_code(self):
        self.assertEqual(compiler.code_lines("/* a\n * b */\n\nint x; // c\n// d\n}\n"), 2)

    def test_a_plan_gives_sizes_and_the_bound_in_whole_words(self):
        text = ("a_f: apart (why), 2 waits, 40 bytes of variables (40 live at once, 29 at one "
                "wait)\n  0..8  x: int\n\nb_g: plain\n")
        self.assertEqual(compiler.plans(text), [("a_f", 40, 32)])

    def test_the_long_program_has_as_many_lines_as_it_says(self):
        blocks = compiler.LINES // compiler.BLOCK.count("\n")
        self.assertAlmostEqual(blocks * compiler.BLOCK.count("\n"), compiler.LINES, delta=60)

    def test_no_count_of_callgrind_is_a_failure(self):
        self.assertEqual(compiler.collected("==1== Collected : 12"), 12)
        with self.assertRaises(machine.Failed):
            compiler.collected("no such program")


if __name__ == "__main__":
    unittest.main()
