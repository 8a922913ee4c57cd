# SPDX-License-Identifier: MIT
"""heddle draft and heddle new: stages, an editor's session, a project that compiles and answers."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from program import HEDDLE, LIMIT_S, SANITIZED, environment, run

ROOT = pathlib.Path(__file__).resolve().parents[2]
ECHO = str(ROOT / "examples/draft/echo.draft")


class Draft(unittest.TestCase):
    def test_the_picture_is_one_svg(self):
        code, out, err = run("draft", ECHO, "--emit", "svg")
        self.assertEqual((code, err), (0, ""))
        self.assertTrue(out.startswith("<svg ") and out.endswith("</svg>\n"), out[:80])

    def test_cc_is_the_program_in_cpp(self):
        code, out, err = run("draft", ECHO, "--emit", "cc")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("heddle::task<> session(draft::conn c) {", out)
        self.assertIn("co_await c.write(m);", out)

    def test_a_command_is_found_behind_an_option_whose_value_is_in_its_word(self):
        for words in (("--emit=c",), ("-I/tmp",), ("-I", "/tmp"), ("--emit", "c")):
            code, _, err = run("draft", *words, "run", "none.draft")
            self.assertEqual(code, 1, err)
            self.assertIn("cannot read none.draft", err, words)

    @unittest.skipIf(SANITIZED, "cc does not link a library that has a sanitizer")
    def test_arguments_fill_the_parameters_of_main(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/words.draft"
            pathlib.Path(path).write_text(
                'module words\nuse log\n'
                'main(a: text<4>, b: bytes = "bee", n: u8 = 7) -> ! { log.print(a, b, n) }\n')
            for words, code, out, err in ((("four",), 0, "fourbee7", ""),
                                          (("", "", "255"), 0, "255", ""),
                                          (("fiver",), 2, "", "at most 4 bytes"),
                                          (("a", "b", "256"), 2, "", "a number from 0 to 255"),
                                          ((), 2, "", "usage")):
                got = run("draft", "run", path, *words)
                self.assertEqual((got[0], got[1].strip()), (code, out), (words, got))
                self.assertIn(err, got[2])
                self.assertNotIn("leaked", got[2])

    @unittest.skipIf(SANITIZED, "cc does not link a library that has a sanitizer")
    def test_variables_of_the_environment_are_checked(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/colors.draft"
            pathlib.Path(path).write_text(
                "module colors\nuse log\nthread t(c: int) -> int { return c }\n"
                "main() -> ! {\n  var sum = 0\n  for i in 0..20 {\n"
                "    let j = spawn t(i) color i\n    sum += try j.join()\n  }\n"
                "  log.print(sum)\n}\n")
            colors = "it may be 2 to 65536 colors"
            for name, value, code, text in (("HEDDLE_COLORS", "2", 0, "190"),
                                            ("HEDDLE_COLORS", "65536", 0, "190"),
                                            ("HEDDLE_COLORS", "1", 2, colors),
                                            ("HEDDLE_COLORS", "all", 2, "HEDDLE_COLORS is 'all'"),
                                            ("HEDDLE_MEMORY", "9", 2, "67108864 to")):
                got = subprocess.run([HEDDLE, "draft", "run", path], text=True, timeout=LIMIT_S,
                                     env=environment({name: value}), capture_output=True)
                self.assertEqual(got.returncode, code, (name, value, got))
                self.assertIn(text, got.stdout + got.stderr)

    def test_an_enum_of_another_module_names_its_values(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "shades.draft").write_text(
                "module shades\npub enum shade: u8 { light = 3, dark }\nenum own { one }\n")
            path = pathlib.Path(folder) / "painter.draft"
            program = ("module painter\nuse shades\nuse log\n"
                       "fn name(s: shades.shade) -> bytes {\n  match s {\n"
                       '    shades.shade.light => return "light"\n    dark => return "dark"\n'
                       "  }\n}\nmain() {\n  let s = shades.shade.dark\n"
                       "  if s != shades.shade.light { log.print(name(s)) }\n}\n")
            path.write_text(program)
            if not SANITIZED:
                self.assertEqual(run("draft", "run", str(path))[:2], (0, "dark\n"))
            code, out, err = run("draft", str(path), "--emit", "cc")
            self.assertEqual((code, err), (0, ""))
            self.assertIn("s != shades::shade::light", out)
            for value, message in (("shades.shade.none", "'none' is no value of the enum 'shade'"),
                                   ("shades.own.one", "'own' is not public in 'shades'")):
                path.write_text(program.replace("s = shades.shade.dark", "s = " + value))
                self.assertIn(message, run("draft", str(path), "--check")[2])

    def test_syntax_files_are_those_of_the_tree(self):
        for form, path in (("vim", "vim/syntax/draft.vim"),
                           ("textmate", "textmate/draft.tmLanguage.json")):
            self.assertEqual(run("draft", "syntax", form)[1],
                             (ROOT / "editors" / path).read_text())
        self.assertEqual(run("draft", "syntax", "emacs")[0], 2)

    def test_an_editor_gets_diagnostics(self):
        messages = [{"id": 1, "method": "initialize", "params": {}},
                    {"method": "textDocument/didOpen", "params": {"textDocument": {
                        "uri": "file:///x.draft", "text": "module x\nthread t() {\nwrong()\n}\n"}}},
                    {"id": 2, "method": "shutdown"}, {"method": "exit"}]
        sent = "".join(f"Content-Length: {len(t)}\r\n\r\n{t}" for t in map(json.dumps, messages))
        done = subprocess.run([HEDDLE, "draft", "lsp"], input=sent, capture_output=True, text=True,
                              timeout=LIMIT_S, env=environment({}))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn('"hoverProvider":true', done.stdout)
        self.assertIn('"code":"D0003"', done.stdout)

    def test_a_new_project_is_complete(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/lines"
            code, out, err = run("new", path, "--kind", "draft")
            self.assertEqual((code, err), (0, ""))
            self.assertIn("heddle draft run", out)
            self.assertEqual(sorted(p.name for p in pathlib.Path(path).iterdir()),
                             ["CMakeLists.txt", "main.draft", "talk_test.py", "words.c", "words.h"])
            self.assertEqual(run("draft", path + "/main.draft", "--check")[0], 0)
            self.assertEqual(run("draft", "fmt", "--check", path + "/main.draft")[:2], (0, ""))
            self.assertEqual(run("new", path)[0], 1)
            self.assertEqual(run("new", folder + "/a-b")[0], 2)
            self.assertEqual(run("new", folder + "/x", "--kind", "web")[0], 2)

    def test_dependencies_and_modules_of_equal_names(self):
        with tempfile.TemporaryDirectory() as folder:
            here = pathlib.Path(folder)
            for name, text in {
                    "lib/words.draft": "module lib.words\npub fn hello() -> int { return 2 }\n",
                    "one.draft": "module one\nuse lib.words\n"
                                 "pub fn one() -> int { return words.hello() }\n",
                    "server.draft": "module server\nuse lib.words\nuse log\n"
                                    "main() -> ! { log.print(words.hello()) }\n",
                    "far/lib2/words.draft": "module lib2.words\n"
                                            "pub fn far() -> int { return 4 }\n",
                    "far/one.draft": "module one\nuse lib2.words\nuse log\n"
                                     "main() -> ! { log.print(words.far()) }\n",
                    "both.draft": "module both\nuse lib.words\nuse lib2.words\nuse log\n"
                                  "main() -> ! { log.print(words.far()) }\n",
                    "dash.draft": "module dash\nuse a.b\nuse a_b\nuse log\n"
                                  "main() -> ! { log.print(b.n() + a_b.n()) }\n",
                    "a/b.draft": "module a.b\npub fn n() -> int { return 1 }\n",
                    "a_b.draft": "module a_b\npub fn n() -> int { return 2 }\n"}.items():
                (here / name).parent.mkdir(parents=True, exist_ok=True)
                (here / name).write_text(text)
            out = folder + "/a b.c"
            server = folder + "/server.draft"
            self.assertEqual(run("draft", server, "-o", out, "--depfile", out + ".d")[0], 0)
            self.assertEqual(pathlib.Path(out + ".d").read_text(),
                             out.replace(" ", "\\ ") + f": {folder}/server.draft"
                             f" {folder}/lib/words.draft\n")
            self.assertEqual(run("draft", server, "--depfile", out + ".d")[0], 2)
            # The module is found by -I, also by another name of its folder.
            far = folder + "/far/one.draft"
            self.assertEqual(run("draft", far, "-I", folder + "/./far", "--check")[0], 0)
            self.assertIn("both called 'words'",
                          run("draft", folder + "/both.draft", "-I", folder + "/far", "--check")[2])
            self.assertIn("have one name in C, a_b",
                          run("draft", folder + "/dash.draft", "--check")[2])
            # Two files that use one module link into one program.
            for name in ("one", "server"):
                code, text, err = run("draft", folder + f"/{name}.draft")
                self.assertEqual((code, err), (0, ""))
                self.assertRegex(text, r"\nstatic int64_t lib_words_hello")
            self.assertIn("\nint64_t one_one(", run("draft", folder + "/one.draft")[1])
            if not SANITIZED:
                code, text, err = run("draft", "-I", folder, "run", folder + "/server.draft")
                self.assertEqual((code, text), (0, "2\n"), err)

    @unittest.skipIf(SANITIZED or shutil.which("cmake") is None, "CMake takes too long, or is none")
    def test_cmake_compiles_again_when_a_used_module_changes(self):
        makers = ["Unix Makefiles"] + (["Ninja"] if shutil.which("ninja") else [])
        for maker in makers:
            with self.subTest(maker), tempfile.TemporaryDirectory() as folder:
                here = pathlib.Path(folder)
                words = "module lib.words\npub fn hello() -> int { return 12345 }\n"
                use = "use lib.words\nuse far\nuse log\n" \
                      "main() -> ! { log.print(words.hello() + far.there()) }\n"
                for name, text in {
                        "lib/words.draft": words,
                        "more/far.draft": "module far\npub fn there() -> int { return 1 }\n",
                        "server.draft": "module server\n" + use,
                        "sub/lib/words.draft": words,
                        "sub/server.draft": "module server2\n" + use,
                        "CMakeLists.txt":
                            "cmake_minimum_required(VERSION 3.20)\nproject(p C CXX)\n"
                            "add_executable(heddle::cli IMPORTED)\n"
                            f"set_target_properties(heddle::cli PROPERTIES IMPORTED_LOCATION "
                            f'"{HEDDLE}")\n'
                            "add_library(heddle::heddle INTERFACE IMPORTED)\n"
                            "target_include_directories(heddle::heddle INTERFACE "
                            f'"{ROOT}/include")\n'
                            f'include("{ROOT}/cmake/HeddleDraft.cmake")\n'
                            "add_library(both OBJECT)\n"
                            "heddle_draft(both server.draft sub/server.draft IMPORTS more)\n"
                        }.items():
                    (here / name).parent.mkdir(parents=True, exist_ok=True)
                    (here / name).write_text(text)

                def make(*command):
                    done = subprocess.run(["cmake", *command], cwd=here, capture_output=True,
                                          text=True, timeout=LIMIT_S, check=False)
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

                def made():
                    return [p.read_text() for p in sorted((here / "b").rglob("server.c"))]

                make("-S", ".", "-B", "b", "-G", maker)
                make("--build", "b")
                self.assertEqual(len(made()), 2)
                self.assertIn("12345", made()[0])
                for name, number in (("lib/words.draft", "23456"), ("more/far.draft", "34567")):
                    path = here / name
                    path.write_text(path.read_text().replace("12345", number)
                                    .replace("return 1 ", f"return {number} "))
                    later = path.stat().st_mtime + 5  # files of one second look equally old
                    os.utime(path, (later, later))
                    make("--build", "b")
                    self.assertIn(number, "".join(made()))


if __name__ == "__main__":
    unittest.main()
