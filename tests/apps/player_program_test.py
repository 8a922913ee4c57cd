# SPDX-License-Identifier: MIT
"""apps/player as its users run it. $PLAYER is the program."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM = os.path.abspath(os.environ.get("PLAYER", "build/release/apps/player"))


def run(*words):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=30)


def fnv1a(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 & (1 << 64) - 1
    return f"{value:016x}"


class Player(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.film = pathlib.Path(self.folder.name) / "film"
        self.film.write_bytes(bytes(i * 7919 >> 5 & 255 for i in range(200_000)))

    def test_a_film_is_shown_whole_on_a_lossy_way(self):
        done = run(self.film, "--loss", 0.05, "--fps", 500, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertTrue(found["whole"])
        self.assertEqual(found["digest"], fnv1a(self.film.read_bytes()))
        self.assertEqual(found["digest"], found["expected"])
        self.assertGreater(found["dropped"], 0)

    def test_a_composition_without_acks_may_lose_frames_and_says_so(self):
        done = run(self.film, "--loss", 0.2, "--fps", 500, "--json", "--protocols", "parity")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertFalse(found["whole"])
        self.assertEqual(found["frames"], found["frames_shown"] + found["frames_lost"])
        self.assertIn("NOT the file", run(self.film, "--loss", 0.2, "--fps", 500, "--protocols",
                                          "parity").stdout)

    def test_times_are_those_of_the_raises_from_outside(self):
        done = run(self.film, "--fps", 500, "--json", "--times")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertTrue(found["whole"])
        raises = found["raises"]
        self.assertEqual(raises["session_opened"]["count"], 2)
        self.assertGreaterEqual(raises["frame_clock"]["count"], found["frames"])
        self.assertGreater(raises["segment_from_net"]["count"], found["segments"] // 2)
        self.assertNotIn("message_from_user", raises)  # it is raised inside of frame_clock
        self.assertAlmostEqual(found["handler_ns"], sum(r["ns"] for r in raises.values()), delta=20)
        self.assertLess(found["handler_ns"], found["total_ns"])
        self.assertIn("in handlers", run(self.film, "--fps", 500, "--times").stdout)
        self.assertNotIn("raises", json.loads(run(self.film, "--fps", 500, "--json").stdout))

    def test_errors_say_what_and_what_to_do(self):
        for said, words in (
                ("No such file", (self.film.with_name("none"),)),
                ("there are: round_trip", (self.film, "--protocols", "fec")),
                ("frames_per_s must be 1 to 100000", (self.film, "--fps", 0)),
                ("FILE is required", ())):
            done = run(*words)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main()
