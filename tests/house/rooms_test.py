# SPDX-License-Identifier: MIT
"""scripts/rooms draws the rooms as they are, and finds arrows that point up and knots of files."""

import json
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = 'ROOMS = ("base core").split()\n'
GOOD = {
    "scripts/tidy": ROOMS,
    "docs/page.md": "",
    "include/heddle/base/list.hh": "#pragma once\n",
    "include/heddle/core/task.hh": '#include "heddle/base/list.hh"\n',
    "src/core/task.cc": '#include "heddle/core/task.hh"\n',
}


def run(files, *words):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        done = subprocess.run([ROOT / "scripts" / "rooms", "--root", root, *words],
                              capture_output=True, text=True)
        drawn = root / "docs" / "rooms.svg"
        return done, drawn.read_text() if drawn.exists() else ""


class Rooms(unittest.TestCase):
    def test_draws_a_box_a_room_and_an_arrow_down(self):
        done, drawn = run(GOOD)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(">base<", drawn)
        self.assertEqual(drawn.count("l-4 7z"), 1)
        self.assertNotIn("#c22", drawn)

    def test_an_arrow_up_is_red_and_a_failure(self):
        done, drawn = run(GOOD | {"src/base/list.cc": '#include "heddle/core/task.hh"\n'})
        self.assertEqual(done.returncode, 1)
        self.assertIn("base includes core", done.stderr)
        self.assertIn("#c22", drawn)

    def test_a_knot_of_more_than_four_files_is_a_failure(self):
        ring = {f"src/core/f{i}.hh": f'#include "core/f{(i + 1) % 5}.hh"\n' for i in range(5)}
        done, _ = run(GOOD | ring, "--knots")
        self.assertEqual(done.returncode, 1)
        self.assertIn("5  core: f0, f1, f2, f3, f4", done.stdout)
        self.assertEqual(run(GOOD | ring, "--knots", "--most", "5")[0].returncode, 0)

    def test_this_tree_has_no_such_knot(self):
        done = subprocess.run([ROOT / "scripts" / "rooms", "--knots"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_json_names_rooms_and_what_they_include(self):
        told = json.loads(run(GOOD, "--json")[0].stdout)
        self.assertEqual(told["core"]["includes"], ["base"])

    def test_the_picture_of_the_tree_shows_its_rooms(self):
        done = subprocess.run([ROOT / "scripts" / "rooms", "--check"], capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
