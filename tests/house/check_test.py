# SPDX-License-Identifier: MIT
"""scripts/check builds what its options name, and has scripts/run_tests run the same."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTE = '#!/bin/bash\necho "${0##*/} $*" >>calls\n'
CMAKE = NOTE + "[[ $* != *help ]] || printf 'io_test: phony\\nweb_test: phony\\n'\n"
CONFIGURED = "cmake --preset toy --log-level=WARNING -DHEDDLE_TESTS=ON"


def check(*words, rooms=""):
    """Exit status, output, and the programs that were called."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "scripts").mkdir()
        (root / "bin").mkdir()
        (root / ".ci").mkdir()
        (root / ".ci/base").write_text("0123456789abcdef\n")
        shutil.copy(ROOT / "scripts/check", root / "scripts/check")
        for name, text in {"scripts/run_tests": NOTE, "bin/cmake": CMAKE,
                           "scripts/affected": f"{NOTE}printf '{rooms}'\n"}.items():
            (root / name).write_text(text)
            (root / name).chmod(0o755)
        done = subprocess.run([root / "scripts/check", *words], text=True,
                              env=os.environ | {"PATH": f"{root / 'bin'}:{os.environ['PATH']}",
                                                "JOBS": "3"},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        calls = root / "calls"
        called = calls.read_text().splitlines() if calls.exists() else []
        return done.returncode, done.stdout, called


class Check(unittest.TestCase):
    def test_a_preset_is_built_whole_and_tested(self):
        status, output, calls = check("toy", "--not-rooms", "a b", "--", "-R", "x")
        self.assertEqual((status, calls), (0, [
            CONFIGURED, "cmake --build --preset toy -j 3",
            "run_tests toy -j 6 --not-rooms a b -- -R x"]), output)

    def test_build_only_runs_no_test(self):
        _, _, calls = check("toy", "--build-only")
        self.assertEqual(calls, [CONFIGURED, "cmake --build --preset toy -j 3"])

    def test_rooms_build_their_test_programs_only(self):
        _, _, calls = check("toy", "--rooms", "io attic")
        self.assertEqual(calls[2:], ["cmake --build --preset toy -j 3 --target io_test",
                                     "run_tests toy -j 6 --rooms io attic --not-rooms  --"])
        status, output, calls = check("toy", "--rooms", "attic")
        self.assertEqual((status, len(calls)), (0, 2))
        self.assertIn("preset toy has no tests of: attic", output)

    def test_since_the_base_takes_the_affected_rooms(self):
        _, _, calls = check("toy", "--since", "base", rooms="io\\nweb\\n")
        self.assertEqual(calls[0], "affected --since base --why")
        self.assertEqual(calls[-1], "run_tests toy -j 6 --rooms io web --not-rooms  --")

    def test_no_affected_room_builds_nothing_and_names_the_base(self):
        status, output, calls = check("toy", "--since", "base")
        self.assertEqual((status, calls), (0, ["affected --since base --why"]))
        self.assertIn("no room changed since 0123456789ab (.ci/base)", output)

    def test_bad_options_build_nothing(self):
        for words in ([], ["--build-only"], ["toy", "--since"], ["toy", "--rome", "io"],
                      ["toy", "--rooms", "io", "--since", "base"]):
            status, output, calls = check(*words)
            self.assertEqual((status, calls), (2, []), words)
            self.assertIn("usage: scripts/check PRESET...", output)


if __name__ == "__main__":
    unittest.main()
