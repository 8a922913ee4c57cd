# SPDX-License-Identifier: MIT
"""scripts/doc_blocks builds and runs what pages show, and finds what is wrong with it."""

import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
UMBRELLA = "#pragma once\n#include <chrono>\nnamespace heddle { struct task {}; }\n"
MAIN = "#include <cstdio>\n#include <unistd.h>\nint main(int argc, char**) {{ {} }}\n"


def doc_blocks(page, *options):
    """Runs doc_blocks on a tree with one page; its exit status and output."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "include/heddle").mkdir(parents=True)
        (root / "include/heddle/heddle.hh").write_text(UMBRELLA)
        (root / "README.md").write_text(page)
        done = subprocess.run(
            [ROOT / "scripts/doc_blocks", "--root", root, "--build", root, *options],
            capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


def block(text, info="cpp"):
    return f"# A page\n\n```{info}\n{text}```\n"


class DocBlocksTest(unittest.TestCase):
    def finds(self, page, words, *options):
        status, output = doc_blocks(page, *options)
        self.assertEqual(status, 1, output)
        self.assertIn(words, output)
        self.assertIn("README.md:3: ", output)

    def accepts(self, page, summary):
        status, output = doc_blocks(page)
        self.assertEqual(status, 0, output)
        self.assertIn(summary, output)

    def test_a_declaration_compiles_inside_the_umbrella(self):
        self.accepts(block("task f(); auto pause = 5ms;\n"), "0 programs run, 1 blocks compiled")

    def test_a_block_that_does_not_compile_is_found_at_its_line(self):
        self.finds(block("int ok;\nnowhere x;\n"), "README.md:5:1: error")

    def test_parts_together_are_the_whole(self):
        page = block("int a;\n") + block("int b;\n") + block("wrong c;\n")
        for part, blocks, found in ((1, 1, 1), (2, 1, 0)):
            status, output = doc_blocks(page, "--part", f"{part}/2")
            self.assertEqual((status, output.count("wrong c")), (found, found), output)
            self.assertIn(f"{blocks} blocks compiled", output)
        self.assertEqual(doc_blocks(page, "--part", "3/2")[0], 2)

    def test_a_program_is_run_with_its_arguments(self):
        good = "// run: a b\n// expect: three\n" + MAIN.format('puts(argc == 3 ? "three" : "");')
        self.accepts(block(good), "1 programs run")
        self.finds(block(good.replace("a b", "a")), "did not print 'three'")

    def test_a_program_that_fails_is_found(self):
        self.finds(block(MAIN.format("return 3;")), "ended with status 3")

    def test_a_program_that_serves_is_ended_by_an_interrupt(self):
        serve = '#include <csignal>\n// interrupt: ready\n' + MAIN.format(
            'signal(SIGINT, [](int) { _exit(0); }); puts("ready"); fflush(stdout); pause();')
        self.accepts(block(serve), "1 programs run")

    def test_a_program_that_does_not_end_is_ended_and_found(self):
        self.finds(block(MAIN.format("pause();")), "did not end within 0.2 s", "--limit-s", "0.2")

    def test_a_fragment_is_exempt_and_listed(self):
        self.accepts(block("nowhere x;\n", "cpp fragment"), "README.md:3: fragment, not compiled")

    def test_a_c_block_is_compiled_as_c(self):
        self.accepts(block("int *x = (void *)0; int class;\n", "c"), "1 blocks compiled")
        self.finds(block("auto x = nullptr;\n", "c"), "does not compile")

    def test_other_languages_are_left_alone(self):
        self.accepts(block("rm -rf /\n", "sh"), "0 blocks compiled")


if __name__ == "__main__":
    unittest.main()
