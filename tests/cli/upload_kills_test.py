# SPDX-License-Identifier: MIT
"""Uploads and the access log of a server that is killed at random moments: a file is old or new,
what was answered is there, a line of the log is whole, and unfinished files do not pile up."""

import http.client
import os
import pathlib
import random
import sys
import threading
import time
import unittest

from program import LIMIT_S, SANITIZED, SiteTest, wait_until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from seeds import command_of, for_seeds, judges_totals

FILES = 5
LONG_AGO_S = 2 * 3600  # unfinished files are removed after an hour without a write


def content_of(number, size):
    """A text that names itself, so that a mixture of two is seen."""
    unit = f"{number}:".encode()
    return (unit * (size // len(unit) + 1))[:max(size, len(unit))]


class Uploader:
    """A client that replaces one file again and again, until the server is gone."""

    def __init__(self, server, name, numbers, known):
        self.server, self.name, self.numbers = server, name, numbers
        self.known = known  # the content that was answered with success, or None
        self.begun = []     # those after it
        self.wrong = []
        self.thread = threading.Thread(target=self.run)

    def run(self):
        connection = self.server.connect()
        for content in self.numbers:
            self.begun.append(content)
            try:
                connection.request("PUT", f"/inbox/{self.name}", body=content)
                answer = connection.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException):
                break
            if answer.status not in (201, 204):
                self.wrong.append((self.name, answer.status))
                break
            self.known, self.begun = content, []
        connection.close()


class Kills(SiteTest):
    def setUp(self):
        super().setUp()
        self.inbox = self.site / "inbox"
        self.inbox.mkdir()
        self.most = self.uploads = 0

    def kill_once(self, r, known, log):
        """Starts a server, kills it while clients upload, and returns the clients, which know what
        each file may hold."""
        words = ["--upload", "/inbox/*", "--upload-replace", "--log-file", str(log),
                 "--driver", r.choice(["io_uring", "epoll", "poll"]), "--workers",
                 r.choice(["1", "1", "2"])]
        with self.serve(*words) as server:
            clients = []
            for name in r.sample(sorted(known), r.randint(1, len(known))):
                texts = [content_of(r.randrange(10**6), r.randrange(1, 400_000))
                         for _ in range(30)]
                clients.append(Uploader(server, name, texts, known[name]))
            for c in clients:
                c.thread.start()
            time.sleep(r.random() * 0.03)  # the moment is what is drawn
            server.process.kill()
            server.process.wait(LIMIT_S)
            for c in clients:
                c.thread.join(LIMIT_S)
        return clients

    def check_kills(self, seed):
        r = random.Random(seed)
        for path in self.inbox.iterdir():
            path.unlink()
        log = self.root / "access.log"
        log.unlink(missing_ok=True)
        known = {f"f{n}": None for n in range(FILES)}
        for _ in range(r.randint(2, 4)):
            clients = self.kill_once(r, known, log)
            for c in clients:
                self.assertEqual(c.wrong, [], seed)
                path = self.inbox / c.name
                now = path.read_bytes() if path.exists() else None
                self.assertTrue(now == c.known or now in c.begun,
                                (seed, c.name, now and now[:20], c.known and c.known[:20]))
                known[c.name] = now
                self.uploads += 1
            unfinished = [p for p in self.inbox.iterdir() if p.name.startswith(".")]
            # Those of this life, and none of the lives before it: at most one of each client.
            self.assertLessEqual(len(unfinished), len(clients), (seed, unfinished))
            self.most = max(self.most, len(unfinished))
            for path in unfinished:
                os.utime(path, (time.time() - LONG_AGO_S,) * 2)
            # The next life removes them when it begins.
            if unfinished:
                with self.serve("--upload", "/inbox/*", "--upload-replace", "--hidden") as server:
                    for path in unfinished:
                        self.assertEqual(server.ask(f"/inbox/{path.name}")[0], 404)
                    wait_until(lambda: not any(path.exists() for path in unfinished),
                               "the removal of unfinished files")
                    self.assertEqual(server.stop(), 0)
        text = log.read_text() if log.exists() else ""
        for line in text.splitlines():
            self.assertRegex(line, r"^\d\d:\d\d:\d\d +20[14]  PUT /inbox/f\d ", seed)
        self.assertTrue(text == "" or text.endswith("\n"), (seed, text[-100:]))

    def test_a_file_is_old_or_new_and_nothing_piles_up(self):
        ran = for_seeds(1 if SANITIZED else 8, self.check_kills, command_of(self))
        if judges_totals(ran, 20):
            self.assertGreater(self.most, 0, "no kill came during an upload")
            self.assertGreater(self.uploads, ran)


if __name__ == "__main__":
    unittest.main()
