# SPDX-License-Identifier: MIT
"""docs/reference/rules.md names a test for every rule, every test that it names exists, and it
names every test whose sentence begins with a rule: scripts/mutate breaks the rules for those."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "rules.md"
# Groups of rules and how many each has; T5 is a rule of the translator.
GROUPS = {"E": 9, "C": 5, "A": 8, "R": 6, "T": 4, "K": 7, "D": 8, "F": 7, "L": 2, "H": 1, "S": 6,
          "W": 3}
TEST = re.compile(r'(?:HEDDLE|DRIVER)_TEST\((\w+),\s*"((?:[^"\\]|\\.)*)"')


def tests_in(text):
    """suite.sentence of every test in a source."""
    return [f"{suite}.{sentence}" for suite, sentence in TEST.findall(text)]


def rows_of(page):
    """Each rule of the table with the beginnings of its tests' names."""
    for rule, cells in re.findall(r"^\| ([A-Z]\d+) \|[^|]*\|(.*)\|$", page, re.M):
        yield rule, re.findall(r"`([^`]+)`", cells)


def missing(page, known):
    """What is wrong with the table: rules without a test, tests that do not exist."""
    rows = dict(rows_of(page))
    for group, count in GROUPS.items():
        for number in range(1, count + 1):
            if not rows.get(f"{group}{number}"):
                yield f"{group}{number} has no test"
    for rule, names in rows.items():
        for name in names:
            if not any(test.startswith(name) for test in known):
                yield f"{rule}: no test begins with {name}"
    for test in known:
        codes = re.match(r"(?:[A-Z]\d(?:,| and)? )*", test.split(".", 1)[1])[0]
        for rule in re.findall(r"[A-Z]\d", codes):
            if rule in rows and not any(test.startswith(name) for name in rows[rule]):
                yield f"{rule}: the page does not name {test}"


class Rules(unittest.TestCase):
    def test_every_rule_has_tests_that_exist(self):
        known = [test for source in (ROOT / "tests").glob("*/*_test.cc")
                 for test in tests_in(source.read_text("utf-8"))]
        self.assertEqual([], list(missing(PAGE.read_text("utf-8"), known)))

    def test_a_missing_test_is_found(self):
        page = PAGE.read_text("utf-8")
        self.assertIn("E1: no test begins with event.E1 an event", " ".join(missing(page, [])))
        without = re.sub(r"^\| K6 .*\n", "", page, flags=re.M)
        self.assertIn("K6 has no test", list(missing(without, [])))

    def test_a_test_that_the_page_leaves_out_is_found(self):
        known = ["channel.H1 every value that is pushed", "channel.H1 a new one",
                 "x.T1 and T2 both"]
        found = list(missing(PAGE.read_text("utf-8"), known))
        self.assertIn("H1: the page does not name channel.H1 a new one", found)
        self.assertIn("T2: the page does not name x.T1 and T2 both", found)
        self.assertNotIn("H1: the page does not name channel.H1 every value that is pushed", found)

    def test_both_kinds_of_test_are_seen(self):
        self.assertEqual(["a.b c", "d.e"],
                         tests_in('HEDDLE_TEST(a, "b c") {\nDRIVER_TEST(d,\n    "e") {'))


if __name__ == "__main__":
    unittest.main()
