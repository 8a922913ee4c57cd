# SPDX-License-Identifier: MIT
"""Each check of scripts/tidy accepts a good tree and finds the fault in a bad one."""

import pathlib
import subprocess
import tempfile
import unittest

from scratch_clone import ScratchClone

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEAD = "// SPDX-License-Identifier: MIT\n// A sample.\n"
HEADER = HEAD + "#pragma once\n"
TABLE = "| room | holds |\n|---|---|\n| `base` | a |\n| `core` | b |\n"

GOOD = {
    ".clang-format": (ROOT / ".clang-format").read_text(),
    "ARCHITECTURE.md": "# Rooms\n\n" + TABLE + "\n[up](#rooms) [core](include/heddle/core)\n",
    "include/heddle/base/list.hh": HEADER + "#include <cstddef>\n",
    "include/heddle/core/task.hh": HEADER + "#include <heddle/base/list.hh>\n",
    "include/heddle/abi.h": HEAD + "#ifndef HEDDLE_ABI_H\n#define HEDDLE_ABI_H\n#endif\n",
    "src/core/task.cc": HEAD + '#include <unistd.h>\n\n#include "core/queue.hh"\n',
    "src/core/queue.hh": HEADER + "struct queue {};\n",
    "tests/core/task_test.cc": HEAD,
    "fuzz/request_fuzz.cc": HEAD,
    "fuzz/corpus/request/get": "GET",
}

