# SPDX-License-Identifier: MIT
"""scripts/includes chooses the files that a change concerns, and finds what they do not include."""

import importlib.machinery
import importlib.util
import pathlib
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOADER = importlib.machinery.SourceFileLoader("includes", str(ROOT / "scripts/includes"))
includes = importlib.util.module_from_spec(importlib.util.spec_from_loader("includes", LOADER))
LOADER.exec_module(includes)

TREE = {
    "include/heddle/base/list.hh": "#include <vector>\n",
    "include/heddle/core/task.hh": "#include <heddle/base/list.hh>\n",
    "src/core/own.hh": '#include "heddle/core/task.hh"\n',
    "src/core/task.cc": '#include "core/own.hh"\n',
    "src/core/other.cc": "#include <vector>\n",
    "tests/core/beside.hh": "",
    "tests/core/task_test.cc": '#include "beside.hh"\n#include <heddle/core/task.hh>\n',
}


class IncludesTest(unittest.TestCase):
    def test_a_changed_file_concerns_itself_only(self):
        changed = {"include/heddle/base/list.hh"}
        self.assertEqual(includes.concerned(changed, set(), TREE), changed)

    def test_a_header_that_lost_an_include_concerns_all_that_include_it(self):
        changed = {"include/heddle/base/list.hh"}
        self.assertEqual(includes.concerned(changed, changed, TREE),
                         set(TREE) - {"src/core/other.cc", "tests/core/beside.hh"})

    def test_a_header_beside_the_file_is_found(self):
        self.assertEqual(includes.included_by(TREE)["tests/core/beside.hh"],
                         {"tests/core/task_test.cc"})

    def test_a_circle_of_includes_ends(self):
        tree = {"a.hh": '#include "b.hh"\n', "b.hh": '#include "a.hh"\n'}
        self.assertEqual(includes.concerned({"a.hh"}, {"a.hh"}, tree), {"a.hh", "b.hh"})

    def test_a_file_that_lacks_an_include_is_found(self):
        words = ["clang++-19", "-std=c++2b", "-fsyntax-only", "-x", "c++"]
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "a.cc"
            for text, good in (("#include <string>\nstd::string a;\n", True),
                               ("std::string a;\n", False)):
                file.write_text(text)
                _, status, said = includes.compile_one("a.cc", folder, [*words, str(file)])
                self.assertEqual(status == 0, good, said)

    def test_an_unknown_commit_means_everything(self):
        names, why = includes.chosen("0" * 40)
        self.assertIsNone(names)
        self.assertIn("is not in this clone", why)


if __name__ == "__main__":
    unittest.main()
