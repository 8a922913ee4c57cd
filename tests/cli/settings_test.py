# SPDX-License-Identifier: MIT
"""Random settings: --check and a start agree, the error names the line that is wrong, and what is
accepted is what serves. Random reloads under load: each answer is of one whole version."""

import base64
import http.client
import pathlib
import random
import ssl
import subprocess
import sys
import unittest

from program import HEDDLE, LIMIT_S, SANITIZED, Server, SiteTest, environment, run
from settings_draw import draw_case

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from seeds import command_of, for_seeds, judges_totals

# A limit or a time of these can refuse the request that looks at the effect of other settings.
TIGHT = {"request-line", "header-bytes", "header-count", "connections", "queue-delay",
         "connections-per-address", "proxy-protocol", "header-timeout", "idle-timeout"}


def everything_in(folder):
    return sorted(str(path) for path in folder.rglob("*"))


class World:
    """Folders and files that settings can name."""

    def __init__(self, root):
        self.root = root
        self.site = root / "site"
        self.other_site = root / "other"
        (self.site / "inbox").mkdir(parents=True, exist_ok=True)
        self.other_site.mkdir()
        (self.other_site / "index.html").write_text("<p>other")
        self.pairs = []
        for name in ("one.example", "two.example"):
            code, _, said = run("cert", name, "-o", str(root), "--authority", str(root / "ca"))
            if code != 0:
                raise unittest.SkipTest(f"settings are about TLS too: {said}")
            self.pairs.append(f"{root}/{name}.pem {root}/{name}.key")


class RandomSettings(SiteTest):
    def setUp(self):
        super().setUp()
        self.world = World(self.root)
        self.effects = 0

    def words_of(self, case):
        config = self.root / "drawn.conf"
        case.write(config)
        where = ((str(self.site), "-p", "0") if case.verb == "serve" else
                 ("127.0.0.1:0", "http://127.0.0.1:1"))
        return [*where, "-c", str(config), *case.flags]

    def draw(self, seed):
        r = random.Random(seed)
        return draw_case(r, r.choice(["serve", "serve", "proxy"]), self.world)

    def check_case(self, seed):
        case = self.draw(seed)
        words = self.words_of(case)
        before = everything_in(self.root)
        shown = (case.kind, words, case.variables, case.lines)
        code, out, said = run(case.verb, *words, "--check", **case.variables)
        self.assertEqual(everything_in(self.root), before, shown)
        if case.says:
            self.assertEqual(code, 2, (said, shown))
            self.assertIn(case.says, said.splitlines()[0], shown)
            # A start that does not refuse goes on: the limit of time says so.
            done = subprocess.run([HEDDLE, case.verb, *words], env=environment(case.variables),
                                  capture_output=True, text=True, timeout=LIMIT_S)
            self.assertEqual((done.returncode, done.stderr), (code, said), shown)
            return
        self.assertEqual(code, 0, (said, shown))
        self.assertIn("The settings are good", out, shown)
        with Server(*words, port=None, verb=case.verb, **case.variables) as server:
            server.wait_for("Ctrl-C stops")
            self.check_effects(case, server, shown)
            self.assertEqual(server.stop(), 0, (server.talk, shown))
        self.assertNotIn("error:", server.talk, shown)
        for place in case.values.get("log-file", [])[-1:]:
            self.assertTrue(pathlib.Path(place).exists(), shown)
            pathlib.Path(place).unlink()

    def check_effects(self, case, server, shown):
        """What the settings say is in the banner and in the answers."""
        values = case.values
        for value in values.get("listen", []):
            self.assertIn(f"  also     {value}\n", server.talk, shown)
        for value in values.get("site", []):
            self.assertIn("  site     {}  {}\n".format(*value.split()), server.talk, shown)
        for value in values.get("workers", ["1"]):
            if value != "auto":
                word = "worker" if value == "1" else "workers"
                self.assertIn(f"  {value} {word}, ", server.talk, shown)
        for value in values.get("driver", []):
            self.assertIn(f", {value}  ", server.talk, shown)
        self.assertEqual(server.talk.count("  metrics  "), "metrics" in values, shown)
        for value in values.get("auth", []):
            self.assertIn(f"  auth     {value.split(':')[0]}\n", server.talk, shown)
        self.assertEqual("https://" in server.talk, "tls" in values, shown)
        if TIGHT & set(values) or case.verb == "proxy":
            return
        self.effects += 1
        fields = {}
        if "auth" in values:
            self.assertEqual(self.ask(case, server, "/")[0], 401, shown)
            fields = {"Authorization": "Basic " +
                      base64.b64encode(values["auth"][-1].encode()).decode()}
        status, headers, body = self.ask(case, server, "/", **fields)
        self.assertEqual((status, body), (200, b"<p>index"), shown)
        for value in values.get("header", []):
            name, text = value.split(": ", 1)
            self.assertEqual(headers[name], text, shown)
        for value in values.get("header-for", []):
            path, name, text = value.split(" ", 2)
            self.assertEqual(headers[name[:-1]], text if path in ("/*", "/") else None, shown)
        self.assertEqual(headers["Access-Control-Allow-Origin"],
                         "*" if "cors" in values else None, shown)
        for value in values.get("redirect", []):
            path, place, *status = value.split()
            got = self.ask(case, server, path, **fields)
            self.assertEqual((got[0], got[1]["Location"]),
                             (int(status[0]) if status else got[0], place), shown)
        for value in values.get("site", []):
            got = self.ask(case, server, "/", Host=value.split()[0], **fields)
            self.assertEqual(got[2], b"<p>other", shown)
        got = self.ask(case, server, "/metrics", **fields)
        self.assertEqual(b"heddle_workers" in got[2], "metrics" in values, shown)

    def ask(self, case, server, target, **fields):
        if "tls" in case.values:
            connection = http.client.HTTPSConnection(
                server.host, server.port, timeout=LIMIT_S, context=ssl._create_unverified_context())
        else:
            connection = server.connect()
        connection.request("GET", target, headers=fields)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, answer.headers, data

    def test_a_check_and_a_start_agree_and_name_the_line(self):
        ran = for_seeds(4 if SANITIZED else 30, self.check_case, command_of(self))
        if judges_totals(ran, 100):
            self.assertGreater(self.effects, ran // 10)

    def test_every_kind_of_mistake_is_drawn(self):
        kinds = {self.draw(seed).kind for seed in range(1, 1001)}
        self.assertEqual(len(kinds), 9, kinds)


if __name__ == "__main__":
    unittest.main()