# check, what is changed in the good tree, words of the finding
BAD = [
    ("head", {"src/core/task.cc": "// A sample.\nint x;\n"}, "no SPDX"),
    ("head", {"src/core/task.cc": "// SPDX-License-Identifier: MIT\nint x;\n"}, "no head"),
    ("head", {"src/core/task.cc": "// SPDX-License-Identifier: MIT\n// See task.hh.\nint x;\n"},
     "only points"),
    ("head", {"include/heddle/base/list.hh": HEAD}, "no #pragma once"),
    ("head", {"include/heddle/abi.h": HEAD}, "no #pragma once"),
    ("head", {"scripts/run": "#!/bin/sh\necho\n"}, "no SPDX"),
    ("scripts", {"scripts/run": "#!/bin/bash\nx='a packet's way'\necho (y)\n"}, "not bash"),
    ("scripts", {"scripts/run": "#!/bin/sh\nif true; then\n"}, "not sh"),
    ("scripts", {"scripts/run.py": "def f(:\n"}, "not Python"),
    ("columns", {"src/core/task.cc": HEAD + "// " + "x" * 98 + "\n"}, "101 columns"),
    ("lines", {"src/core/task.cc": HEAD + "int x;\n" * 399}, "401 lines"),
    ("minmax", {"src/core/task.cc": HEAD + "const auto [a, b] = std::minmax(g(), h());\n"},
     "a reference to arguments"),
    ("minmax", {"src/core/task.cc": HEAD + "const auto& a = std::max(g(), h());\n"},
     "a reference to arguments"),
    ("flags", {"src/core/task.cc": HEAD + "struct task {\n  bool a = false, b, c;\n  bool d;\n"
               "  bool is() { return a; }\n  std::atomic<bool> e = false;\n};\n"}, "5 booleans"),
    ("flags", {"src/core/task.cc": HEAD + "struct task : base<int> {\n  bool a = f(1), b :\n"
               "      1;\n  std::atomic<bool> c{false};\n  bool d =\n      false;\n"
               "  bool operator==(const task&) const = default;\n  bool e;\n};\n"}, "5 booleans"),
    ("flags", {"src/draft/tree.hh": HEADER + "struct item {\n  bool a, b, c, d, e, f, g, h;\n};\n"},
     "item has 8 booleans"),
    ("flags", {"src/core/task.cc": HEAD + "struct item {\n  bool a, b, c, d, e;\n};\n"},
     "item has 5 booleans"),
    ("headless", {"src/core/task.cc": HEAD + "// nobody waits\n"}, "name the subject"),
    ("headless", {"src/core/task.cc": HEAD + "// the workers stand still\n"}, "name the subject"),
    ("nounless", {"src/core/task.cc": HEAD + "int x;  // of the body\n"}, "begin with its noun"),
    ("nounless", {"src/core/task.cc": HEAD + "\n/// The same at once.\n"}, "begin with its noun"),
    ("nounless", {"include/heddle/base/list.hh": HEADER + "int x;  ///< it is closed\n"},
     "begin with its noun"),
    ("whether", {"include/heddle/base/list.hh": HEADER + "/// The end\n/// has come.\n"
                 "[[nodiscard]] bool over() const noexcept;\n"}, "say whether"),
    ("twice", {f"src/core/{n}.cc": HEAD + "namespace {\nint f(int x) {\n  return x;\n}\n"
               "}  // namespace\n" for n in ("a", "b")}, "f is defined in src/core/a.cc:4, too"),
    ("twice", {"src/core/a.cc": HEAD + "namespace heddle {\nnamespace {\nint f(int x) {\n"
               "  return x;\n}\n}  // namespace\n}  // namespace heddle\n",
               "src/core/b.cc": HEAD + "namespace heddle::detail {\nnamespace {\nint f() {\n"
               "  return 1;\n}\n}  // namespace\n}  // namespace heddle::detail\n"},
     "f is defined in src/core/a.cc:5, too"),
    ("twice", {f"tests/core/{n}.cc": HEAD + "namespace {\n[[noreturn]] void f() {\n}\n"
               "}  // namespace\n" for n in ("a", "b")}, "f is defined in tests/core/a.cc:4, too"),
    ("twice", {"src/core/a.cc": HEAD + "namespace {\nvoid f() {\n}\n}  // namespace\n",
               "src/core/b.cc": HEAD + "namespace {\nstruct f {\n};\n}  // namespace\n"},
     "f is defined in src/core/a.cc:4, too"),
    ("twice", {"src/core/a.cc": HEAD + "namespace {\nint f(const std::string& s) {\n"
               "  return 1;\n}\n}  // namespace\n",
               "src/core/b.cc": HEAD + "namespace {\nint f(std::string_view text) {\n"
               "  return 2;\n}\n}  // namespace\n"},
     "f is defined in src/core/a.cc:4, too"),
    ("marks", {"src/core/task.cc": HEAD + "// TO" "DO: later\n"}, "do it"),
    ("marks", {"docs/page.md": "FIX" "ME\n"}, "do it"),
    ("marks", {"src/core/task.cc": HEAD + "#if " "0\n#endif\n"}, "do it"),
    ("layers", {"include/heddle/base/list.hh": HEADER + "#include <heddle/core/task.hh>\n"},
     "base includes core"),
    ("layers", {"src/core/task.cc": HEAD + '#include "sched/worker.hh"\n'}, "core includes sched"),
    ("layers", {"src/core/task.cc": HEAD + '#include "../io/driver.hh"\n'}, "core includes io"),
    ("layers", {"src/core/task.cc": HEAD + "#include <heddle/heddle.hh>\n"}, "umbrella"),
    ("layers", {"src/attic/task.cc": HEAD}, "no such room: attic"),
    ("private", {"src/io/lane.hh": HEADER, "src/web/server.cc": HEAD + '#include "io/lane.hh"\n'},
     "src/io/lane.hh is room io's own"),
    ("public", {"include/heddle/base/list.hh": HEADER + "#include <sys/socket.h>\n"}, "move"),
    ("public", {"include/heddle/base/list.hh": HEADER + "#include <unistd.h>\n"}, "move"),
    ("public", {"include/heddle/base/list.hh": HEADER + "#include <liburing.h>\n"}, "move"),
    ("public", {"include/heddle/base/list.hh": HEADER + '#include "src/x.hh"\n'}, "not public"),
    ("detail", {"examples/echo.cc": HEAD + "#include <heddle/core/detail/join.hh>\n"}, "promised"),
    ("detail", {"docs/page.md": "#include \"heddle/core/detail/join.hh\"\n"}, "promised"),
    ("waits", {"src/core/task.cc": HEAD + "task<> f() {\n  co_await g(a ? b.c(d) : e.c(d));\n}\n"},
     "choose before"),
    ("dead", {"src/core/lonely.hh": HEADER}, "nobody includes"),
    ("dead", {"tests/core/task_tests.cc": HEAD}, "never built"),
    ("dead", {"fuzz/request.cc": HEAD}, "never built"),
    ("dead", {"fuzz/corpus/answer/get": "GET"}, "no fuzzer"),
    ("links", {"docs/page.md": "[x](nowhere.md)\n"}, "dead link"),
    ("links", {"docs/page.md": "[x](../ARCHITECTURE.md#cellar)\n"}, "no such heading"),
    ("pages", {"docs/a.md": "# A\n", "docs/b.md": "# B\n", "docs/README.md": "[b](b.md)\n"},
     "docs/a.md:1: pages: no page leads here"),
    ("glossary", {"docs/glossary.md": "- **burst**: a.\n- **burst**: b.\n", "docs/README.md":
                  "[x](glossary.md)\n"}, "`burst` is defined in line 1, too"),
    ("glossary", {"docs/glossary.md": "- **peer**: a rival; in room `http`, the client.\n"},
     "one meaning"),
    ("papers", {"docs/page.md": "as paper 0" "02 says\n"}, "by author and year"),
    ("rooms", {"ARCHITECTURE.md": None}, "missing"),
    ("rooms", {"src/io/driver.cc": HEAD}, "the tree has room io"),
    ("rooms", {"ARCHITECTURE.md": TABLE + "| `bus` | c |\n"}, "the table has room bus"),
    ("rooms", {"ARCHITECTURE.md": "| room |\n| `core` |\n| `base` |\n"}, "not in order"),
    ("driver", {"src/core/task.cc": HEAD + "int f() {\n  return ::open(name, 0);\n}\n"},
     "task.cc:4: driver: `open` goes past the driver"),
    ("driver", {"src/core/queue.hh": HEADER + "auto now = std::chrono::system_clock::now();\n"},
     "`system_clock` goes past"),
    ("driver", {"src/core/task.cc": HEAD + "unsigned f() {\n  return std::random_device{}();\n}\n"},
     "`random_device` goes past"),
    ("driver", {"src/core/task.cc": HEAD + "int f() {\n  return ::preadv2(fd, &p, 1, 0, 0);\n}\n"},
     "`preadv2` goes past"),
    ("driver", {"src/core/task.cc": HEAD + "auto f() {\n  return time(nullptr);\n}\n"},
     "`time` goes past"),
    ("driver", {"src/core/task.cc": HEAD + "unsigned f() {\n  return if_nametoindex(name);\n}\n"},
     "`if_nametoindex` goes past"),
    ("driver", {"ARCHITECTURE.md": "# Rooms\n\n" + TABLE +
                "\n| `src/core/task.cc` | `::open` | a reason |\n"}, "does not call `open`"),
    ("globals", {"src/core/task.cc": HEAD + "namespace {\nint count = 0;\n}  // namespace\n"},
     "task.cc:4: globals: `count` is global"),
    ("globals", {"src/core/task.cc": HEAD + "std::atomic<int> hits[2]{};\n"}, "`hits` is global"),
    ("globals", {"src/core/task.cc": HEAD + "int f(int x) {\n  if (x) {\n"
                 "    static std::array<int, size(1)> last{};\n  }\n}\n"}, ":5: globals: `last`"),
    ("globals", {"src/core/task.cc": HEAD + "task& f() {\n  static auto* const all = new task;\n"
                 "  return *all;\n}\n"}, "`all` is global"),
    ("globals", {"src/core/task.cc": HEAD + "void f() {\n  thread_local pool here;\n}\n"},
     "`here` is global"),
    ("globals", {"src/core/task.cc": HEAD + "void f() {\n  static pool here(4, {});\n}\n"},
     "`here` is global"),
    ("globals", {"include/heddle/core/task.hh": HEADER + "template <class T>\nstruct node {\n"
                 "  static inline constinit link<T> first{&one<T>};\n};\n"}, "`first` is global"),
    ("globals", {"src/core/queue.hh": HEADER + "struct node {\n  static node* first;\n};\n",
                 "src/core/task.cc": HEAD + "const char* node::first = nullptr;\n"},
     "task.cc:3: globals: `first` is global"),
    ("globals", {"ARCHITECTURE.md": TABLE + "\n| `src/core/task.cc` | `gone` | c |\n"},
     "src/core/task.cc has no global variable `gone`"),
    ("words", {"docs/page.md": "See https:/" "/files.invalid/x\n"}, "files.invalid"),
    ("words", {"docs/page.md": "on hub.invalid.o" "rg today\n"}, "hub.invalid.o"),
    ("words", {"docs/page.md": "in /ho" "me/me/x\n"}, "path of one machine"),
    ("layout", {"src/core/task.cc": HEAD + "int  x ;\n"}, "make format"),
]


