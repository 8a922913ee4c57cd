# SPDX-License-Identifier: MIT
"""Mistakes that the compiler finds: each message says the remedy, on the first screen.

A user's program is compiled with each compiler, and the messages are read."""

import functools
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILERS = [c for c in ("clang++-19", "g++-12") if shutil.which(c)]
HEAD = """#include <heddle/bus/bus.hh>
#include <heddle/core/twait.hh>
#include <heddle/heddle.hh>
#include <heddle/sync/channel.hh>
using namespace heddle;
using namespace std::chrono_literals;
"""
SCREEN = 25  # lines


def compiled(compiler, folder, *options, text=""):
    return subprocess.run([compiler, "-std=c++23", f"-I{ROOT / 'include'}", *options], input=text,
                          capture_output=True, text=True, timeout=120, cwd=folder,
                          env=os.environ | {"LC_ALL": "C"})


@functools.cache
def folder_with_head(compiler):
    """A folder with the headers compiled, so that each mistake takes a fraction of a second."""
    folder = tempfile.TemporaryDirectory()
    (pathlib.Path(folder.name) / "head.hh").write_text(HEAD)
    done = compiled(compiler, folder.name, "-x", "c++-header", "head.hh", "-o",
                    "head.hh.gch" if compiler.startswith("g++") else "head.hh.pch")
    assert done.returncode == 0, done.stderr
    return folder


def errors(compiler, text):
    done = compiled(compiler, folder_with_head(compiler).name, "-fsyntax-only", "-include",
                    "head.hh", "-x", "c++", "-", text=text)
    return done.returncode, done.stderr


