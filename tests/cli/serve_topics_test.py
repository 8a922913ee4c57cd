# SPDX-License-Identifier: MIT
"""The parts of heddle serve and their order, and that the shipped program, whose handlers are
called by a plan, answers and logs what it does without: a program that makes a profile runs every
raise generically, so the same program is asked both ways."""

import base64
import os
import pathlib
import random
import re
import signal
import socket
import unittest

from program import HEDDLE, LIMIT_S, SiteTest, run

PROFILE = os.environ.get("HEDDLE_PLAN_PROFILE", "")  # what HEDDLE was built with, if anything
BASIC = "Basic " + base64.b64encode(b"me:sesame").decode()
EVERYTHING = ("--auth", "me:sesame", "--cors", "--metrics", "--header", "X-Mine: 1")

# (method, target, more fields): whatever a part of the server has an opinion about.
TABLE = [
    ("GET", "/", {}), ("HEAD", "/", {}), ("GET", "/page.txt", {}), ("GET", "/folder/", {}),
    ("GET", "/folder", {}), ("GET", "/none", {}), ("GET", "/none", {"Accept": "text/html"}),
    ("GET", "/%zz", {}), ("GET", "/page.txt", {"Range": "bytes=0-3"}),
    ("GET", "/page.txt", {"Range": "bytes=500-"}), ("GET", "/page.txt", {"If-None-Match": "*"}),
    ("POST", "/", {"Content-Length": "0"}), ("BREW", "/", {}), ("OPTIONS", "/", {}),
    ("OPTIONS", "/", {"Origin": "http://localhost"}), ("OPTIONS", "*", {}),
    ("GET", "/", {"Authorization": BASIC}), ("GET", "/", {"Authorization": BASIC + "x"}),
    ("GET", "/none", {"Authorization": BASIC}), ("HEAD", "/metrics", {}),
    ("OPTIONS", "/metrics", {"Authorization": BASIC, "Origin": "x"}),
    ("GET", "/" + "x" * 9000, {}), ("GET", "/", {"X-Long": "x" * 20000}), ("GET", "no-path", {}),
]
SETTINGS = [(), ("--log", "json"), ("--metrics",), ("--auth", "me:sesame"), ("--cors",),
            ("--header", "X-Mine: 1", "--no-listing"), (*EVERYTHING, "--log", "json")]


def ask_raw(server, method, target, fields):
    """All bytes of one answer, on a connection of its own; times of answering left out."""
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", "Connection: close",
             *(f"{name}: {value}" for name, value in fields.items())]
    with socket.create_connection((server.host, server.port), LIMIT_S) as connection:
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        answer = b""
        while more := connection.recv(65536):
            answer += more
    return re.sub(rb"\r\nDate: [^\r]*", b"", answer)


def without_times(log):
    """Lines of the log without the hour, what the answer took and the client's port."""
    log = re.sub(r"^\d\d:\d\d:\d\d|\"time\":\"[^\"]*\"", "", log, flags=re.M)
    return re.sub(r"\d+\.\d+ ms|\"ms\":[\d.]+|127\.0\.0\.1:\d+", "", log)


def values_of(page):
    """Names, labels included, and numbers of a page of metrics."""
    lines = (line.rsplit(" ", 1) for line in page.decode().splitlines() if line[0] != "#")
    return {name: float(value) for name, value in lines}


