# SPDX-License-Identifier: MIT
"""heddle rpcgen: the header of a file, mistakes with their places, exit codes."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from program import HEDDLE

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/rpc_calculator.x"


def rpcgen(*words):
    return subprocess.run([HEDDLE, "rpcgen", *map(str, words)], capture_output=True, text=True,
                          timeout=20)


class Rpcgen(unittest.TestCase):
    def test_a_file_gives_a_header_on_standard_output_or_in_a_file(self):
        shown = rpcgen(EXAMPLE)
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        self.assertIn("struct CALCULATOR_V1 {", shown.stdout)
        with tempfile.TemporaryDirectory() as folder:
            made = pathlib.Path(folder) / "calc.hh"
            written = rpcgen(EXAMPLE, "-o", made)
            self.assertEqual((written.returncode, written.stdout), (0, ""))
            self.assertEqual(made.read_text("utf-8"), shown.stdout)

    def test_a_mistake_is_shown_with_its_place_and_leaves_no_file(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "a.x"
            source.write_text("struct pair {\n  dubble a;\n};\n", "utf-8")
            made = pathlib.Path(folder) / "a.hh"
            failed = rpcgen(source, "-o", made)
            self.assertEqual(failed.returncode, 1)
            self.assertIn(f"{source}:2:3: error: there is no type `dubble`", failed.stderr)
            self.assertFalse(made.exists())
            self.assertIn('"line":2', rpcgen(source, "--json").stderr)

    def test_libasync_style_has_the_names_of_that_family_and_mistakes_of_its_own(self):
        shown = rpcgen("--libasync", ROOT / "tests/tame/libasync/bank_prot.x")
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        golden = ROOT / "tests/rpcgen/golden/bank_prot.h.txt"
        self.assertEqual(shown.stdout.replace("bank_prot.x", "a.x", 1), golden.read_text("utf-8"))
        self.assertIn("--libasync", rpcgen("--help").stdout)
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "a.x"
            source.write_text("struct pair { bool a<>; };\n", "utf-8")
            failed = rpcgen(source, "--libasync")
            self.assertEqual(failed.returncode, 1)
            self.assertIn(f"{source}:1:20: error: with --libasync there are no lists of bool",
                          failed.stderr)

    def test_names_that_are_macros_of_the_c_library_compile_in_both_styles(self):
        compiler = shutil.which("clang++-19") or shutil.which("g++-12") or shutil.which("c++")
        self.assertIsNotNone(compiler)
        heads = "".join(f"#include <{h}>\n" for h in
                        ("errno.h", "limits.h", "stdio.h", "stdlib.h", "stdint.h"))
        listed = subprocess.run([compiler, "-x", "c++", "-std=gnu++23", "-dM", "-E", "-"],
                                input=heads, capture_output=True, text=True, check=True).stdout
        names = sorted(set(re.findall(r"^#define ([A-Za-z]\w*)", listed, re.M)))
        self.assertGreater(len(names), 250)
        self.assertTrue({"NAME_MAX", "EOF", "errno", "EINVAL", "NULL"} <= set(names))
        constants = "".join(f"const {name} = {i};\n" for i, name in enumerate(names))
        fields = "struct uses {\n" + "".join(f"  int {name};\n" for name in names) + "};\n"
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "a.x"
            made = pathlib.Path(folder) / "a.hh"
            program = pathlib.Path(folder) / "a.cc"
            for text in (constants, fields):
                for style in ([], ["--libasync"]):
                    source.write_text(text, "utf-8")
                    done = rpcgen(*style, source, "-o", made)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    program.write_text(heads + '#include "a.hh"\n', "utf-8")
                    compiled = subprocess.run(
                        [compiler, "-std=c++23", "-fsyntax-only", "-I", ROOT / "include",
                         "-I", ROOT / "include/libasync", program],
                        capture_output=True, text=True, timeout=120)
                    self.assertEqual(compiled.stderr, "", style)

    def test_wrong_use_ends_with_status_2_and_the_remedy(self):
        for words, what in [([], "the name of an .x file is missing"),
                            (["none.x"], "cannot read none.x"),
                            (["a.x", "b.x"], "one file at a time"),
                            (["--fast", "a.x"], "has no option --fast"),
                            (["a.x", "-o"], "-o needs the name of a file")]:
            failed = rpcgen(*words)
            self.assertEqual(failed.returncode, 2, words)
            self.assertIn(what, failed.stderr)


if __name__ == "__main__":
    unittest.main()