def tidy(changes, *checks, title=None):
    """Runs tidy on the good tree with changes; its exit status and output."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in (GOOD | changes).items():
            if text is not None:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
        if title:
            git = ["git", "-C", root, "-c", "user.name=t", "-c", "user.email=t@localhost"]
            subprocess.run([*git, "init", "-q"], check=True)
            subprocess.run([*git, "add", "-A"], check=True)
            subprocess.run([*git, "commit", "-q", "-m", title], check=True)
        done = subprocess.run([ROOT / "scripts/tidy", "--root", root, *checks],
                              capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


class Clone(ScratchClone):
    """A tree whose second commit is no ancestor of HEAD."""

    def __init__(self, test):
        super().__init__(test, {"README.md": "# A\n"})
        self.write("README.md", "# B\n")
        self.second = self.commit()
        self.git("reset", "-q", "--hard", self.first)

    def tidy(self, *checks):
        done = subprocess.run([ROOT / "scripts/tidy", "--root", self.root, *checks],
                              capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


class TidyTest(unittest.TestCase):
    def test_a_good_tree_has_no_finding(self):
        status, output = tidy({})
        self.assertEqual((status, output), (0, f"tidy: {len(GOOD)} files, nothing to say\n"))

    def test_each_bad_sample_is_found_by_its_check(self):
        for check, changes, words in BAD:
            with self.subTest(check=check, changes=changes):
                status, output = tidy(changes, check)
                self.assertEqual(status, 1, output)
                self.assertIn(f": {check}: ", output)
                self.assertIn(words, output)

    def test_each_check_has_a_bad_sample(self):
        _, usage = tidy({}, "no-such-check")
        known = usage.split("there are ")[1].split(")")[0].split(", ")
        self.assertEqual(sorted(known),
                         sorted({check for check, _, _ in BAD} | {"titles", "base", "flaky"}))

    def test_constants_members_and_locals_are_no_globals(self):
        code = ("constexpr int most = 3;\nconst char* const words[] = {\"a;\", \"b\"};\n"
                "struct node {\n  int count = 0;\n  static constexpr int most = 2;\n"
                "  static node* find(int by = 1);\n};\ntemplate <class T>\nstruct node<T*> {};\n"
                "int f(int x = 2);\nextern int other;\nint g() {\n  int local = 0;\n"
                "  static const auto next = symbol(\"poll\");\n"
                "  for (int i = 0; i < 3; ++i) local++;\n"
                "  return local;\n}\nnode::node() : count(1) {}\nenum class kind { a, b };\n")
        status, output = tidy({"src/core/task.cc": HEAD + code}, "globals")
        self.assertEqual(status, 0, output)

    def test_titles_of_commits_are_checked(self):
        self.assertEqual(tidy({}, "titles", title="core: tasks end")[0], 0)
        self.assertIn("73 characters", tidy({}, "titles", title="core: " + "x" * 67)[1])
        self.assertIn("room: what changes", tidy({}, "titles", title="tasks end")[1])

    def test_the_base_is_an_ancestor(self):
        clone = Clone(self)
        self.assertIn("missing or empty: run scripts/begin", clone.tidy("base")[1])
        for text, words in (("", "missing"), (clone.first[:12], "no single full hash"),
                            (f"{clone.first}\n{clone.first}", "no single full hash"),
                            ("0" * 40, "not in this clone"), (clone.second, "no ancestor")):
            clone.write(".ci/base", text + "\n")
            status, output = clone.tidy("base")
            self.assertEqual(status, 1, text)
            self.assertIn(words.replace("no ancestor", "not an ancestor of HEAD"), output)
        clone.write(".ci/base", clone.first + "\n")
        self.assertEqual(clone.tidy("base")[0], 0)
        self.assertEqual(tidy({}, "base")[0], 0)  # no clone

    def test_the_list_of_flaky_tests_only_shrinks(self):
        clone = Clone(self)
        clone.write(".ci/base", clone.first + "\n")
        self.assertEqual(clone.tidy("flaky")[0], 0)
        clone.write("tests/flaky.txt", "# x\n\nnet\n")
        self.assertIn("1 entries, 0 at .ci/base", clone.tidy("flaky")[1])
        clone.write(".ci/base", clone.commit() + "\n")
        self.assertEqual(clone.tidy("flaky")[0], 0)
        clone.write("tests/flaky.txt", "net\nio\n")
        self.assertIn("2 entries, 1 at .ci/base", clone.tidy("flaky")[1])
        clone.write("tests/flaky.txt", "# net\n")
        self.assertEqual(clone.tidy("flaky")[0], 0)

    def test_the_order_of_rooms_is_the_designs(self):
        up = {"src/cli/main.cc": HEAD + "#include <heddle/web/server.hh>\n#include "
              "<heddle/heddle.hh>\n"}
        self.assertEqual(tidy(up, "layers")[0], 0)


if __name__ == "__main__":
    unittest.main()
