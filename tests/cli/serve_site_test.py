# SPDX-License-Identifier: MIT
"""What a real site needs beside its files: pages of its own for errors, clean addresses, moved
paths, fields by path, several names, limits by address, logs in the forms of other servers."""

import json
import os
import re
import signal
import socket
import unittest

from program import LIMIT_S, SiteTest, run, wait_until

BROWSER = {"Accept": "text/html,application/xhtml+xml"}


class SitePages(SiteTest):
    def test_the_sites_own_page_says_that_something_is_missing(self):
        self.put("404.html", "<p>lost?")
        with self.serve() as server:
            status, headers, body = server.ask("/nothing", **BROWSER)
            self.assertEqual((status, body), (404, b"<p>lost?"))
            self.assertEqual(headers["Content-Type"], "text/html; charset=utf-8")
            self.assertEqual(server.ask("/.git/config", **BROWSER)[2], b"<p>lost?")
            self.assertNotIn(b"lost", server.ask("/nothing", Accept="application/json")[2])
            self.assertEqual(server.ask("/404.html")[0], 200)
            self.assertEqual(server.ask("/nothing", "HEAD", **BROWSER)[0::2], (404, b""))

    def test_clean_addresses(self):
        self.put("about.html", "about")
        self.put("both.html", "page")
        self.put("both/index.html", "folder")
        with self.serve("--clean-urls") as server:
            for _ in range(2):  # from the file, and from the cache
                self.assertEqual(server.ask("/about")[::2], (200, b"about"))
            for asked, to in (("/about.html", "/about"), ("/index.html", "/"),
                              ("/about.html?a=1", "/about?a=1"), ("/both/index.html", "/both/"),
                              ("/about%2ehtml", "/about"), ("//about.html", "/about"),
                              ("/x/../about.html", "/about")):
                status, headers, _ = server.ask(asked)
                self.assertEqual((status, headers["Location"]), (308, to))
                self.assertEqual(server.ask(to)[0], 200)
            self.assertEqual(server.ask("/both")[1]["Location"], "/both/")
            self.assertEqual(server.ask("/both/")[2], b"folder")
            self.assertEqual(server.ask("/nothing")[0], 404)
            self.assertNotIn("Location", server.ask("//evil.example.com/x.html")[1])
        with self.serve() as server:
            self.assertEqual(server.ask("/about")[0], 404)
            self.assertEqual(server.ask("/about.html")[0], 200)

    def test_a_page_has_a_clean_address_only_where_that_answers_with_it(self):
        self.put("v1.2.html", "release")
        self.put("both.html", "page")
        self.put("both/index.html", "folder")
        self.put("twice", "file")
        self.put("twice.html", "page")
        self.put("a.html/index.html", "in a folder")
        self.put(".html", "hidden")
        big = self.put("big.html", b"x" * 2_000_000).read_bytes()
        with self.serve("--clean-urls") as server:
            for _ in range(2):  # from the file, and from the cache
                for asked, body in (("/v1.2.html", b"release"), ("/both.html", b"page"),
                                    ("/both/", b"folder"), ("/twice", b"file"),
                                    ("/twice.html", b"page"), ("/big", big)):
                    self.assertEqual(server.ask(asked)[::2], (200, body), asked)
                self.assertEqual(server.ask("/both")[1]["Location"], "/both/")
                self.assertEqual(server.ask("/big.html")[0], 308)
                self.assertEqual(server.ask("/a.html")[1]["Location"], "/a.html/")
                # A path that is refused is refused, with any ending.
                for asked, status in (("/\\evil.example.com/index.html", 400),
                                      ("/..//x/index.html", 400),
                                      ("/%2f/x/index.html", 400), ("/%00/index.html", 400),
                                      ("/.html", 404), ("/none.html", 404), ("/.x/a.html", 404),
                                      ("/none/index.html", 404), ("/v1.2", 404)):
                    got, headers, _ = server.ask(asked)
                    self.assertEqual((got, headers["Location"]), (status, None), asked)
        with self.serve("--clean-urls", "--hidden") as server:
            self.assertEqual(server.ask("/.html")[::2], (200, b"hidden"))

    def test_a_folder_is_listed_for_programs(self):
        (self.site / "index.html").unlink()
        self.put("b", "12345")
        self.put('a"<', "")
        self.put("sub/x", "")
        os.close(os.open(os.fsencode(self.site) + b"/\xff\xc0", os.O_CREAT))
        with self.serve() as server:
            status, headers, body = server.ask("/", Accept="application/json")
            self.assertEqual((status, headers["Content-Type"]), (200, "application/json"))
            self.assertEqual(headers["Vary"], "Accept")
            got = json.loads(body.decode())
            self.assertEqual((got["path"], got["left_out"]), ("/", 0))
            names = [e["name"] for e in got["entries"]]
            self.assertEqual(names[:3], ["sub", 'a"<', "b"])
            self.assertEqual(names[3], "\ufffd\ufffd")
            self.assertEqual(got["entries"][2]["size"], 5)
            self.assertRegex(got["entries"][2]["modified"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
            self.assertEqual(got["entries"][0]["type"], "folder")
            down = server.ask("/?sort=-name", Accept="application/json")[2]
            self.assertEqual([e["name"] for e in json.loads(down)["entries"]][1:], names[:0:-1])
            self.assertIn(b"<ul>", server.ask("/", **BROWSER)[2])


class SiteRules(SiteTest):
    def test_paths_that_have_moved(self):
        with self.serve("--redirect", "/old/* /new/*", "--redirect", "/a /b?x=1 301",
                        "--redirect", "/out https://example.org/ 308",
                        "--redirect", "/strip/* /*") as server:
            for asked, status, to in (
                    ("/old/x/y", 302, "/new/x/y"), ("/old/x?q=1", 302, "/new/x?q=1"),
                    ("/a?y=2", 301, "/b?x=1"), ("/out", 308, "https://example.org/"),
                    ("/strip//evil.example.com/", 302, "/evil.example.com/"),
                    ("/strip/%5Cevil", 302, "/%5Cevil")):
                got, headers, _ = server.ask(asked)
                self.assertEqual((got, headers["Location"]), (status, to), asked)
            self.assertEqual(server.ask("/oldx")[0], 404)
        with self.serve("--redirect", "/old /new#part 301", "--redirect", "/f/* /g?a=1#*",
                        "--redirect", "/s/* /\\*", "--redirect", "/o/* https://new.example.org/*#x",
                        "--redirect", "/h https://new.example.org#x") as server:
            for asked, to in (("/old?x=1", "/new?x=1#part"), ("/old", "/new#part"),
                              ("/f/b?c", "/g?a=1#b"), ("/s//evil.example/", "/evil.example/"),
                              ("/o/a?b", "https://new.example.org/a?b#x"),
                              ("/h?b", "https://new.example.org/?b#x")):
                self.assertEqual(server.ask(asked)[1]["Location"], to, asked)
            for asked in ("/o/%00", "/o/..//../x", "/o/\\evil"):
                got, headers, _ = server.ask(asked)
                self.assertEqual((got, headers["Location"]), (400, None), asked)
        for bad in ("/x", "/x y", "x /y", "/x* /y* 200", "/x /y*", "/x*y /z", "/* //*x*",
                    "/m/* https://new.example.org*", "/m/* https://*", "/m/* http://*/x",
                    "/m/* https://a.example.org:*/x"):
            code, _, talk = run("serve", str(self.site), "--check", "--redirect", bad)
            self.assertEqual(code, 2, bad)
            self.assertIn("--redirect", talk)

    def test_fields_by_path(self):
        self.put("assets/a.css", "a")
        self.put("b.woff2", "b")
        with self.serve("--header-for", "/assets/* Cache-Control: max-age=31536000, immutable",
                        "--header-for", "*.woff2 X-Font: yes") as server:
            for _ in range(2):
                self.assertEqual(server.ask("/assets/a.css")[1]["Cache-Control"],
                                 "max-age=31536000, immutable")
                self.assertEqual(server.ask("/b.woff2")[1]["X-Font"], "yes")
            self.assertIsNone(server.ask("/")[1]["Cache-Control"])
            self.assertIsNone(server.ask("/assets/none")[1]["Cache-Control"])
            tag = server.ask("/assets/a.css")[1]["ETag"]
            status, headers, _ = server.ask("/assets/a.css", If_None_Match=tag)
            self.assertEqual((status, headers["Cache-Control"]),
                             (304, "max-age=31536000, immutable"))
        self.assertEqual(run("serve", "--check", "--header-for", "*.x Content-Length: 1")[0], 2)

    def test_paths_written_another_way_are_the_same_paths(self):
        self.put("assets/a.css", "a")
        with self.serve("--rate", "2/h /login", "--header-for", "/assets/* X-A: 1") as server:
            ways = ("/login", "/%6cogin", "//login", "/./login", "/x/../login")
            self.assertEqual([server.ask(way)[0] for way in ways], [404, 404, 429, 429, 429])
            for way in ("/assets/a.css", "/%61ssets/a.css", "//assets/a.css"):
                self.assertEqual(server.ask(way)[1]["X-A"], "1", way)

    def test_sites_by_name(self):
        other = self.root / "other"
        other.mkdir()
        (other / "index.html").write_text("other")
        with self.serve("--site", f"www.example.org {other}",
                        "--site", f"*.example.net {other}") as server:
            for name, page in (("www.example.org", b"other"), ("WWW.example.org:8000", b"other"),
                               ("www.example.org.", b"other"), ("a.b.example.net", b"other"),
                               ("example.net", b"<p>index"), ("example.org", b"<p>index"),
                               ("[::1]:80", b"<p>index"), ("xwww.example.org", b"<p>index")):
                self.assertEqual(server.ask("/", Host=name)[2], page, name)
        code, _, talk = run("serve", str(self.site), "--check", "--site", "a /no/such/folder")
        self.assertEqual(code, 1, talk)
        self.assertIn("/no/such/folder", talk)

    def test_an_address_that_asks_too_often_has_to_wait(self):
        with self.serve("--rate", "3/h /login*") as server:
            self.assertEqual([server.ask("/login")[0] for _ in range(5)], [404] * 3 + [429] * 2)
            retry = int(server.ask("/login/x")[1]["Retry-After"])
            self.assertTrue(0 < retry <= 1200, retry)
            self.assertEqual([server.ask("/")[0] for _ in range(5)], [200] * 5)
        with self.serve("--rate", "1/h", "--trusted", "127.0.0.1") as server:
            self.assertEqual([server.ask("/")[0] for _ in range(3)], [200] * 3)
        with self.serve("--rate", "1/s") as server:  # even a slow machine asks more often
            for status in (429, 200):
                wait_until(lambda: server.ask("/")[0], f"the status {status}",
                           lambda got, status=status: got == status)

    def test_settings_are_looked_at_without_serving(self):
        code, out, _ = run("serve", str(self.site), "--check", "--redirect", "/a /b")
        self.assertEqual(code, 0)
        self.assertIn("settings are good", out)
        config = self.root / "site.conf"
        config.write_text("header = X-A: 1\nredirects = /a /b\n")
        code, _, talk = run("serve", str(self.site), "--check", "-c", str(config))
        self.assertEqual(code, 2)
        self.assertIn("site.conf:2", talk)
        self.assertEqual(run("serve", "/no/such/folder", "--check")[0], 1)
        self.assertEqual(run("serve", str(self.site), "--check", "--redirect-http", "0")[0], 2)


class SiteLog(SiteTest):
    COMMON = (r'^127\.0\.0\.1 - - \[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d \+0000\] '
              r'"GET (\S+) HTTP/1\.1" (\d+) (\d+)')

    def test_forms_of_other_servers(self):
        with self.serve("--log", "common") as server:
            server.ask("/")
            found = server.wait_for(r"127.*\n", "log")[0]
            self.assertEqual(re.match(self.COMMON + "$", found).groups(), ("/", "200", "8"))
        with self.serve("--log", "combined") as server:
            server.ask("/x", Referer='http://a/"b\\', User_Agent="te\xe9st")
            found = server.wait_for(r"127.*\n", "log")[0]
            tail = re.match(self.COMMON + ' "(.*)" "(.*)"$', found).groups()[3:]
            self.assertEqual(tail, ("http://a/\\x22b\\x5c", "te\\xe9st"))
        with self.serve("--log", "combined") as server:
            with socket.create_connection((server.host, server.port), timeout=LIMIT_S) as raw:
                raw.sendall(b"nonsense\r\n\r\n")
                raw.recv(100)
            self.assertRegex(server.wait_for(r"127.*\n", "log")[0], r'"-" 400 \d+ "-" "-"$')

    def test_a_log_that_was_moved_away_is_opened_again(self):
        log = self.root / "access.log"
        with self.serve("--log-file", str(log)) as server:
            server.ask("/one")
            wait_until(log.read_text, "/one in the log", lambda text: "/one" in text)
            log.rename(self.root / "access.log.1")
            server.send(signal.SIGUSR1)
            wait_until(log.exists, "a new log")
            server.ask("/two")
            wait_until(log.read_text, "/two in the log", lambda text: "/two" in text)
            self.assertNotIn("/two", (self.root / "access.log.1").read_text())
            self.assertEqual(log.stat().st_mode & 0o777, 0o640)
            self.assertEqual(server.stop(), 0)
        self.assertEqual(run("serve", str(self.site), "-p", "0", "--log-file", "/no/such/x")[0], 1)


if __name__ == "__main__":
    unittest.main()
