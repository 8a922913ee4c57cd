# SPDX-License-Identifier: MIT
"""docs/guide/beside-go.md: a program on Heddle is no longer than the same one in Go, and the Go
programs are correct. (scripts/doc_blocks builds and runs the others.)"""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "guide" / "beside-go.md"
GO = shutil.which("go") or shutil.which("/usr/local/go/bin/go")


def pairs(text):
    """Each program in Go with the one behind it."""
    blocks = re.findall(r"^```(go|cpp)\n(.*?)^```$", text, re.M | re.S)
    return [(go, ours) for (first, go), (second, ours) in zip(blocks[::2], blocks[1::2])
            if (first, second) == ("go", "cpp")]


def lines_of(program):
    """Without empty lines, and without those that tell scripts/doc_blocks what to expect."""
    return [line for line in program.splitlines()
            if line.strip() and not re.match(r"// (run|expect|interrupt):", line)]


class BesideGo(unittest.TestCase):
    def test_there_are_four_and_none_is_longer_than_in_go(self):
        found = pairs(PAGE.read_text("utf-8"))
        self.assertEqual(len(found), 4)
        for go, ours in found:
            with self.subTest(program=go.splitlines()[0]):
                self.assertLessEqual(len(lines_of(ours)), len(lines_of(go)), ours)

    def test_lines_are_counted(self):
        page = "```go\na\n\n```\n```cpp\n// expect: x\na\nb\n```\n"
        ((go, ours),) = pairs(page)
        self.assertEqual((len(lines_of(go)), len(lines_of(ours))), (1, 2))

    @unittest.skipIf(GO is None, "no go here")
    def test_the_go_programs_are_correct(self):
        with tempfile.TemporaryDirectory() as folder:
            at = pathlib.Path(folder)
            (at / "go.mod").write_text("module beside\n\ngo 1.21\n")
            for number, (go, _) in enumerate(pairs(PAGE.read_text("utf-8"))):
                (at / f"program{number}").mkdir()
                (at / f"program{number}" / "main.go").write_text(go)
            # A cache of its own: the test reads and writes nothing of the user's.
            environment = {"GOCACHE": str(at / "cache"), "GOTOOLCHAIN": "local", "HOME": folder,
                           "PATH": "/usr/bin:/bin", "GOFLAGS": "-mod=mod", "GOPROXY": "off"}
            done = subprocess.run([GO, "vet", "./..."], cwd=folder, env=environment, text=True,
                                  capture_output=True, timeout=400)
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
