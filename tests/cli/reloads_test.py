# SPDX-License-Identifier: MIT
"""Random reloads in a row under load. Each answer is of one whole version of the settings; a reload
with a mistake changes nothing, not even the certificates; no request is lost."""

import http.client
import pathlib
import random
import re
import shutil
import signal
import ssl
import sys
import threading
import unittest

from program import LIMIT_S, SANITIZED, Load, Server, SiteTest, run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from seeds import command_of, for_seeds, judges_totals

PAIRS = 4  # certificates, so that following versions have different ones
UNVERIFIED = ssl._create_unverified_context()


class Visitors(Load):
    """Clients that ask all the time. What they were answered must be of a version that was in use
    between the beginning and the end of the request."""

    def __init__(self, test, clients):
        super().__init__()
        self.test, self.lock = test, threading.Lock()
        self.threads = [threading.Thread(target=self.run, args=(n,)) for n in range(clients)]

    def run(self, number):
        connection = None
        while not self.over.is_set():
            first = self.test.settled
            try:
                if connection is None:
                    connection, pair = self.test.connect()
                    pairs = {n % PAIRS for n in self.test.history[first:]}
                    if pair is not None and pair not in pairs:
                        self.wrong.append(("certificate", pair, pairs))
                seen = self.test.ask(connection)
            except (OSError, http.client.HTTPException, AssertionError) as error:
                self.wrong.append(repr(error))
                return
            if seen not in self.test.history[first:]:
                self.wrong.append((seen, self.test.history[first:]))
            with self.lock:
                self.answers += 1
            if number % 2:  # half of the clients keep their connection
                connection.close()
                connection = None
        if connection:
            connection.close()


