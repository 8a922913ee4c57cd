# SPDX-License-Identifier: MIT
"""A small tree under git in a folder of its own, for tests of scripts that ask git."""

import pathlib
import subprocess
import tempfile


class ScratchClone:
    """Starts with these files ({name: text}) in one commit, and is removed at the test's end."""

    def __init__(self, test, files):
        folder = tempfile.TemporaryDirectory()
        test.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.git("init", "-q", "-b", "work")
        for name, text in files.items():
            self.write(name, text)
        self.first = self.commit()

    def git(self, *words):
        return subprocess.run(["git", "-C", self.root, "-c", "user.name=t",
                               "-c", "user.email=t@localhost", *words], check=True,
                              capture_output=True, text=True).stdout.strip()

    def write(self, name, text):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "base: a change")
        return self.git("rev-parse", "HEAD")
