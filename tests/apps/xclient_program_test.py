# SPDX-License-Identifier: MIT
"""apps/xclient in a real window: under Xvfb, by pictures of it. $XCLIENT is the program."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

PROGRAM = os.path.abspath(os.environ.get("XCLIENT", "build/release/apps/xclient"))
WIDTH, LINE = 400, 10
BAR, THUMB, MENU, CHOSEN = 0xc0c0c0, 0x404080, 0xffe080, 0xd04020


def color_of_line(n):
    return 0x200000 + n * 0x010103


@unittest.skipUnless(shutil.which("Xvfb"), "no Xvfb (scripts/setup test installs it)")
class XClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        out, into = os.pipe()
        # The server takes a display that is free, and says which.
        cls.server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(into), "-screen", "0", "640x480x24", "-nolisten", "tcp",
             "-noreset"],  # else it is away for a moment whenever the last client leaves
            pass_fds=[into], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(into)
        cls.addClassCleanup(cls.server.wait)
        cls.addClassCleanup(cls.server.terminate)
        with os.fdopen(out) as said:
            cls.display = f":{said.readline().strip()}"

    def run_program(self, *words, display=None):
        return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True,
                              timeout=30, env={**os.environ, "DISPLAY": display or self.display})

    def picture(self, steps):
        """The window after these steps: a function from a place to its color."""
        path = pathlib.Path(self.folder.name) / "picture.ppm"
        path.unlink(missing_ok=True)
        done = self.run_program("--play", f"{steps}; dump {path}")
        self.assertEqual(done.returncode, 0, done.stderr)
        head, pixels = path.read_bytes().split(b"\n255\n", 1)
        self.assertEqual(head, b"P6\n400 300")

        def at(x, y):
            return int.from_bytes(pixels[3 * (y * WIDTH + x):][:3], "big")
        return at

    def test_a_fresh_window_shows_the_first_lines_and_the_thumb_on_top(self):
        at = self.picture("")
        self.assertEqual(at(200, 5), color_of_line(0))
        self.assertEqual(at(200, 295), color_of_line(29))
        self.assertEqual(at(8, 10), THUMB)
        self.assertEqual(at(8, 200), BAR)

    def test_a_popup_stands_at_the_pointer_and_marks_the_item_under_it(self):
        at = self.picture("popup 60 40")
        self.assertEqual([at(x, y) for x, y in ((60, 40), (149, 129))], [MENU, MENU])
        self.assertEqual([at(x, y) for x, y in ((59, 40), (60, 39), (150, 129))],
                         [color_of_line(n) for n in (4, 3, 12)])
        at = self.picture("popup 60 40; move 70 65; move 70 80")
        self.assertEqual([at(70, y) for y in (65, 80, 100)], [MENU, CHOSEN, MENU])
        at = self.picture("popup 390 290")
        self.assertEqual(at(311, 211), MENU)

    def test_the_menu_goes_when_the_button_is_let_go(self):
        at = self.picture("popup 60 40; move 70 65; release 70 65")
        self.assertEqual(at(70, 65), color_of_line(6))

    def test_a_drag_of_the_thumb_scrolls_to_the_last_line(self):
        at = self.picture("press 5 20; drag 5 299")
        self.assertEqual(at(200, 295), color_of_line(199))
        self.assertEqual(at(8, 290), THUMB)
        self.assertEqual(at(8, 10), BAR)
        at = self.picture("press 5 20; release 5 20; drag 5 299")
        self.assertEqual(at(200, 5), color_of_line(0))

    def test_it_measures(self):
        done = self.run_program("--measure", 100, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertGreater(found["popup_ns"], 0)
        self.assertGreater(found["scroll_ns"], 0)

    def test_errors_say_what_to_do(self):
        self.assertIn("set DISPLAY", self.run_program(display=":4711").stderr)
        self.assertIn("there are: popup", self.run_program("--play", "jump 1 1").stderr)
        self.assertIn("write a verb and X Y", self.run_program("--play", "popup 1").stderr)


if __name__ == "__main__":
    unittest.main()
