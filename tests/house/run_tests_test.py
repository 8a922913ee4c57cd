# SPDX-License-Identifier: MIT
"""scripts/run_tests runs failed tests again alone, passes what is flaky, and reports both."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRESETS = json.dumps({
    "version": 6,
    "configurePresets": [{"name": "toy", "generator": "Ninja",
                          "binaryDir": "${sourceDir}/build/${presetName}"}],
    "testPresets": [{"name": "toy", "configurePreset": "toy",
                     "output": {"outputOnFailure": True}}]})
GTEST = "echo '[  FAILED  ] lane.a page is read, once (3 ms)'; echo ' 1 FAILED TEST'; "
# Fails the first time in a folder, then passes.
FLAKY = "echo tried >>tried; " + GTEST + "test $(wc -l <tried) -gt 1"
GOOD = {"base": ("exit 0", "LABELS base"), "io": ("exit 0", "LABELS io"),
        "newcomer_1": ("exit 0", "LABELS io"), "house_tidy": ("exit 0", "LABELS house"),
        "docs": ("exit 0", "LABELS house")}


def quoted(text):
    return f"[==[{text}]==]"


class Run:
    """One run on a made-up preset: exit status, output, rows of the report, names that ran."""

    def __init__(self, tests, *words, known="", **environment):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "CMakePresets.json").write_text(PRESETS)
            (root / "build/toy").mkdir(parents=True)
            (root / "tests").mkdir()
            (root / "tests/flaky.txt").write_text(known)
            with open(root / "build/toy/CTestTestfile.cmake", "w", encoding="utf-8") as file:
                for name, (command, *properties) in tests.items():
                    command = f"echo {name} >>ran; {command}"
                    file.write(f"add_test({name} bash -c {quoted(command)})\n")
                    file.write(f"set_tests_properties({name} PROPERTIES WORKING_DIRECTORY "
                               f"{quoted(folder)} {' '.join(properties)})\n")
            # What CI sets for its own run is not for this one.
            own = {name: value for name, value in os.environ.items()
                   if not name.startswith(("HEDDLE_", "CTEST_", "GTEST_"))}
            done = subprocess.run(
                [ROOT / "scripts/run_tests", "--root", root, "toy", *words],
                env=own | {"HEDDLE_TEST_REPORT": str(root / "report")} | environment,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.status, self.output = done.returncode, done.stdout
            report, ran = root / "report", root / "ran"
            self.rows = [json.loads(line) for line in report.read_text().splitlines()] \
                if report.exists() else []
            self.ran = ran.read_text().split() if ran.exists() else []

    @property
    def last(self):
        return self.output.rstrip().splitlines()[-1]


class RunTests(unittest.TestCase):
    def test_what_passes_runs_once_and_reports_nothing(self):
        run = Run(GOOD)
        self.assertEqual((run.status, run.rows), (0, []), run.output)
        self.assertEqual(sorted(run.ran), sorted(GOOD))
        self.assertIn("tests: toy: 5 of 5 passed", run.last)

    def test_what_always_fails_runs_three_times_and_fails(self):
        lines = "; ".join(f"echo line {i}." for i in range(40))
        run = Run(GOOD | {"bad": (f"echo 'SUMMARY: a race'; {lines}; {GTEST} exit 1",)})
        self.assertEqual(run.status, 1)
        self.assertEqual(run.ran.count("bad"), 3)
        self.assertIn("1 failed", run.last)
        (row,) = run.rows
        self.assertEqual((row["test"], row["result"], row["preset"], row["runs"], row["cases"]),
                         ("bad", "failed", "toy", 3, ["lane.a page is read, once"]))
        self.assertEqual((len(row["tail"]), row["tail"][0]), (30, "line 12."))
        self.assertEqual(row["telling"], ["SUMMARY: a race"])
        end = run.output[run.output.rindex("FAILED bad"):]
        self.assertIn("    ! SUMMARY: a race", end)
        self.assertIn("    | line 39.", end)
        self.assertNotIn("line 11.", end)

    def test_what_passes_when_alone_is_flaky_and_passes(self):
        run = Run(GOOD | {"net": (FLAKY,)})
        self.assertEqual((run.status, run.ran.count("net")), (0, 2), run.output)
        (row,) = run.rows
        self.assertEqual((row["test"], row["result"], row["known"]), ("net", "flaky", False))
        self.assertEqual(row["cases"], ["lane.a page is read, once"])
        end = run.output[run.output.rindex("FLAKY net"):]
        self.assertIn("    | [  FAILED  ] lane.a page is read, once (3 ms)", end)
        self.assertIn("!!! net IS FLAKY AND tests/flaky.txt DOES NOT LIST IT", end)
        self.assertNotIn("% tests passed", end)
        self.assertIn("6 of 6 passed (1 of them flaky), 0 failed", run.last)

    def test_a_process_that_is_left_behind_fails_the_run(self):
        run = Run(GOOD | {"net": ("(sleep 1000 >/dev/null 2>&1 &); exit 0",)})
        self.assertEqual(run.status, 1, run.output)
        self.assertIn("tests: LEFT BEHIND by a test: sleep 1000\n", run.output)
        self.assertIn("6 of 6 passed", run.last)
        ends = Run(GOOD | {"net": ("(sleep 1 >/dev/null 2>&1 &); exit 0",)})
        self.assertEqual(ends.status, 0, ends.output)

    def test_a_listed_flaky_test_is_named_without_the_loud_line(self):
        for known in ("net # since today\n", "# x\nnet lane.a page is read, once\n"):
            run = Run({"net": (FLAKY,)}, known=known)
            self.assertTrue(run.rows[0]["known"])
            self.assertIn("FLAKY net", run.output)
            self.assertNotIn("!!!", run.output)
        for known in ("# net\n", "net lane.other\n", "network\n"):
            self.assertIn("!!!", Run({"net": (FLAKY,)}, known=known).output)

    def test_a_failed_test_runs_again_with_nothing_beside_it(self):
        body = ("echo begin {0} >>ran; sleep 0.3; echo end {0} >>ran; "
                "test $(grep -c end.{0} ran) -gt 1")
        run = Run({name: (body.format(f"with-{name}"),) for name in "ab"}, "-j", "2")
        self.assertEqual(run.status, 0, run.output)
        self.assertEqual(" ".join(run.ran[-10:]),
                         "a begin with-a end with-a b begin with-b end with-b")

    def test_a_timeout_is_a_failure(self):
        run = Run({"slow": ("echo waiting; sleep 3", "TIMEOUT 0.2")})
        self.assertEqual((run.status, run.ran.count("slow")), (1, 3), run.output)
        self.assertIn("timed out after 0.2 s", run.rows[0]["why"])
        self.assertEqual(run.rows[0]["tail"], ["waiting"])

    def test_a_missing_program_is_a_failure_and_a_skipped_test_is_none(self):
        run = Run({"skipped": ("exit 77", "SKIP_RETURN_CODE 77")})
        self.assertEqual((run.status, run.rows), (0, []), run.output)
        run = Run({"gone": ("", "REQUIRED_FILES /nowhere/at_all")})
        self.assertEqual((run.status, [row["test"] for row in run.rows]), (1, ["gone"]))

    def test_many_failures_do_not_run_again(self):
        run = Run({f"t{i}": ("exit 1",) for i in range(11)})
        self.assertEqual((run.status, len(run.ran), len(run.rows)), (1, 11, 11))

    def test_cases_of_unittest_are_named(self):
        run = Run({"py": ("echo 'FAIL: test_x (m.C)'; echo 'ERROR: test_y (m.C)'; exit 1",)})
        self.assertEqual(run.rows[0]["cases"], ["test_x (m.C)", "test_y (m.C)"])

    def test_rooms_choose_labels_and_leave_out_what_needs_the_whole_build(self):
        self.assertEqual(Run(GOOD, "--rooms", "io").ran, ["io"])
        run = Run(GOOD, "--not-rooms", "io base")
        self.assertEqual(sorted(run.ran), ["docs", "house_tidy", "newcomer_1"])

    def test_what_an_earlier_gate_ran_is_left_out_in_its_preset_only(self):
        run = Run(GOOD, HEDDLE_TESTED="toy:io toy:test:house other:base")
        self.assertEqual(sorted(run.ran), ["base", "docs", "newcomer_1"])
        run = Run({"io": GOOD["io"]}, HEDDLE_TESTED="toy:io")
        self.assertEqual((run.status, run.ran), (0, []), run.output)

    def test_options_for_ctest_choose_too(self):
        self.assertEqual(Run(GOOD, "--", "-R", "^(io|docs)$", "-E", "docs").ran, ["io"])

    def test_no_tests_is_an_error(self):
        for words in (["--", "-R", "nothing"], ["--rooms", "web"]):
            run = Run(GOOD, *words)
            self.assertEqual((run.status, run.ran), (2, []))
            self.assertIn("tests: ERROR: preset toy has no", run.last)

    def test_a_ctest_that_ends_early_is_an_error(self):
        run = Run({"killer": ("kill -9 $PPID",)})
        self.assertEqual(run.status, 2, run.output)
        self.assertIn("ERROR: ctest ended with status", run.last)

    def test_soaks_run_in_a_shard_of_their_own(self):
        tests = {"soak": ('echo "shard=$GTEST_SHARD_INDEX/$GTEST_TOTAL_SHARDS" >>ran',),
                 "io": ('echo "io=$GTEST_TOTAL_SHARDS" >>ran',)}
        self.assertEqual(sorted(Run(tests, HEDDLE_SOAK="1/3").ran),
                         ["io", "io=", "shard=1/3", "soak"])
        self.assertIn("shard=/", Run(tests).ran)


if __name__ == "__main__":
    unittest.main()