class RandomReloads(SiteTest):
    def setUp(self):
        super().setUp()
        self.pems = []
        self.mistakes_made = set()
        self.reloads = 0
        for n in range(PAIRS):
            code, _, said = run("cert", f"n{n}.example", "-o", str(self.root), "--authority",
                                str(self.root / "ca"))
            if code != 0:
                self.skipTest(f"reloads are about TLS too: {said}")
            self.pems.append([(self.root / f"n{n}.example.{end}").read_bytes()
                              for end in ("pem", "key")])
        self.ders = [ssl.PEM_cert_to_DER_cert(pem.decode().split("-----END CERTIFICATE-----")[0] +
                                              "-----END CERTIFICATE-----\n")
                     for pem, _ in self.pems]
        self.config = self.root / "reload.conf"

    # How the versions look.

    def lines_of(self, version):
        """The file of a version, and its folder."""
        folder = self.root / "versions" / str(version)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "index.html").write_text(f"<p>{version}")
        lines = [f"directory = {folder}", f"header = X-One: {version}",
                 f"header = X-Two: {version}"]
        if self.on["path"]:
            lines.append(f"header-for = /* X-Path: {version}")
        if self.on["redirect"]:
            lines.append(f"redirect = /go /to{version}")
        if self.on["site"]:
            lines.append(f"site = other.example {folder}")
        if self.on["tls"]:
            lines.append(f"tls = {self.root}/now.pem {self.root}/now.key")
        self.random.shuffle(lines)
        return lines

    def place(self, lines, version):
        """Puts the certificates and the file where the server finds them."""
        if self.on["tls"]:
            for end, data in zip(("pem", "key"), self.pems[version % PAIRS]):
                (self.root / f"now.{end}").write_bytes(data)
        new = self.root / "next.conf"
        new.write_text("\n".join(lines) + "\n")
        new.rename(self.config)

    def mistake(self, lines, version):
        """Adds a mistake, and gives what the server must say about it."""
        kinds = ["line", "directory", "site", "upload", "acme", "tls", "page", "no file"]
        if self.on["tls"]:
            kinds.append("key")
        kind = self.random.choice(kinds)
        self.mistakes_made.add(kind)
        at = self.random.randint(0, len(lines))
        if kind == "line":
            lines.insert(at, f"no-such-{version} = 1")
            return rf"reload.conf:{at + 1}: there is no setting 'no-such-{version}'"
        if kind == "directory":
            lines[:] = [line for line in lines if not line.startswith("directory")]
            lines.insert(0, f"directory = {self.root}/none{version}")
            return f"none{version}"
        if kind == "site":
            lines.insert(at, f"site = b.example {self.root}/none{version}")
            return f"none{version}"
        if kind == "upload":
            lines.insert(at, f"upload = /none{version}/*")
            return f"none{version}"
        if kind == "acme":
            lines.insert(at, "acme = a@example.org")
            return "acme: only the names can change"
        if kind == "tls":
            lines.insert(at, f"tls = {self.root}/n0.example.pem {self.root}/n0.example.key")
            return "tls: which files are used"
        if kind == "page":
            lines.insert(at, "page-fetch = http://127.0.0.1:1")
            return "--page-fetch is about pages"
        if kind == "key":
            return "now.key"
        return "cannot read the settings"

    # What clients see.

    def connect(self):
        """A connection, and the number of its certificate."""
        if not self.on["tls"]:
            connection = self.server.connect()
            connection.connect()
            return connection, None
        connection = http.client.HTTPSConnection(self.server.host, self.server.port,
                                                 timeout=LIMIT_S, context=UNVERIFIED)
        connection.connect()
        return connection, self.ders.index(connection.sock.getpeercert(True))

    def ask(self, connection):
        """The one version of an answer."""
        connection.request("GET", "/")
        answer = connection.getresponse()
        body = answer.read().decode()
        seen = {body, f"<p>{answer.headers['X-One']}", f"<p>{answer.headers['X-Two']}"}
        if self.on["path"]:
            seen.add(f"<p>{answer.headers['X-Path']}")
        if answer.status != 200 or len(seen) != 1:
            raise AssertionError(f"an answer of several versions: {answer.status} {seen}")
        return int(body[3:])

    def assert_whole(self, version, why):
        """All that a new client can see is of this version."""
        connection, pair = self.connect()
        self.asked += 1
        self.assertEqual(self.ask(connection), version, why)
        if pair is not None:
            self.assertEqual(pair, version % PAIRS, ("certificate", why))
        for target, host, on in (("/go", None, "redirect"), ("/", "other.example", "site")):
            if not self.on[on]:
                continue
            self.asked += 1
            connection.request("GET", target, headers={"Host": host} if host else {})
            answer = connection.getresponse()
            body = answer.read().decode()
            self.assertEqual(answer.headers["Location"] if target == "/go" else body,
                             f"/to{version}" if target == "/go" else f"<p>{version}", why)
        connection.close()

    # The steps.

    def signal_and_wait(self, pattern):
        self.server.talk = ""
        self.server.send(signal.SIGHUP)
        self.server.wait_for(pattern)
        self.reloads += 1

    def reload_well(self):
        self.version += 1
        self.place(self.lines_of(self.version), self.version)
        self.history.append(self.version)
        self.signal_and_wait("Settings read again")
        self.settled = len(self.history) - 1

    def reload_badly(self):
        self.version += 1
        lines = self.lines_of(self.version)
        said = self.mistake(lines, self.version)
        self.place(lines, self.version)
        if said == "now.key":
            (self.root / "now.key").write_bytes(self.pems[(self.version + 1) % PAIRS][1])
        if said == "cannot read the settings":
            self.config.unlink()
        self.signal_and_wait(said + "(?s:.*)the old settings stay in use")
        if self.on["tls"]:  # a good reload of other settings may come next
            self.assertNotIn("Settings read again", self.server.talk)

    def reload_in_a_burst(self):
        """Signals without waiting: the server may skip versions, and ends with one of them."""
        if self.on["tls"]:  # a mistake before may be only in the key, which is mended below
            self.place(self.lines_of(self.history[-1]), self.history[-1])
        for _ in range(self.random.randint(2, 4)):
            self.version += 1
            # The certificate stays, because the server may read between two files.
            if not self.on["tls"]:
                # The server may read it at once, because of the signal before.
                self.history.append(self.version)
                self.place(self.lines_of(self.version), self.version)
            self.server.send(signal.SIGHUP)
        self.version += 1
        self.place([f"no-such-{self.version} = 1"], self.history[-1])
        self.signal_and_wait(f"no-such-{self.version}(?s:.*)the old settings")
        connection, _ = self.connect()
        now = self.ask(connection)
        connection.close()
        self.asked += 1
        self.assertIn(now, self.history[self.settled:])
        # Those after it were never in use.
        del self.history[self.history.index(now) + 1:]
        self.settled = len(self.history) - 1

    def check_reloads(self, seed):
        r = self.random = random.Random(seed)
        self.on = {name: r.random() < 0.5 for name in ("path", "redirect", "site", "tls")}
        self.version, self.history, self.settled, self.asked = 1, [1], 0, 0
        shutil.rmtree(self.root / "versions", ignore_errors=True)
        self.place(self.lines_of(1), 1)
        driver, workers = r.choice(["io_uring", "epoll", "poll"]), str(r.choice([1, 1, 3]))
        steps = [self.reload_well, self.reload_badly, self.reload_in_a_burst]
        why = (seed, self.on, driver, workers)
        with self.serve_config("--driver", driver, "--workers", workers) as self.server:
            with Visitors(self, r.randint(1, 3)) as load:
                for _ in range(r.randint(3, 8)):
                    step = r.choices(steps, [3, 4, 1])[0]
                    step()
                    self.assertEqual(load.wrong, [], why)
                    self.assert_whole(self.history[-1], (why, step.__name__, self.server.talk))
            self.assertEqual(load.wrong, [], why)
            self.assertEqual(self.server.stop(), 0, why)
            said = re.search(r"(\d+) requests", self.server.talk)
            self.assertEqual(int(said[1]), load.answers + self.asked, why)

    def serve_config(self, *words):
        return Server("-c", str(self.config), "--log", "off", *words)

    def test_each_answer_is_of_one_version_and_a_mistake_changes_nothing(self):
        ran = for_seeds(2 if SANITIZED else 10, self.check_reloads, command_of(self))
        if judges_totals(ran, 40):
            self.assertEqual(len(self.mistakes_made), 9, self.mistakes_made)
            self.assertGreater(self.reloads, 3 * ran)


if __name__ == "__main__":
    unittest.main()