class CompilerErrors(unittest.TestCase):
    def expect(self, text, sentence, lines_most=24):
        for compiler in COMPILERS:
            with self.subTest(compiler=compiler):
                code, said = errors(compiler, text)
                self.assertNotEqual(code, 0)
                self.assertIn(sentence, said)
                self.assertLessEqual(len(said.splitlines()), lines_most, said)

    def tells(self, body, sentence, before="", compilers=COMPILERS, fails=True):
        """`body` of a task is a mistake, and the remedy stands on the first screen."""
        text = before + "task<> user(channel<int>& numbers) {\n  " + body + "\n  co_return;\n}\n"
        for compiler in compilers:
            with self.subTest(compiler=compiler):
                code, said = errors(compiler, text)
                self.assertEqual(code != 0, fails, said)
                self.assertIn(sentence, "\n".join(said.splitlines()[:SCREEN]), said)

    def test_a_const_slot(self):
        self.expect("task<> f() {\n  rendezvous<> r;\n  const int x = 0;\n"
                    "  auto e = r.make_event(x);\n  e.trigger(3);\n  co_await r;\n}\n",
                    "give a variable that is not const")

    def test_a_raise_with_other_arguments_than_the_topic_has(self):
        topic = "struct asked : topic<int, std::string> {};\n"
        for call in ("b.raise<asked>(1)", 'b.raise<asked>("x", 2)'):
            self.expect(topic + f"void f(bus& b) {{ {call}; }}\n",
                        "is given other arguments than topic<...> says")

    def test_an_id_of_another_type(self):
        self.tells('rendezvous<int> r; int x; auto e = r.make_event("a", x);',
                   "the first arguments of make_event() are the event's ids")
        self.tells("rendezvous<int, int> r; auto e = r.make_event(1);",
                   "give make_event() a value for each, then the slots")

    def test_a_value_where_a_variable_is_stored_in(self):
        self.tells("rendezvous<> r; auto e = r.make_event(3);",
                   "a slot in make_event() is a variable")
        self.tells("twait { auto e = mkevent(3); }", "mkevent() stores values in variables")

    def test_a_trigger_with_other_values(self):
        for call in ('e.trigger("text")', 'e("text")', "e.trigger()", "e(1, 2)"):
            self.tells(f"event<int> e; {call};",
                       "give values for what event<...> names, and no others")

    def test_mkevent_outside_of_twait(self):
        self.tells("int x = 0; auto e = mkevent(x);", "mkevent() stands in the braces of twait")
        self.tells("auto e = mkevent();", "mkevent() stands in the braces of twait")

    def test_a_forgotten_co_await(self):
        ask = "task<int> ask();\ntask<bool> test();\n"
        self.tells("ask();", "does nothing until it is awaited or spawned: write co_await", ask,
                   fails=False)
        self.tells("numbers.pop();", "co_await it", fails=False)
        self.tells("with_timeout(ask(), 1s);", "co_await it", ask, fails=False)
        self.tells("int n = ask(); static_cast<void>(n);", "write co_await before the call", ask)
        self.tells("if (test()) {}", "write co_await before it", ask)

    def test_a_task_that_is_awaited_by_name(self):
        ask = "task<int> ask();\n"
        for use in ("co_await t", "co_await any(t, ask())", "co_await with_timeout(t, 1s)"):
            self.tells(f"auto t = ask(); {use};", "awaiting uses a task up: write std::move(t)",
                       ask)

    def test_a_function_where_its_call_is_meant(self):
        for use in ("co_await f", "co_await all(f, sleep_for(1s))", "co_await with_timeout(f, 1s)",
                    "co_await select(f, sleep_for(1s))", "co_await as_expected(f)"):
            self.tells("int n = 0; auto f = [&]() -> task<> { ++n; co_return; }; " + use + ";",
                       "this is a function, not a call of it")

    def test_a_value_that_is_awaited(self):
        self.tells("co_await 3;", "this cannot be awaited")

    def test_a_task_without_co(self):
        for compiler, words in (("clang++-19", "non-void function does not return a value"),
                                ("g++-12", "no return statement in function returning non-void")):
            if compiler in COMPILERS:
                self.tells("", words, "task<> ends_without_a_value() {}\n", [compiler],
                           fails=False)

    def test_a_bit_field_as_a_result(self):
        fields = ("struct fields { unsigned n : 3; bool b : 1; };\n"
                  "task<unsigned> a(fields& f) { co_return f.n; }\n"
                  "task<bool> b(fields& f) { co_return f.b; }\n"
                  "task<std::optional<unsigned>> c(fields& f) { co_return f.n; }\n")
        for compiler in COMPILERS:
            with self.subTest(compiler=compiler):
                self.assertEqual(errors(compiler, fields), (0, ""))

    def test_an_older_standard_is_one_error(self):
        """From each public header that uses what C++20 lacks, and from the umbrella."""
        newer = re.compile(r"std::(expected|unexpected|move_only_function|unreachable)|heddle\.hh")
        names = [p.relative_to(ROOT / "include") for p in (ROOT / "include/heddle").rglob("*.hh")
                 if p.name == "heddle.hh" or newer.search(p.read_text("utf-8"))]
        for compiler in COMPILERS:
            for name in sorted(names) if compiler == COMPILERS[0] else ["heddle/heddle.hh"]:
                with self.subTest(compiler=compiler, header=str(name)):
                    done = subprocess.run([compiler, "-std=c++20", "-Iinclude", "-fsyntax-only",
                                           "-x", "c++", "-"], input=f"#include <{name}>\n",
                                          capture_output=True, text=True, cwd=ROOT, timeout=60)
                    said = [line for line in done.stderr.splitlines() if "error: " in line]
                    self.assertEqual(len(said), 1, done.stderr[:2000])
                    self.assertIn("Heddle needs C++23: compile with -std=c++23", said[0])

    def test_the_body_of_a_scope(self):
        self.tells("co_await with_scope([](int) -> task<> { co_return; });",
                   "let the body take scope& first")
        self.tells("co_await with_scope([](scope&) {});", "write -> task<> before its brace")

    def test_the_handlers_of_select(self):
        self.tells("co_await select(on(numbers.pop(), [](std::string) {}));",
                   "the handler in on() does not take the value")
        self.tells("co_await select(on(numbers.pop(), [](int n) { return n; }), "
                   "on(sleep_for(1s), [] {}));", "give values of types that have nothing in common")

    def test_a_temporary_closure_that_gcc_12_would_destroy_twice(self):
        use = "std::string s; co_await with_scope([s](scope&) -> task<> { co_return; });"
        if "g++-12" in COMPILERS:
            self.tells(use, "name the lambda first", compilers=["g++-12"])


if __name__ == "__main__":
    unittest.main()
