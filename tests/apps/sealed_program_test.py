# SPDX-License-Identifier: MIT
"""apps/sealed as its users run it, and the load client's own checks. $SEALED is the program."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

PROGRAM = os.path.abspath(os.environ.get("SEALED", "build/release/apps/sealed"))


def run(*words, cwd=None):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=30,
                          cwd=cwd)


class Sealed(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.home = pathlib.Path(self.folder.name)
        self.key = self.home / "key"
        self.public = self.home / "public"
        self.public.mkdir()
        self.file = self.public / "file"
        self.file.write_bytes(bytes(range(256)) * 4000)
        self.assertEqual(run("key", self.key).returncode, 0)

    def serve(self, *options):
        """A server on a free port; gives the process and its address."""
        server = subprocess.Popen([PROGRAM, "serve", self.public, "--key", self.key, "--at",
                                   "127.0.0.1:0", *options], stderr=subprocess.PIPE, text=True)

        def end():
            server.kill()
            server.wait()
            server.stderr.close()
        self.addCleanup(end)
        return server, server.stderr.readline().split(" on ")[1].split(",")[0]

    def test_a_file_is_fetched_and_ctrl_c_says_what_was_done(self):
        for cipher, workers in (("aes-256-gcm", 1), ("chacha20-poly1305", 2)):
            server, at = self.serve("--cipher", cipher, "--workers", str(workers))
            done = run("get", "file", "--key", self.key, "--at", at, cwd=self.home)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((self.home / "file").read_bytes(), self.file.read_bytes())
            server.send_signal(signal.SIGINT)
            self.assertIn("1 files, 1024000 bytes, 0 refused, 0 failed", server.communicate()[1])
            self.assertEqual(server.returncode, 0)

    def test_a_key_is_private_and_never_overwritten(self):
        before = self.key.read_text()
        self.assertEqual(self.key.stat().st_mode & 0o777, 0o600)
        self.assertEqual(run("key", self.key).returncode, 1)
        self.assertEqual(self.key.read_text(), before)

    def test_errors_say_what_where_and_what_to_do(self):
        _, at = self.serve("--quiet")
        other = self.home / "other"
        run("key", other)
        bad = self.home / "bad"
        bad.write_text("no key")
        for said, words in (
                ("there is no such file", ("get", "none", "--key", self.key, "--at", at)),
                ("same key", ("get", "file", "--key", other, "--at", at)),
                ("64 hexadecimal digits", ("get", "file", "--key", bad, "--at", at)),
                ("is no address", ("get", "file", "--key", self.key, "--at", "nowhere")),
                ("no cipher 'rot13'", ("serve", "--key", self.key, "--cipher", "rot13")),
                ("--record", ("serve", "--key", self.key, "--record", "3")),
                ("--workers", ("serve", "--key", self.key, "--workers", "65")),
                ("--key is required", ("serve",))):
            done = run(*words, cwd=self.home)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertIn(said, done.stderr)

    def load(self, at, *options, seconds=0.2):
        return run("load", "file", "--key", self.key, "--at", at, "--connections", "3",
                   "--warmup", "0.05", "--seconds", seconds, *options)

    def test_load_measures_a_server_and_its_processor_time(self):
        server, at = self.serve("--quiet")
        for seconds in (0.2, 2, 10):  # a busy machine may need more to count anything
            done = self.load(at, "--expect", self.file, "--pid", server.pid, seconds=seconds)
            self.assertEqual(done.returncode, 0, done.stderr)
            found = json.loads(done.stdout)
            if found["answers"] > 3 and found["server_cpus"] > 0:
                break
        self.assertGreater(found["answers"], 3)
        self.assertAlmostEqual(found["bytes_per_s"] * found["seconds"] / 1024000,
                               found["answers"], delta=4)
        self.assertGreater(found["server_cpus"], 0)

    def test_load_notices_a_file_that_is_another_one(self):
        _, at = self.serve("--quiet")
        copy = self.home / "copy"
        changed = bytearray(self.file.read_bytes())
        changed[500_000] ^= 1
        copy.write_bytes(changed)
        done = self.load(at, "--expect", copy)
        self.assertEqual(done.returncode, 1)
        self.assertIn("differs", done.stderr)

    def test_load_notices_an_answer_of_another_length(self):
        _, at = self.serve("--quiet")
        load = subprocess.Popen([PROGRAM, "load", "file", "--key", self.key, "--at", at,
                                 "--seconds", "20"], stderr=subprocess.PIPE, text=True)
        self.addCleanup(load.stderr.close)
        self.addCleanup(load.kill)
        # Whenever it comes, each later answer has a byte more than the first.
        partial = self.home / "partial"
        for size in range(1_024_001, 1_024_200):
            partial.write_bytes(b"x" * size)
            partial.rename(self.file)
            try:
                load.wait(0.05)
                break
            except subprocess.TimeoutExpired:
                continue
        self.assertEqual(load.wait(30), 1)
        self.assertIn("does not begin where it must", load.communicate()[1])


if __name__ == "__main__":
    unittest.main()
