# SPDX-License-Identifier: MIT
"""--pages: pages from files beside the files of a folder, over HTTP/1.1 and HTTP/2."""

import http.client
import http.server
import os
import pathlib
import shutil
import subprocess
import threading
import time
import unittest

from program import SiteTest, run

CURL = shutil.which("curl")


class Weather(http.server.BaseHTTPRequestHandler):
    """The other service. /slow waits until the test lets it answer."""

    may_answer = threading.Event()
    slow_came = threading.Event()

    def do_GET(self):
        if self.path == "/slow":
            self.slow_came.set()
            self.may_answer.wait(20)
        body = b'{"sky": "<grey>", "days": ["Monday", "Tuesday"]}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class PageFiles(SiteTest):
    def setUp(self):
        super().setUp()
        Weather.may_answer.clear()
        self.other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Weather)
        threading.Thread(target=self.other.serve_forever, daemon=True).start()
        self.addCleanup(self.other.server_close)
        self.addCleanup(self.other.shutdown)
        self.addCleanup(Weather.may_answer.set)
        self.origin = f"http://127.0.0.1:{self.other.server_port}"

    def get(self, server, path, method="GET", headers=None):
        connection = http.client.HTTPConnection(server.host, server.port, timeout=20)
        try:
            connection.request(method, path, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), answer.headers
        finally:
            connection.close()

    def test_pages_are_beside_files_and_their_texts_are_never_sent(self):
        self.put("weather.page", '{{= w = fetch "%s/now" }}<p>{{w.sky}}{{#w.days}} {{.}}{{/w.days}}'
                 % self.origin)
        self.put("parts/index.page", "{{> _part.page}}")
        self.put("_part.page", "part")
        self.put("plain.txt", "plain")
        with self.serve("--pages", "--page-fetch", self.origin, "--header", "X-Site: a",
                        "--header-for", "/weather X-Sky: grey") as server:
            status, body, fields = self.get(server, "/weather")
            self.assertEqual((status, body), (200, "<p>&lt;grey&gt; Monday Tuesday"))
            self.assertEqual((fields["X-Site"], fields["X-Sky"]), ("a", "grey"))
            self.assertEqual(self.get(server, "/parts/")[:2], (200, "part"))
            self.assertEqual(self.get(server, "/plain.txt")[:2], (200, "plain"))
            self.assertEqual(self.get(server, "/")[:2], (200, "<p>index"))
            for path in ("/weather.page", "/weather%2epage", "/_part", "/_part.page",
                         "/parts/index.page", "/x/../weather.page", "/nothing"):
                status, body, _ = self.get(server, path)
                self.assertEqual(status, 404, path)
                self.assertNotIn("{{", body)
            self.assertEqual(self.get(server, "/weather", "HEAD")[0], 200)

    def test_without_the_setting_nothing_is_a_page(self):
        self.put("a.page", "{{x}}")
        with self.serve() as server:
            self.assertEqual(self.get(server, "/a")[0], 404)
            self.assertEqual(self.get(server, "/a.page")[:2], (200, "{{x}}"))

    def test_only_allowed_origins_are_asked(self):
        self.put("a.page", '{{= w = fetch "%s/now" else "not asked" }}{{w}}' % self.origin)
        with self.serve("--pages") as server:
            self.assertEqual(self.get(server, "/a")[:2], (200, "not asked"))

    def test_the_browser_gets_the_text_before_a_slow_source_first(self):
        self.put("a.page", '{{= w = fetch "%s/slow" }}<h1>early</h1>{{w.sky}}' % self.origin)
        with self.serve("--pages", "--page-fetch", self.origin) as server:
            connection = http.client.HTTPConnection(server.host, server.port, timeout=20)
            self.addCleanup(connection.close)
            connection.request("GET", "/a")
            answer = connection.getresponse()
            self.assertEqual(answer.read1(), b"<h1>early</h1>")
            Weather.may_answer.set()
            self.assertEqual(answer.read(), b"&lt;grey&gt;")

    def test_a_change_shows_within_a_moment_and_a_mistake_is_a_500(self):
        self.put("a.page", "one")
        with self.serve("--pages", "--site", f"other.example.org {self.site}") as server:
            self.assertEqual(self.get(server, "/a")[:2], (200, "one"))
            other = {"Host": "other.example.org"}
            self.assertEqual(self.get(server, "/a", headers=other)[:2], (200, "one"))
            self.put("a.page", "{{#news}}")
            limit = time.monotonic() + 10
            while self.get(server, "/a")[0] != 500 and time.monotonic() < limit:
                time.sleep(0.05)
            status, body, _ = self.get(server, "/a")
            self.assertEqual(status, 500)
            self.assertNotIn("news", body)

    @unittest.skipIf(CURL is None, "curl is not here")
    def test_http2_clients_get_pages(self):
        self.put("a.page", '{{= w = fetch "%s/now" }}{{w.sky}}' % self.origin)
        with self.serve("--pages", "--page-fetch", self.origin) as server:
            done = subprocess.run(
                [CURL, "-sS", "--http2-prior-knowledge", "-w", " %{http_version}",
                 f"http://{server.host}:{server.port}/a"], capture_output=True, text=True,
                timeout=20, check=True)
            self.assertEqual(done.stdout, "&lt;grey&gt; 2")

    def test_check_names_each_wrong_page_and_its_line(self):
        self.put("a.page", "\n\n{{#news}}")
        self.put("b/c.page", "{{> parts/none.page}}")
        self.put("d.page", "good")
        code, _, said = run("serve", str(self.site), "--pages", "--check", "-p", "0")
        self.assertEqual(code, 1)
        self.assertIn(f"{self.site}/a.page:3: {{{{#news}}}} is not closed", said)
        self.assertIn(f"{self.site}/b/c.page:1: there is no file {self.site}/parts/none.page", said)
        self.assertNotIn("d.page", said)
        (self.site / "a.page").unlink()
        shutil.rmtree(self.site / "b")
        code, out, _ = run("serve", str(self.site), "--pages", "--check", "-p", "0")
        self.assertEqual((code, "settings are good" in out), (0, True))

    def test_check_names_sources_that_fail_for_every_request(self):
        self.put("a.page", '{{= w = fetch "http://127.0.0.1:9/$1" request.query.id}}\n'
                 '{{= r = read "../../etc/passwd"}}\n{{= n = read "later.json"}}')
        code, _, said = run("serve", str(self.site), "--pages", "--page-fetch", self.origin,
                            "--check", "-p", "0")
        self.assertEqual(code, 1)
        self.assertIn(f"{self.site}/a.page:1: the source w fails for every request: pages may not "
                      "fetch from http://127.0.0.1:9", said)
        self.assertIn(f"{self.site}/a.page:2: the source r fails", said)
        self.assertNotIn("a.page:3", said)

    def test_a_source_beyond_page_connections_waits_and_the_wait_is_its_time(self):
        self.put("a.page", '{{= slow = fetch "%s/slow" else "gone"}}{{slow.sky}}' % self.origin)
        self.put("b.page", '{{= w = fetch "%s/now" within 300ms else "late"}}{{w}}{{w.sky}}'
                 % self.origin)
        config = self.root / "serve.conf"
        config.write_text("page-connections = 1\n", "utf-8")
        for flags, seen in ((["--page-connections", "1"], "late"), (["-c", str(config)], "late"),
                            ([], "&lt;grey&gt;")):
            Weather.may_answer.clear()
            Weather.slow_came.clear()
            with self.serve("--pages", "--page-fetch", self.origin, *flags) as server:
                slow = http.client.HTTPConnection(server.host, server.port, timeout=20)
                self.addCleanup(slow.close)
                slow.request("GET", "/a")
                self.assertTrue(Weather.slow_came.wait(20))
                self.assertEqual(self.get(server, "/b")[:2], (200, seen), flags)
                Weather.may_answer.set()
                self.assertEqual(slow.getresponse().read(), b"&lt;grey&gt;")

    def test_settings_that_make_no_sense_are_refused(self):
        for said, words in (("'127.0.0.1:1' is no origin", ["--pages", "--page-fetch",
                                                            "127.0.0.1:1"]),
                            ("'http://a/b' is no origin", ["--pages", "--page-fetch",
                                                           "http://a/b"]),
                            ("which --pages turns on", ["--page-fetch", "http://127.0.0.1:1"])):
            code, _, talk = run("serve", str(self.site), *words, "-p", "0")
            self.assertEqual(code, 2, words)
            self.assertIn(said, talk)

    def test_links_that_lead_out_of_the_folder_are_no_pages(self):
        outside = pathlib.Path(self.root) / "outside.page"
        outside.write_text("secret")
        os.symlink(outside, self.site / "out.page")
        self.put("reads.page", '{{= s = read "out.page" else "refused"}}{{s}}')
        with self.serve("--pages") as server:
            self.assertEqual(self.get(server, "/out")[0], 404)
            self.assertEqual(self.get(server, "/reads")[:2], (200, "refused"))


if __name__ == "__main__":
    unittest.main()
