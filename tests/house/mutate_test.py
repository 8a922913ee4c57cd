# SPDX-License-Identifier: MIT
"""scripts/mutate: its list of edits fits the tree, and its verdicts are what they should be."""

import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("mutate", str(ROOT / "scripts" / "mutate"))
mutate = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", loader))
loader.exec_module(mutate)


class Tree(unittest.TestCase):
    def test_every_rule_is_broken_by_an_edit_whose_text_occurs_once(self):
        edits = mutate.load()  # which looks for the texts
        rules, sources = mutate.tests_of_rules()
        self.assertEqual(set(rules), {rule for edit in edits for rule in edit.rules})
        with tempfile.TemporaryDirectory(prefix="heddle-mutate-") as name:
            mutate.lay_out(pathlib.Path(name), edits, sources)  # which finds those that overlap
            text = "".join((pathlib.Path(name) / file).read_text("utf-8")
                           for file in {edit.file for edit in edits})
        for edit in edits:
            self.assertIn(f"heddle_broken({edit.number})", text)

    def test_the_copy_configures_with_the_libraries_of_this_machine(self):
        edits = mutate.load()
        _, sources = mutate.tests_of_rules()
        with tempfile.TemporaryDirectory(prefix="heddle-mutate-") as name:
            tree = pathlib.Path(name) / "tree"
            mutate.lay_out(tree, edits, sources)
            done = subprocess.run(mutate.configure(tree, pathlib.Path(name) / "build"),
                                  capture_output=True, text=True)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)

    def test_every_edit_compiles(self):
        edits = mutate.load()
        _, sources = mutate.tests_of_rules()
        with tempfile.TemporaryDirectory(prefix="heddle-mutate-") as name:
            tree = pathlib.Path(name)
            mutate.lay_out(tree, edits, sources)
            files = sorted({edit.file for edit in edits})
            texts = ["".join(f'#include "{file.removeprefix("src/").removeprefix("include/")}"\n'
                             for file in files[start::2]) for start in range(2)]
            command = ["clang++-19", "-std=c++23", "-fsyntax-only", "-DHEDDLE_WITH_URING=1",
                       "-include", "broken.hh", "-I.", "-Iinclude", "-Isrc", "-xc++", "-"]
            runs = [subprocess.Popen(command, cwd=tree, stdin=subprocess.PIPE, text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                    for _ in texts]
            said = [run.communicate(text)[0] for run, text in zip(runs, texts)]
        for run, output in zip(runs, said):
            self.assertEqual(0, run.returncode, output[-2000:])


class Edits(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="heddle-mutate-")
        self.root = pathlib.Path(self.folder.name)
        self.text = "int f(int a) {\n  g(a);\n  return a + 1;\n}\nint h(int a) { return a + 2; }\n"
        (self.root / "f.cc").write_text(self.text)

    def tearDown(self):
        self.folder.cleanup()

    def edit(self, number=1, **entry):
        entry = {"rule": "X1", "says": "wrong", "file": "f.cc", "becomes": "0"} | entry
        return mutate.Edit(number, entry, self.root)

    def test_an_edit_asks_at_run_time(self):
        self.assertEqual(
            self.text.replace("a + 1", "(heddle_broken(1) ? (0) : (a + 1))"),
            mutate.with_edits(self.text, [self.edit(expression="a + 1")]))
        self.assertEqual(
            self.text.replace("g(a);", "if (heddle_broken(1)) { 0 } else { g(a); }"),
            mutate.with_edits(self.text, [self.edit(statement="g(a);")]))
        self.assertEqual(
            self.text.replace("int h(int a)", "long h(long a = heddle_broken(1))"),
            mutate.with_edits(self.text, [self.edit(code="int h(int a)",
                                                    becomes="long h(long a = BROKEN)")]))

    def test_a_text_is_found_within_another(self):
        edit = self.edit(expression="a", at="a + 2")
        self.assertEqual((5, "a"), (edit.line, self.text[edit.start:edit.end]))

    def test_several_edits_of_one_text_are_told_apart(self):
        made = mutate.with_edits(self.text, [self.edit(1, expression="a + 1"),
                                             self.edit(2, expression="a + 1", becomes="9")])
        self.assertIn("(heddle_broken(2) ? (9) : ((heddle_broken(1) ? (0) : (a + 1))))", made)

    def test_lines_stay_where_they_were(self):
        edit = self.edit(statement="g(a);\n  return a + 1;", becomes="one();\ntwo();\nthree();\n")
        self.assertEqual(range(2, 4), edit.lines)
        made = mutate.with_edits(self.text, [edit])
        self.assertEqual(self.text.count("\n"), made.count("\n"))

    def test_a_text_that_is_not_there_once_is_refused(self):
        for wrong in ({"expression": "a +"}, {"expression": "b"}, {"statement": "g(a);", "at": "h"},
                      {"expression": "a", "at": "g(a)", "says": 1, "extra": 1}, {},
                      {"expression": "a + 1", "statement": "g(a);"}):
            with self.assertRaises(mutate.Failed):
                self.edit(**wrong)

    def test_edits_that_overlap_are_refused(self):
        for other in ({"expression": "a + 1"}, {"code": "return a + 1;"}):
            with self.assertRaises(mutate.Failed):
                mutate.with_edits(self.text, [self.edit(1, statement="return a + 1;"),
                                              self.edit(2, **other)])


class Verdicts(unittest.TestCase):
    def test_an_edit_that_no_test_notices_is_not_caught(self):
        self.assertEqual(("NOT CAUGHT", False), mutate.verdict(["passes", "passes"]))
        self.assertEqual(("NOT CAUGHT", False), mutate.verdict([]))
        self.assertEqual(("1 of 2 fail", True), mutate.verdict(["passes", "fails"]))
        self.assertEqual(("2 of 2 fail (1 crashes, 1 hangs)", True),
                         mutate.verdict(["crashes", "hangs"]))

    def test_a_test_that_no_edit_of_its_rule_makes_fail_is_found(self):
        rules = {"X1": [("core", "x.one"), ("core", "x.two")], "X2": [("core", "x.two")]}
        rows = [{"rule": "X1", "tests": {"x.one is": "fails", "x.two is": "passes"}},
                {"rule": "X2", "tests": {"x.two is": "crashes"}}]
        self.assertEqual(["X1: x.two"], list(mutate.never_failed(rows, rules)))

    def test_the_end_of_a_run_is_read_from_its_output(self):
        one = "[==========] Running 1 test from 1 test suite.\n"
        self.assertEqual("passes", mutate.ending(0, one + "[  PASSED  ] 1 test."))
        self.assertEqual("skipped", mutate.ending(0, one + "[  SKIPPED ] 1 test"))
        self.assertEqual("fails", mutate.ending(1, one + "[  FAILED  ] 1 test"))
        self.assertEqual("crashes", mutate.ending(-11, one))
        with self.assertRaises(mutate.Failed):
            mutate.ending(0, "[==========] Running 0 tests from 0 test suites.")

    def test_names_are_listed_and_chosen(self):
        listed = mutate.names_listed("a.\n  X1 one: it-self [sim]\n  two\nb.\n  three\n")
        self.assertEqual(["a.X1 one: it-self [sim]", "a.two", "b.three"], listed)
        self.assertEqual("a.X1 one? it?self ?sim?", mutate.filter_for(listed[0]))


if __name__ == "__main__":
    unittest.main()
