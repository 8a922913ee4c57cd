# SPDX-License-Identifier: MIT
"""Temporaries in co_await expressions, which GCC 12 destroys twice: gcc12_arguments.toml lists what
each public function does about them. The table is complete, and each of its lines is compiled with
both compilers and run at every level of optimization."""

import os
import pathlib
import subprocess
import tempfile
import tomllib
import unittest

import awaited_functions
import users_program

HERE = pathlib.Path(__file__).resolve().parent
USES = tomllib.loads((HERE / "gcc12_arguments.toml").read_text("utf-8"))["use"]
HEAD = """#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <heddle/acme/keeper.hh>
#include <heddle/client/client.hh>
#include <heddle/client/connect.hh>
#include <heddle/core/hedged.hh>
#include <heddle/core/select.hh>
#include <heddle/fiber/fiber.hh>
#include <heddle/heddle.hh>
#include <heddle/io/blocking.hh>
#include <heddle/io/tcp.hh>
#include <heddle/io/with_signal.hh>
#include <heddle/nats/jetstream.hh>
#include <heddle/sync/atomically.hh>
#include <heddle/sync/channel.hh>
#include <heddle/sync/shared_channel.hh>
#include <heddle/sync/windowed.hh>
#include <heddle/web/page.hh>
#include <heddle/web/server.hh>
#include <heddle/web/websocket.hh>
#include <csignal>
using namespace heddle;
using namespace std::chrono_literals;

// Knows each of its objects, so that one that ends twice is seen; it owns memory, too.
class captured {
 public:
  captured() { living.insert(this); }
  captured(const captured& other) : text_(other.text_) { living.insert(this); }
  captured(captured&& other) noexcept : text_(std::move(other.text_)) { living.insert(this); }
  captured& operator=(captured&& other) noexcept = default;
  ~captured() { wrong += living.erase(this) != 1; }
  int value() const { return static_cast<int>(text_.size()); }
  static inline std::set<const captured*> living;
  static inline int wrong = 0;

 private:
  std::string text_ = std::string(100, 'x');
};
struct note {
  captured kept;
};
struct wait_with {  // an awaitable that is an aggregate
  captured kept;
  bool await_ready() { return true; }
  void await_suspend(std::coroutine_handle<>) {}
  void await_resume() { static_cast<void>(kept.value()); }
};
std::string long_text() { return std::string(100, 'y'); }
task<> takes(std::string text, captured) {
  if (text.size() == 100) co_await sleep_for(1ms);
}
task<std::string> text_of(std::string text) { co_return text; }
std::vector<task<int>> tasks(captured c) {
  std::vector<task<int>> made;
  made.push_back([](captured kept) -> task<int> { co_return kept.value(); }(c));
  return made;
}
task<http::response> greet(http::request&) { co_return http::response(200); }
task<> talk(http::websocket) { co_return; }
const std::vector<std::string> three(3, long_text());
// These are only compiled.
http::request& asked() { std::abort(); }
http::websocket& socket() { std::abort(); }
acme::keeper& keeper() { std::abort(); }
acme::authority& authority() { std::abort(); }
http::page& layout() { std::abort(); }
std::vector<http::page_part> parts() { std::abort(); }
nats::connection& nats_servers() { std::abort(); }
nats::jetstream& nats_kept() { std::abort(); }
"""
MAIN = """
int main() {
  for (int round = 0; round < 3; ++round) {
    runtime rt;
    CASES
  }
  if (captured::wrong != 0 || !captured::living.empty())
    std::printf("%d ended twice, %zu never\\n", captured::wrong, captured::living.size());
  return captured::wrong != 0 || !captured::living.empty();
}
"""


def case(number, text):
    return f"task<> case_{number}(captured c) {{\n  static_cast<void>(c);\n  {text}\n}}\n"


def program(lines):
    """A program that runs these (text, whether it runs) in turn, and says which one went wrong."""
    made = HEAD
    for number, (text, _) in enumerate(lines):
        made += case(number, text)
    cases = ""
    for number, (text, runs) in enumerate(lines):
        if runs:
            cases += (f"    rt.run(case_{number}({{}}));\n"
                      f'    if (captured::wrong) return std::puts(R"({text})"), 1;\n')
        else:  # nothing calls it, but the compiler makes it
            made += f"auto* const compiled_{number} = &case_{number};\n"
    return made + MAIN.replace("CASES", cases)


class Table(unittest.TestCase):
    def test_every_function_has_its_line(self):
        listed = {use["function"] for use in USES}
        declared = set(awaited_functions.functions())
        self.assertEqual(declared - listed, set(), "add their lines to gcc12_arguments.toml: do "
                         "their arguments survive GCC 12 as temporaries of a co_await expression?")
        self.assertEqual(listed - declared, set(), "these are no such functions any more")

    def test_default_arguments_are_made_by_constructors(self):
        # `= {}` makes an aggregate of which GCC 12 destroys the members twice; `= options()` not.
        self.assertEqual(awaited_functions.braced_defaults(), [])


class Temporaries(unittest.TestCase):
    def test_gcc_12_refuses_with_the_remedy_what_it_would_destroy_twice(self):
        if "g++-12" not in users_program.COMPILERS:
            self.skipTest("no GCC 12 here")
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "head.hh").write_text(HEAD, "utf-8")
            flags = ["-std=c++23", f"-I{users_program.ROOT / 'include'}", "-fsyntax-only"]
            made = subprocess.run(["g++-12", *flags[:2], "-x", "c++-header", "head.hh", "-o",
                                   "head.hh.gch"], cwd=folder, capture_output=True, text=True)
            self.assertEqual(made.returncode, 0, made.stderr)
            for number, use in enumerate(USES):
                words = {"refused": "GCC 12 would destroy", "list": "array used as initializer"}
                if use["verdict"] not in words:
                    continue
                with self.subTest(use=use["temporary"]):
                    done = subprocess.run(
                        ["g++-12", *flags, "-include", "head.hh", "-x", "c++", "-"], cwd=folder,
                        input=case(number, use["temporary"]), capture_output=True, text=True,
                        env=os.environ | {"LC_ALL": "C"})
                    self.assertNotEqual(done.returncode, 0, "GCC 12 takes it")
                    self.assertIn(words[use["verdict"]],
                                  "\n".join(done.stderr.splitlines()[:40]))

    def runs(self, compiler, lines):
        for level in users_program.LEVELS:
            with self.subTest(compiler=compiler, level=level):
                with tempfile.TemporaryDirectory() as folder:
                    status, said = users_program.ran(compiler, pathlib.Path(folder),
                                                     program(lines), level)
                self.assertEqual(status, 0, said)

    def test_what_gcc_12_takes_is_right_at_every_level(self):
        lines = [(use["temporary"], use.get("run", True)) for use in USES
                 if use["verdict"] == "safe"]
        lines += [(use["named"], use.get("run", True)) for use in USES if "named" in use]
        if "g++-12" in users_program.COMPILERS:
            self.runs("g++-12", lines)

    def test_clang_takes_all_of_them_at_every_level(self):
        lines = [(use[key], use.get("run", True)) for use in USES for key in ("temporary", "named")
                 if key in use]
        if "clang++-19" in users_program.COMPILERS:
            self.runs("clang++-19", lines)


if __name__ == "__main__":
    unittest.main()
