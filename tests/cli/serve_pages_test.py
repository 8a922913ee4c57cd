# SPDX-License-Identifier: MIT
"""The pages that heddle serve makes itself, the list of a folder and an error, in a headless
Chromium: as wide as a phone and as a desk, light and dark. HEDDLE_SCREENSHOTS=DIR keeps
pictures."""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

from program import HEDDLE, SiteTest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
WIDTHS = (390, 1280)
PAGES = {"list": "/files/", "error": "/none"}

# Frames of each width; once all are there, what they measure is in the title. "Dark" is what the
# page makes of the reader's choice, which the browser's switch sets.
CHECK = """<!doctype html><title>waiting</title><body><script>
const seen = [], want = %s;
for (const [page, url] of Object.entries(%s)) for (const width of want) {
  const f = document.createElement("iframe");
  f.width = width; f.height = 800; f.src = url;
  f.onload = () => {
    const d = f.contentDocument, e = d.documentElement;
    const text = getComputedStyle(d.body).color;
    seen.push([page, width, e.scrollWidth, d.scripts.length, d.querySelectorAll("a").length,
               text.replaceAll(" ", ""), d.body.innerText.length > 10].join("/"));
    if (seen.length == want.length * 2) document.title = "done " + seen.join(" ");
  };
  document.body.append(f);
}
</script>"""


@unittest.skipIf(CHROMIUM is None, "chromium is not here: scripts/setup names it")
@unittest.skipIf("san" in HEDDLE, "the browser is slow enough")
class ServePages(SiteTest):
    def browse(self, url, *flags):
        """The finished document, and what the browser said on its console."""
        done = subprocess.run(
            [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--hide-scrollbars", "--no-first-run", "--disable-extensions",
             "--user-data-dir=" + str(self.root / "profile"), "--enable-logging=stderr", "--v=0",
             "--virtual-time-budget=5000", *flags, url],
            capture_output=True, text=True, timeout=60, check=False)
        console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        return done.stdout, console

    def fill(self):
        for name, size in (("a.txt", 12), ("the whole family in the garden, summer.jpg", 10),
                           ("report-" + "very-" * 20 + "long-name.pdf", 4096), ("<b>.html", 1)):
            self.put("files/" + name, b"x" * size)
        (self.site / "files/folder").mkdir()

    def test_pages_fit_every_width_without_scripts_and_follow_light_and_dark(self):
        self.fill()
        self.put("check.html", CHECK % (list(WIDTHS), PAGES))
        texts = {}
        with self.serve("--archives", "--upload", "/files/*") as server:
            base = f"http://{server.host}:{server.port}"
            for scheme, setting in (("light", "1"), ("dark", "0")):
                document, console = self.browse(
                    base + "/check.html", "--dump-dom",
                    "--blink-settings=preferredColorScheme=" + setting)
                title = re.search(r"<title>done (.*?)</title>", document)
                self.assertIsNotNone(title, document[:500])
                # The browser itself notes on its console that /none was a 404.
                self.assertEqual([c for c in console if "404" not in c], [])
                for frame in title[1].split(" "):
                    page, width, needed, scripts, links, color, has_text = frame.split("/")
                    where = f"{page} at {width}, {scheme}"
                    self.assertLessEqual(int(needed), int(width), where)
                    self.assertEqual(scripts, "0", where)
                    self.assertEqual(has_text, "true", where)
                    if page == "list":
                        self.assertGreaterEqual(int(links), 5, where)
                    texts.setdefault(page, {})[scheme] = color
            folder = os.environ.get("HEDDLE_SCREENSHOTS")
            if folder:
                pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
                for page, target in PAGES.items():
                    for width in WIDTHS:
                        for scheme, setting in (("light", "1"), ("dark", "0")):
                            self.browse(base + target, f"--window-size={width},700",
                                        "--blink-settings=preferredColorScheme=" + setting,
                                        f"--screenshot={folder}/{page}-{width}-{scheme}.png")
        for page, by_scheme in texts.items():
            self.assertNotEqual(by_scheme["light"], by_scheme["dark"], page)


if __name__ == "__main__":
    unittest.main()
