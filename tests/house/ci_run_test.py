# SPDX-License-Identifier: MIT
""".ci/run with programs that only note their names: the order of gates, what stops the run, and
the closing lines, which come before ctest's summary."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Notes its name and words, and fails if $FAIL matches them.
NOTE = """#!/bin/bash
said="${0##*/} $*"
echo "$said${HEDDLE_SOAK:+ soak}${HEDDLE_TESTED:+ without$HEDDLE_TESTED}" >>calls
if [[ -n ${FAIL:-} && $said =~ $FAIL ]]; then
  for i in {1..40}; do echo "line $i of $said"; done
  echo "x.cc:1:2: error: no semicolon" | tee >(cat >&2) >/dev/null
  exit 3
fi
"""
# A gate that runs tests: adds to the report as scripts/run_tests does.
REPORT = """#!/bin/bash
echo "check $*" >>calls
row() {
  cat <<END >>"$HEDDLE_TEST_REPORT"
{"preset": "$1", "gate": "$HEDDLE_CI_GATE", "test": "$2", "result": "$3", "runs": 3,\
 "known": false, "telling": ["SUMMARY: a race"], "why": "timed out after 9 s",\
 "cases": ["lane.a page"], "tail": ["last words of $2"]}
END
}
[[ $* != "asan"* ]] || row asan net flaky
[[ $* != "tsan"* ]] || { row tsan io failed; exit 1; }
"""
CHEAP = ["tidy ", "includes --since base", "check gcc --build-only", "check release --build-only",
         "check release --since base"]
STOPS = ["setup", "tidy", "house", "includes", "gcc", "build", "changed"]
LATER = ["test", "serve", "asan", "tsan", "rules", "fuzz", "hunt", "instructions",
         "bench"]


class Run:
    """One run in a made-up tree: exit status, lines, and the programs that were called."""

    def __init__(self, *words, check=NOTE, rooms="io web", fail="", house="pass"):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "bin").mkdir()
            (root / "scripts").mkdir()
            (root / "tests/house").mkdir(parents=True)
            (root / "tests/house/x_test.py").write_text(
                f"import unittest\nclass X(unittest.TestCase):\n  def test_x(self):\n    {house}\n")
            (root / ".ci").mkdir()
            for name in ("run", "gate", "closing"):
                shutil.copy(ROOT / ".ci" / name, root / ".ci" / name)
            programs = {f"scripts/{name}": NOTE for name in (
                "tidy", "includes", "mutate", "fuzz", "hunt", "gates", "package_shared", "cross")}
            programs |= {".ci/quiet": '#!/bin/bash\n"$@"\n', ".ci/serve": NOTE,
                         ".ci/bench": NOTE, "bin/make": NOTE, "scripts/setup": "#!/bin/bash\n",
                         "scripts/check": check,
                         "scripts/affected": f"#!/bin/bash\nprintf '{rooms}\\n'\n"}
            for name, text in programs.items():
                (root / name).write_text(text)
                (root / name).chmod(0o755)
            own = {name: value for name, value in os.environ.items()
                   if not name.startswith(("HEDDLE_", "CTEST_"))}
            own |= {"PATH": f"{root / 'bin'}:{own['PATH']}", "FAIL": fail,
                    "HEDDLE_CI_STATE": str(root / "state")}
            done = subprocess.run(["bash", ".ci/run", *words], cwd=root, env=own, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
            self.status, self.output = done.returncode, done.stdout
            self.lines = done.stdout.rstrip().splitlines()
            calls = root / "calls"
            self.calls = calls.read_text().splitlines() if calls.exists() else []

    def result(self, gate):
        """What the table says of a gate."""
        table = self.output[self.output.index("seconds  budget"):]
        line = next(line for line in table.splitlines() if line.split()[:1] == [gate])
        return " ".join(line.split()[3:])


class CiRun(unittest.TestCase):
    def test_gates_run_in_order_and_the_last_lines_are_the_summary(self):
        run = Run()
        self.assertEqual(run.status, 0, run.output)
        called = [call.split(" soak")[0].split(" without")[0] for call in run.calls]
        self.assertEqual(called[:8], CHEAP + ["make test", "serve ", "check asan --since base"])
        self.assertEqual([call.split()[0] for call in called[8:]],
                         ["check", "mutate", "fuzz", "hunt", "gates", "bench"])
        for gate in STOPS + LATER:
            self.assertEqual(run.result(gate), "passed", gate)
        self.assertIn("100% tests passed, 0 tests failed out of 17", run.lines[-3])
        self.assertLess(len(run.lines), 70)

    def test_make_test_leaves_out_what_ran_before(self):
        call = next(call for call in Run().calls if call.startswith("make test"))
        self.assertIn("check release --since base soak", Run().calls)
        self.assertEqual(call, "make test soak without release:test:tidy release:test:house "
                               "release:io release:web")
        alone = Run("test")
        self.assertEqual(alone.calls, ["make test soak"])

    def test_each_cheap_gate_that_fails_keeps_all_later_ones_from_running(self):
        fails = {"tidy": "^tidy", "includes": "^includes", "gcc": "^check gcc",
                 "build": "^check release --build", "changed": "^check release --since"}
        for gate, fail in fails.items():
            with self.subTest(gate=gate):
                run = Run(fail=fail)
                self.assertNotEqual(run.status, 0)
                self.assertEqual(len(run.calls), list(fails).index(gate) + 1, run.calls)
                self.assertEqual(run.result(gate), "FAILED with status 3")
                for later in STOPS[STOPS.index(gate) + 1:] + LATER:
                    self.assertEqual(run.result(later), "not run")
                self.assertIn(f"failed gates: {gate}", run.lines)
                self.assertRegex(run.output, r"\d+% tests passed, \d+ tests failed out of 17")

    def test_house_tests_that_fail_stop_the_run(self):
        run = Run(house="self.fail('no beam')")
        self.assertNotEqual(run.status, 0)
        self.assertEqual(run.calls, ["tidy "])
        self.assertIn("no beam", run.output)

    def test_house_tests_need_no_build(self):
        # The gate runs before anything is built; tests/compilers is for those that link libraries.
        words = re.compile("HEDDLE_" + "BUILD|build/" + "release|libheddle" + "_"
                           "|import users" + "_")
        for path in sorted((ROOT / "tests/house").glob("*.py")):
            with self.subTest(path.name):
                self.assertIsNone(words.search(path.read_text("utf-8")))

    def test_a_later_gate_that_fails_stops_nothing_and_its_log_ends_the_output(self):
        run = Run(fail="^make")
        self.assertNotEqual(run.status, 0)
        self.assertEqual(run.calls[-1].split()[0], "bench")
        self.assertEqual(run.result("test"), "FAILED with status 3")
        self.assertEqual(run.result("bench"), "passed")
        shown = [line for line in run.lines if " of make test" in line]
        self.assertEqual(len(shown), 29, run.output)  # and the compiler's line
        self.assertLess(run.output.index("error: no semicolon"), run.output.index("% tests passed"))

    def test_failed_and_flaky_tests_are_named_with_their_output(self):
        run = Run(check=REPORT)
        self.assertNotEqual(run.status, 0)
        self.assertEqual(run.result("tsan"), "FAILED with status 1")
        self.assertEqual(run.result("asan"), "passed")
        for line in ("gate tsan: failed tests: io", "    | last words of io",
                     "    ! SUMMARY: a race", "    | last words of net", "flaky tests: net",
                     "failed gates: tsan"):
            self.assertIn(line, run.lines)
        self.assertIn("!!! net IS NOT IN tests/flaky.txt", run.output)
        self.assertIn("io (preset tsan) failed 3 times: timed out after 9 s", run.lines)

    def test_chosen_gates_do_not_bring_those_before_them(self):
        run = Run("build", "rules")
        self.assertEqual(run.status, 0, run.output)
        self.assertEqual([call.split()[0] for call in run.calls], ["check", "mutate"])
        run = Run("build", "rules", fail="^check")
        self.assertEqual(len(run.calls), 1)
        self.assertEqual(run.result("rules"), "not run")
        run = Run("attic")
        self.assertEqual(run.status, 2)
        self.assertIn("no such gate: attic. There are: setup tidy", run.output)

    def test_all_takes_everything_whole(self):
        run = Run("--all")
        self.assertEqual(run.status, 0, run.output)
        self.assertNotIn("soak", " ".join(run.calls))
        for call in ("check asan", "check tsan", "mutate ", "fuzz -t 600", "hunt --minutes 60",
                     "make bench",
                     "make dist", "includes --all", "package_shared ", "cross "):
            self.assertIn(call, run.calls)
        self.assertTrue(any(call.startswith("make test ALL=1 without") for call in run.calls))

    def test_sanitizers_have_a_larger_budget_for_many_rooms(self):
        few = next(line for line in Run().lines if line.startswith("asan "))
        many = next(line for line in Run(rooms="\\n".join(f"r{i}" for i in range(20))).lines
                    if line.startswith("asan "))
        self.assertEqual((few.split()[2], many.split()[2]), ("125", "600"))

    def test_a_gate_ends_at_its_limit_and_does_not_begin_after_the_end_of_the_run(self):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "build/ci/gcc.log"
            log.parent.mkdir(parents=True)
            own = {name: value for name, value in os.environ.items()
                   if not name.startswith("HEDDLE_")}
            for limit_s, end, words in (("1", {}, "it took longer than 1 s"),
                                        ("9", {"HEDDLE_CI_END": "5"}, "no time is left")):
                done = subprocess.run([ROOT / ".ci/gate", "gcc", limit_s, "sleep", "60"],
                                      cwd=folder, env=own | end, stdout=subprocess.PIPE, text=True)
                self.assertEqual(done.returncode, 1)
                self.assertIn("gcc: FAILED with status 124", done.stdout)
                self.assertIn(words, log.read_text())
                self.assertEqual(log.with_suffix(".result").read_text().split()[1], "124")

    def test_a_gate_over_its_budget_is_named_and_passes(self):
        with tempfile.TemporaryDirectory() as folder:
            ci = pathlib.Path(folder) / "build/ci"
            ci.mkdir(parents=True)
            (ci / "gates").write_text("tidy 10\nfuzz 0\nbench 10\nserve 10\ngcc 10\nasan 9\n")
            (ci / "gcc.result").write_text("12 124\n")
            (ci / "tidy.result").write_text("16 0\n")
            (ci / "fuzz.result").write_text("99 0\n")
            (ci / "bench.result").write_text("15 0\n")
            (ci / "serve.log").write_text("waiting\n")
            own = {name: value for name, value in os.environ.items()
                   if not name.startswith("HEDDLE_")}
            output = subprocess.run([ROOT / ".ci/closing"], cwd=folder, env=own, text=True,
                                    stdout=subprocess.PIPE, check=True).stdout
        self.assertIn("over budget: tidy took 16 s, its budget is 10 s\n", output)
        self.assertEqual(output.count("over budget"), 1)
        self.assertRegex(output, r"tidy +16 +10  passed, over its budget\n")
        self.assertRegex(output, r"fuzz +99 +-  passed\n")
        self.assertRegex(output, r"gcc +12 +10  FAILED: took too long\n")
        self.assertRegex(output, r"asan +- +9  not run\n")
        self.assertRegex(output, r"serve +- +10  FAILED: did not end\n")


if __name__ == "__main__":
    unittest.main()
