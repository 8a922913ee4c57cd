# SPDX-License-Identifier: MIT
"""scripts/affected follows includes, and takes all rooms when .ci/base cannot be used;
scripts/begin writes that file only on a landed commit without changes."""

import pathlib
import subprocess
import unittest

from scratch_clone import ScratchClone

ROOT = pathlib.Path(__file__).resolve().parents[2]
TREE = {
    "include/heddle/base/list.hh": "",
    "include/heddle/io/detail/lane.hh": "#include <heddle/base/list.hh>\n",
    "include/heddle/web/page.hh": "#include <heddle/io/detail/lane.hh>\n",
    "src/io/lane.cc": "#include <heddle/io/detail/lane.hh>\n",
    "tests/io/lane_test.cc": "#include <heddle/io/detail/lane.hh>\n",
    "cmake/tests.cmake": "",
    "tests/support/main.cc": "",
    "tests/house/x_test.py": "",
    "docs/page.md": "",
}
ALL = {"apps", "base", "examples", "hook", "io", "web"}  # some labels have no folder here


class Clone(ScratchClone):
    """The tree above, with scripts/begin."""

    def __init__(self, test):
        super().__init__(test, TREE | {"scripts/begin": (ROOT / "scripts/begin").read_text()})

    def affected(self, *words):
        """The rooms, and the reasons."""
        done = subprocess.run([ROOT / "scripts/affected", "--root", self.root, "--why", *words],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return set(done.stdout.split()), done.stderr

    def begin(self):
        done = subprocess.run(["bash", self.root / "scripts/begin"], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


class Affected(unittest.TestCase):
    def setUp(self):
        self.clone = Clone(self)
        self.clone.write(".ci/base", self.clone.first + "\n")
        self.clone.commit()

    def test_nothing_changed_since_the_base(self):
        self.assertEqual(self.clone.affected("--since")[0], set())
        self.assertEqual(self.clone.affected("--since", "base")[0], set())

    def test_a_changed_room_brings_those_that_include_it(self):
        self.clone.write("include/heddle/io/detail/lane.hh", "#include <heddle/base/list.hh>\n\n")
        rooms, why = self.clone.affected("--since", "base")
        self.assertEqual(rooms, {"io", "web", "examples"})
        self.assertIn("io (include/heddle/io/detail/lane.hh) -> examples, web", why)

    def test_a_changed_test_concerns_its_own_room_only(self):
        self.clone.write("tests/io/lane_test.cc", "")
        self.assertEqual(self.clone.affected("--since")[0], {"io"})

    def test_checks_pages_and_house_tests_concern_no_room(self):
        for name in (".ci/base", ".ci/run", "tests/flaky.txt", "tests/house/x_test.py",
                     "docs/page.md", "scripts/tidy"):
            if name != ".ci/base":
                self.clone.write(name, "x\n")
            self.clone.commit()
            self.assertEqual(self.clone.affected("--since")[0], set(), name)

    def test_the_build_and_the_support_of_tests_concern_all_rooms(self):
        for name in ("cmake/tests.cmake", "CMakeLists.txt", "CMakePresets.json",
                     "tests/support/main.cc"):
            self.clone.write(name, "x\n")
            rooms, why = self.clone.affected("--since")
            self.assertEqual(rooms, ALL, name)
            self.assertIn(f"all rooms: {name} changed", why)
            self.clone.git("checkout", "-q", ".")
            self.clone.git("clean", "-qfd")

    def test_a_base_that_is_missing_takes_all_rooms(self):
        (self.clone.root / ".ci/base").unlink()
        self.assertEqual(self.clone.affected("--since"),
                         (ALL, "affected: all rooms: .ci/base is missing\n"))

    def test_a_base_that_is_unknown_takes_all_rooms(self):
        for text in ("0" * 40, "", "x y\n", "\n"):
            self.clone.write(".ci/base", text)
            rooms, why = self.clone.affected("--since")
            self.assertEqual(rooms, ALL)
            self.assertIn("not in this clone", why)

    def test_a_base_that_is_no_ancestor_takes_all_rooms(self):
        other = self.clone.commit()
        self.clone.git("reset", "-q", "--hard", "HEAD~1")
        self.clone.write(".ci/base", other)
        rooms, why = self.clone.affected("--since")
        self.assertEqual(rooms, ALL)
        self.assertIn(f"{other[:12]}, which is not an ancestor of HEAD", why)


class Begin(unittest.TestCase):
    def setUp(self):
        self.clone = Clone(self)

    def base(self):
        path = self.clone.root / ".ci/base"
        return path.read_text() if path.exists() else None

    def test_writes_the_commit_once(self):
        status, said = self.clone.begin()
        self.assertEqual((status, self.base()), (0, self.clone.first + "\n"), said)
        self.assertIn("already", self.clone.begin()[1])

    def test_refuses_a_tree_with_changes(self):
        self.clone.write("docs/page.md", "x")
        status, said = self.clone.begin()
        self.assertEqual((status, self.base()), (1, None))
        self.assertIn("has changes", said)

    def test_refuses_a_commit_that_main_lacks(self):
        self.clone.git("update-ref", "refs/remotes/origin/main", "HEAD")
        self.assertEqual(self.clone.begin()[0], 0)
        self.clone.commit()
        status, said = self.clone.begin()
        self.assertEqual((status, self.base()), (1, self.clone.first + "\n"))
        self.assertIn("has not landed", said)


if __name__ == "__main__":
    unittest.main()