class ServeTopics(SiteTest):
    def setUp(self):
        super().setUp()
        self.put("page.txt", "x" * 100)
        self.put("folder/other.txt", "other")

    def answers_and_log(self, words, **variables):
        with self.serve(*words, **variables) as server:
            answers = [ask_raw(server, *request) for request in TABLE]
            self.assertEqual(server.stop(), 0)
        return answers, without_times(server.log)

    def test_merged_and_generic_handlers_give_the_same_answers_and_log_lines(self):
        for number, words in enumerate(SETTINGS):
            generic = self.root / f"generic-{number}.prof"
            merged_answers, merged_log = self.answers_and_log(words)
            answers, log = self.answers_and_log(words, HEDDLE_PROFILE=str(generic))
            self.assertIn("serve::asked", generic.read_text(), words)
            for request, one, other in zip(TABLE, merged_answers, answers):
                # A page of metrics holds times, and the gauge of merged handlers.
                if one.startswith(b"HTTP/1.1 200") and request[1] == "/metrics":
                    one, other = (text.partition(b"Content-Length")[0] for text in (one, other))
                self.assertEqual(one, other, (words, request[:2]))
            self.assertEqual(merged_log, log, words)
            self.assertEqual(len(log.splitlines()), len(TABLE), words)

    def test_the_parts_answer_in_their_order(self):
        with self.serve(*EVERYTHING) as server:
            # A browser asks without the password, and only what is a preflight passes.
            self.assertEqual(server.ask("/", "OPTIONS", Origin="x")[0], 204)
            self.assertEqual(server.ask("/metrics", "OPTIONS", Origin="x")[0], 204)
            self.assertEqual(server.ask("/", "OPTIONS")[0], 401)
            # Nobody sees the metrics, or whether there is a file, without the password.
            self.assertEqual(server.ask("/metrics")[0], 401)
            self.assertEqual(server.ask("/none")[0], 401)
            self.put("metrics", "a file of this name is hidden by the page")
            status, headers, page = server.ask("/metrics", Authorization=BASIC)
            self.assertEqual(status, 200)
            self.assertIn(b"heddle_http_requests_total 5", page)
            self.assertEqual(headers["X-Mine"], "1")
        with self.serve() as server:
            self.assertEqual(server.ask("/metrics")[0], 200)

    def test_added_fields_stand_in_answers_of_every_part(self):
        with self.serve(*EVERYTHING) as server:
            for request, status in ((("GET", "/", {}), 401),
                                    (("OPTIONS", "/", {"Origin": "x"}), 204),
                                    (("GET", "/none", {"Authorization": BASIC}), 404),
                                    (("GET", "/metrics", {"Authorization": BASIC}), 200),
                                    (("GET", "/" + "x" * 9000, {}), 414),
                                    (("GET", "/", {"X-Long": "x" * 20000}), 431)):
                answer = ask_raw(server, *request)
                self.assertTrue(answer.startswith(b"HTTP/1.1 %d " % status), answer[:200])
                head = answer.partition(b"\r\n\r\n")[0]
                self.assertEqual(head.count(b"\r\nX-Mine: 1"), 1, head)
                self.assertEqual(head.count(b"\r\nAccess-Control-Allow-Origin: *"), 1, head)

    def test_answers_are_counted_by_method_and_class(self):
        with self.serve("--metrics", "--log", "off") as server:
            for method, target in (("GET", "/"), ("GET", "/"), ("GET", "/none"), ("HEAD", "/"),
                                   ("BREW", "/"), ("GET", "/" + "x" * 9000)):
                ask_raw(server, method, target, {})
            values = values_of(server.ask("/metrics")[2])
        counted = {name: v for name, v in values.items() if name.startswith("heddle_answers")}
        self.assertEqual(counted, {
            'heddle_answers_total{method="GET",class="2xx"}': 2,
            'heddle_answers_total{method="GET",class="4xx"}': 1,
            'heddle_answers_total{method="HEAD",class="2xx"}': 1,
            'heddle_answers_total{method="other",class="4xx"}': 1,
            'heddle_answers_total{method="other",class="5xx"}': 1})

    def test_a_hangup_binds_what_the_new_settings_ask_for_and_unbinds_the_rest(self):
        settings = self.root / "heddle.conf"
        settings.write_text("")
        with self.serve("-c", str(settings)) as server:
            def reload(text, said="Settings read again"):
                settings.write_text(text)
                server.talk = ""
                server.send(signal.SIGHUP)
                server.wait_for(said)

            self.assertEqual(server.ask("/metrics")[0], 404)
            reload("auth = me:sesame\nmetrics\ncors\nheader = X-Mine: 1\n")
            self.assertEqual(server.ask("/")[0], 401)
            self.assertEqual(server.ask("/", "OPTIONS", Origin="x")[0], 204)
            self.assertEqual(server.ask("/metrics", Authorization=BASIC)[0], 200)
            reload("header = X A: 1\n", r"the header 'X A' cannot be sent")
            self.assertEqual(server.ask("/")[0], 401)  # the parts from before are still bound
            self.assertEqual(server.ask("/", "OPTIONS", Origin="x")[0], 204)
            for _ in range(3):
                reload("")
            status, headers, _ = server.ask("/")
            self.assertEqual((status, headers["X-Mine"]), (200, None))
            self.assertEqual(server.ask("/", "OPTIONS", Origin="x")[0], 405)
            self.assertEqual(server.ask("/metrics")[0], 404)

    def test_parts_from_before_a_reload_are_unbound_while_an_old_request_still_runs(self):
        # Packing this takes the better part of a second; the folder from before stays for it.
        self.put("large.txt", base64.b64encode(random.Random(1).randbytes(12 << 20)))
        settings = self.root / "heddle.conf"
        settings.write_text("compress\ncached-file = 32M\nauth = me:sesame\n")
        with self.serve("-c", str(settings)) as server:
            slow = server.connect()
            slow.request("GET", "/large.txt", headers={"Accept-Encoding": "gzip",
                                                       "Authorization": BASIC})
            self.assertEqual(server.ask("/")[0], 401)  # the request before it has begun
            settings.write_text("")
            server.send(signal.SIGHUP)
            server.wait_for("Settings read again")
            self.assertEqual(server.ask("/")[0], 200)
            answer = slow.getresponse()
            self.assertEqual((answer.status, answer.headers["Content-Encoding"]), (200, "gzip"))
            self.assertGreater(len(answer.read()), 12 << 20)
            slow.close()

    @unittest.skipIf(not PROFILE, "this program was built without a plan")
    def test_the_shipped_program_has_the_handlers_of_its_plan(self):
        code, out, err = run("optimize", PROFILE, "--check", HEDDLE, "--strict")
        self.assertEqual((code, out), (0, ""), err)
        found = re.search(r"heddle: (\d+) of (\d+) handlers of the plan are in", err)
        self.assertEqual(found[1], found[2])
        self.assertGreaterEqual(int(found[1]), 5)
        names = re.findall(r"^handler \S+ \d+ \d+ \d+ &?(.*)$", pathlib.Path(PROFILE).read_text(),
                           re.M)
        for part in ("folder::on_asked", "password::on_asked", "metrics_view::on_asked",
                     "access_log::add", "answer_counts::on_answered"):
            self.assertTrue(any(part in name for name in names), (part, names))

    @unittest.skipIf(not PROFILE, "this program was built without a plan")
    def test_the_shipped_program_runs_its_plan_also_after_a_reload(self):
        with self.serve("--metrics") as server:
            def merged():
                return values_of(server.ask("/metrics")[2])["heddle_handlers_merged"]

            # metrics_view and folder; the log and the counts together were rarer than 5 %.
            first = merged()
            self.assertGreaterEqual(first, 2)
            server.send(signal.SIGHUP)
            server.wait_for("Settings read again")
            self.assertEqual(merged(), first)
        with self.serve("--metrics", HEDDLE_PROFILE=str(self.root / "x.prof")) as server:
            self.assertEqual(values_of(server.ask("/metrics")[2])["heddle_handlers_merged"], 0)


if __name__ == "__main__":
    unittest.main()
