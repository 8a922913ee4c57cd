# SPDX-License-Identifier: MIT
"""What each setting of heddle serve does, and where settings come from."""

import base64
import signal
import unittest

from program import SiteTest, run

HTML = "text/html,*/*;q=0.8"


class ServeFlags(SiteTest):
    def test_auth_lets_in_who_knows_the_password_and_nobody_else(self):
        def basic(text):
            return "Basic " + base64.b64encode(text.encode()).decode()

        with self.serve("--auth", "me:open sesame") as server:
            status, headers, _ = server.ask("/")
            self.assertEqual(status, 401)
            self.assertTrue(headers["WWW-Authenticate"].startswith("Basic realm="))
            for wrong in ("me:open", "me:", "me:open sesam3", "ME:open sesame"):
                self.assertEqual(server.ask("/", Authorization=basic(wrong))[0], 401, wrong)
            for wrong in ("", "Basic", "Basic ", "Bearer x", basic("me:open sesame") + "A"):
                self.assertEqual(server.ask("/", Authorization=wrong)[0], 401, wrong)
            self.assertEqual(server.ask("/", Authorization=basic("me:open sesame"))[0], 200)
            self.assertNotIn("sesame", server.talk)

    def test_header_and_cors_stand_in_every_answer(self):
        with self.serve("--header", "X-A: 1", "--header", "Cache-Control: no-cache",
                        "--cors") as server:
            for target, asked in (("/", {}), ("/none", {}), ("/files/", {}),
                                  ("/", {"Range": "bytes=5000-"})):
                headers = server.ask(target, **asked)[1]
                self.assertEqual(headers["X-A"], "1", target)
                self.assertEqual(headers["Cache-Control"], "no-cache", target)
                self.assertEqual(headers["Access-Control-Allow-Origin"], "*", target)
            status, headers, _ = server.ask("/", "OPTIONS", Origin="x",
                                            Access_Control_Request_Method="GET")
            self.assertEqual(status, 204)
            self.assertIn("GET", headers["Access-Control-Allow-Methods"])

    def test_a_header_that_would_split_the_answer_is_refused(self):
        code, _, err = run("serve", str(self.site), "-p", "0", "--header", "A: b\nSet-Cookie: c")
        self.assertEqual(code, 2)
        self.assertIn("error: --header: the header 'A' cannot be sent", err)

    def test_a_header_that_the_server_says_itself_is_refused(self):
        for name in ("Content-Length", "transfer-encoding", "Connection", "Date", "Upgrade"):
            code, _, err = run("serve", str(self.site), "-p", "0", "--header", name + ": 5")
            self.assertEqual(code, 2, name)
            self.assertIn(f"--header: the header '{name}' is the server's own", err)

    def test_a_switch_that_is_turned_off_is_off(self):
        for off in ("off", "false", "no", "0"):
            with self.serve(f"--cors={off}", f"--metrics={off}", f"--no-listing={off}",
                            f"--public={off}") as server:
                self.assertIsNone(server.ask("/")[1]["Access-Control-Allow-Origin"])
                self.assertEqual(server.ask("/metrics")[0], 404)
                self.assertIn("127.0.0.1", server.talk + server.host)
        with self.serve("--cors=on") as server:
            self.assertEqual(server.ask("/")[1]["Access-Control-Allow-Origin"], "*")
        code, _, err = run("serve", str(self.site), "-p", "0", "--public=maybe")
        self.assertEqual(code, 2)
        self.assertIn("--public: 'maybe' is neither on nor off", err)

    def test_values_that_would_serve_nobody_are_refused(self):
        for words, wrong in ((("--write-timeout", "0"), "a send needs some time"),
                             (("--address-space", "0"), "--address-space: '0' is not from"),
                             (("--bind", "127.0.0.1:80"), "names a port; give it with -p"),
                             (("--bind", "foo"), "--bind: 'foo' is no address"),
                             (("--driver", "foo"), "--driver: 'foo' is no driver")):
            code, _, err = run("serve", str(self.site), "-p", "0", *words)
            self.assertEqual(code, 2, err)
            self.assertIn(wrong, err)
        with self.serve("--connections", str(2**64 - 1), "--workers", "2") as server:
            self.assertEqual(server.ask("/")[0], 200)

    def test_spa_answers_for_pages_but_not_for_missing_files(self):
        with self.serve("--spa") as server:
            self.assertEqual(server.ask("/account/7")[::2], (200, b"<p>index"))
            self.assertEqual(server.ask("/account/7")[::2], (200, b"<p>index"))
            self.assertEqual(server.ask("/app.js")[0], 404)
        with self.serve() as server:
            self.assertEqual(server.ask("/account/7")[0], 404)

    def test_hidden_names_and_listings_are_as_asked(self):
        self.put(".secret/key", "k")
        self.put("files/<b>.txt", "x" * 1240)
        with self.serve() as server:
            self.assertEqual(server.ask("/.secret/key")[0], 404)
            page = server.ask("/files/")[2].decode()
            self.assertIn("&lt;b&gt;.txt", page)
            self.assertIn("1.2 kB", page)
            self.assertNotIn("<script", page)
        with self.serve("--hidden", "--no-listing") as server:
            self.assertEqual(server.ask("/.secret/key")[0], 200)
            self.assertEqual(server.ask("/files/")[0], 404)

    def test_links_that_leave_the_folder_lead_nowhere(self):
        outside = self.root / "outside.txt"
        outside.write_text("secret" * 1000)
        (self.site / "out").symlink_to(outside)
        (self.site / "up").symlink_to("..")
        (self.site / "in").symlink_to("index.html")
        self.put("files/a", "a")
        (self.site / "files/out").symlink_to(outside)
        with self.serve() as server:
            for target in ("/out", "/up/outside.txt", "/files/out", "/up/"):
                self.assertEqual(server.ask(target)[0], 404, target)
            self.assertEqual(server.ask("/in")[0], 200)
            self.assertNotIn(b"6.0 kB", server.ask("/files/")[2])

    def test_errors_are_pages_for_browsers_and_lines_for_programs(self):
        with self.serve() as server:
            _, headers, body = server.ask("/%3Cnone%3E", Accept=HTML)
            self.assertTrue(headers["Content-Type"].startswith("text/html"))
            self.assertIn(b"There is nothing at this address", body)
            _, headers, body = server.ask("/none")
            self.assertTrue(headers["Content-Type"].startswith("text/plain"))
            self.assertEqual(body, b"404 Not Found\n")

    def test_metrics_count_and_only_this_machine_may_read_them(self):
        with self.serve("--metrics") as server:
            for _ in range(3):
                server.ask("/")
            status, headers, body = server.ask("/metrics")
            self.assertEqual(status, 200)
            self.assertIn("version=0.0.4", headers["Content-Type"])
            values = {}
            for line in body.decode().splitlines():
                if not line.startswith("#"):
                    name, value = line.rsplit(" ", 1)
                    values[name] = float(value)
            self.assertEqual(values["heddle_http_requests_total"], 3)
            self.assertEqual(values["heddle_files_hits_total"], 2)
            self.assertEqual(values["heddle_files_misses_total"], 1)
            self.assertEqual(values["heddle_http_latency_seconds_count"], 3)
            self.assertGreater(values['heddle_http_latency_seconds{quantile="0.99"}'], 0)
        with self.serve() as server:
            self.assertEqual(server.ask("/metrics")[0], 404)

    def test_flags_win_over_the_environment_and_that_over_the_file(self):
        settings = self.root / "heddle.conf"
        settings.write_text("# a site\n\nheader = X-From: file\nlog = json\nspa\ncors = off\n"
                            "hidden = yes\n")
        self.put(".dot", "d")
        with self.serve("-c", str(settings), "--log", "off", HEDDLE_SERVE_HIDDEN="no",
                        HEDDLE_SERVE_HEADER="X-Also: env") as server:
            status, headers, _ = server.ask("/page")
            self.assertEqual((status, headers["X-From"], headers["X-Also"]), (200, "file", "env"))
            self.assertEqual(server.ask("/.dot")[0], 404)
            server.stop()
            self.assertEqual(server.log, "")

    def test_a_mistake_in_the_file_is_told_with_its_line(self):
        settings = self.root / "heddle.conf"
        for text, wrong in (("log = plain\nprot = 1\n", ":2: there is no setting 'prot'"),
                            ("port\n", ":1: write port = PORT"),
                            ("\n\nport = x", ":3: 'x' is no port")):
            settings.write_text(text)
            code, _, err = run("serve", "-c", str(settings))
            self.assertEqual(code, 2)
            self.assertTrue(err.startswith(f"error: {settings}{wrong}"), err)
        code, _, err = run("serve", "-c", "/none")
        self.assertEqual(code, 2)
        self.assertIn("cannot read the settings in '/none'", err)
        code, _, err = run("serve", "-c", str(self.site))
        self.assertEqual(code, 2)
        self.assertIn(f"cannot read the settings in '{self.site}'", err)

    def test_a_hangup_reads_the_settings_again_and_keeps_them_when_they_are_wrong(self):
        settings = self.root / "heddle.conf"
        settings.write_text("header = X-State: old\n")
        with self.serve("-c", str(settings)) as server:
            connection = server.connect()

            def state():
                connection.request("GET", "/")
                answer = connection.getresponse()
                answer.read()
                return answer.headers["X-State"]

            self.assertEqual(state(), "old")
            settings.write_text("header = X-State: new\n")
            server.send(signal.SIGHUP)
            server.wait_for("Settings read again")
            self.assertEqual(state(), "new")
            settings.write_text("nonsense\n")
            server.send(signal.SIGHUP)
            server.wait_for(r"error: .*:1: there is no setting 'nonsense'")
            self.assertEqual(state(), "new")
            connection.close()


if __name__ == "__main__":
    unittest.main()
