# SPDX-License-Identifier: MIT
"""heddle optimize with --check and --run: a shell script stands for the merged program. It works
longer if one topic is merged and shorter if the other is, by what HEDDLE_BUS_GENERIC switches off.
"""

import json
import pathlib
import tempfile
import unittest

from program import run

GOOD, BAD = "0000000000000011", "0000000000000022"
PROFILE = f"""heddle-bus-profile 1
compiler clang 19
topic {GOOD} 100 0 plain app::good
topic {BAD} 100 0 plain app::bad
handler 00000000000000a0 0 100 0 &app::f
handler 00000000000000a1 0 100 0 &app::g
sequence 0 100 0
sequence 1 100 1
dropped 0
end 9
"""
MARKS = "# heddle-hot-handler:00000000000000a0:0; heddle-hot-handler:00000000000000a1:0;"
PROGRAM = f"""#!/bin/sh
{MARKS}
echo "$@" >> "$0.arguments"
turns=40000
case "$HEDDLE_BUS_GENERIC" in
all) turns=60000;;
*{GOOD}*) turns=80000;;
*{BAD}*) turns=20000;;
esac
while [ $turns -gt 0 ]; do turns=$((turns-1)); done
"""


class Optimize(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.profile = pathlib.Path(folder.name, "app.prof")
        self.profile.write_text(PROFILE)
        self.slower = pathlib.Path(folder.name, "app.prof.slower")
        self.program = pathlib.Path(folder.name, "app")
        self.program.write_text(PROGRAM)
        self.program.chmod(0o700)

    def optimize(self, *words):
        return run("optimize", self.profile, "--theta", "1", *words)

    def measure(self, *words):
        return self.optimize("--check", self.program, "--run", "--film short", "--rounds", "5",
                             *words)

    def test_a_measurement_names_gains_and_leaves_the_slower_topic_out_of_the_next_plan(self):
        code, out, err = self.measure()
        self.assertEqual((code, err.splitlines()[0]),
                         (0, f"heddle: 2 of 2 handlers of the plan are in {self.program}"))
        self.assertRegex(out, r"^merged \d+\.\d\d ms, original \d+\.\d\d ms")
        self.assertRegex(out, r"(?m)^ +\d+\.\d\d +0 of 5 +app::good$")
        self.assertRegex(out, r"(?m)^ +-\d+\.\d\d +5 of 5 +app::bad \(slower: left out\)$")
        self.assertIn(f"{self.slower}: the next build leaves these topics out", out)
        runs = pathlib.Path(f"{self.program}.arguments").read_text().splitlines()
        self.assertEqual(set(runs), {"--film short"})
        self.assertGreaterEqual(len(runs), 5 * 4)

        fields = self.slower.read_text().rstrip("\n").split("\t")
        self.assertEqual((fields[0], fields[2]), (BAD, "app::bad"))
        self.assertTrue(fields[1].startswith("slower by "))
        header = self.profile.parent / "plan.hh"
        code, out, err = self.optimize("--header", header)
        self.assertEqual((code, err), (0, ""))
        self.assertIn("app::good", header.read_text())
        self.assertNotIn(BAD, header.read_text())
        self.assertRegex(out, "app::bad.*slower by ")

    def test_the_result_for_programs_is_JSON_and_strict_makes_a_loss_an_error(self):
        code, out, _ = self.measure("--json", "--strict")
        self.assertEqual(code, 1)
        seen = json.loads(out)
        self.assertEqual((seen["schema"], seen["rounds"]), (1, 5))
        self.assertEqual([(c["topics"], c["left_out"]) for c in seen["chains"]],
                         [(["app::good"], False), (["app::bad"], True)])

    def test_mistakes_say_what_to_do(self):
        code, _, err = self.optimize("--run", "x")
        self.assertEqual(code, 1)
        self.assertIn("--run: name the merged program, too: --check PROGRAM", err)
        self.program.write_text(f"#!/bin/sh\n{MARKS}\nexit 3\n")
        code, _, err = self.measure()
        self.assertEqual(code, 1)
        self.assertIn(f"{self.program}: the run to measure ended with status 3", err)
        self.slower.write_text("nonsense\n")
        code, _, err = self.optimize()
        self.assertEqual(code, 1)
        self.assertIn(f"{self.slower}, ", err)
        self.assertIn("line 1: not `hash, reason, topic` with tabs between", err)


if __name__ == "__main__":
    unittest.main()
