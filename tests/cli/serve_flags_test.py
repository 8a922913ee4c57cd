# SPDX-License-Identifier: MIT
"""What each setting of heddle serve does, and where settings come from."""

import base64
import os
import re
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
            self.assertIn(f"--header: the server sets the header '{name}' itself", err)

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

    def test_links_to_hidden_names_lead_nowhere_unless_those_are_served(self):
        self.put(".env", "secret")
        self.put(".git/config", "secret")
        self.put("files/.deep/key", "secret")
        (self.site / "open").symlink_to(".env")
        (self.site / "tree").symlink_to(".git")
        (self.site / "files/key").symlink_to(".deep/key")
        (self.site / "files/in").symlink_to("../index.html")
        targets = ("/open", "/tree/config", "/files/key")
        with self.serve() as server:
            for target in targets:
                self.assertEqual(server.ask(target)[0], 404, target)
            self.assertEqual(server.ask("/files/in")[0], 200)
        with self.serve("--hidden") as server:
            for target in targets:
                self.assertEqual(server.ask(target)[::2], (200, b"secret"), target)

    def test_well_known_is_served_without_hidden(self):
        self.put(".well-known/acme-challenge/token", "answer")
        self.put(".well-known/.key", "secret")
        with self.serve() as server:
            self.assertEqual(server.ask("/.well-known/acme-challenge/token")[::2],
                             (200, b"answer"))
            for target in ("/.well-known/.key", "/.well-knownish", "/files/.well-known/x"):
                self.assertEqual(server.ask(target)[0], 404, target)

    def test_a_list_names_what_can_be_had_and_can_be_sorted(self):
        for name, size, when in (("file10", 30, 100), ("file2", 10, 300), ("file1", 30, 200)):
            path = self.put("files/" + name, "x" * size)
            os.utime(path, (when, when))
        (self.site / "files/sub").mkdir()
        self.put(".dot", "d")
        for name, target in (("out", "/etc/passwd"), ("up", "../.."), ("gone", "none"),
                             ("dot", "../.dot"), ("round", "round")):
            (self.site / "files" / name).symlink_to(target)
        (self.site / "files/site").symlink_to("..")
        (self.site / "files/link").symlink_to("file10")

        with self.serve() as server:
            def names(query=""):
                page = server.ask("/files/" + query)[2].decode()
                links = re.findall(r'<li><a href="\./([^"?]*)[^"]*"><b>', page)
                for link in links:
                    self.assertIn(server.ask("/files/" + link)[0], (200,), link)
                return " ".join(links)

            self.assertEqual(names(), "site/ sub/ file1 file2 file10 link")
            self.assertEqual(names("?sort=-name"), "sub/ site/ link file10 file2 file1")
            self.assertEqual(names("?sort=-size").split()[-1], "file2")
            self.assertEqual(names("?sort=-time").split()[-2:], ["link", "file10"])
            self.assertIn(b'href="?sort=time"', server.ask("/files/?sort=-time")[2])

    def test_errors_depend_on_what_is_accepted_and_say_so(self):
        with self.serve("--metrics") as server:
            for accept in (HTML, "text/plain", "application/json", "*/*"):
                for target, method, status in (("/none", "GET", 404), ("/", "POST", 405)):
                    got, headers, _ = server.ask(target, method, Accept=accept)
                    self.assertEqual(got, status)
                    self.assertIn("Accept", headers["Vary"], (target, accept))
                    self.assertEqual(headers["X-Content-Type-Options"], "nosniff")

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
        self.assertIn("cannot read the settings in '/none': No such file or directory", err)
        code, _, err = run("serve", "-c", str(self.site))
        self.assertEqual(code, 2)
        self.assertIn(f"cannot read the settings in '{self.site}': Is a directory", err)
        os.truncate(settings, 17 << 20)
        code, _, err = run("serve", "-c", str(settings))
        self.assertEqual(code, 2)
        self.assertIn(f"cannot read the settings in '{settings}': File too large", err)

    def test_variables_of_a_kubernetes_service_are_no_settings(self):
        """As a pod gets them for Services named heddle-serve, heddle-serve-blue and heddle-proxy,
        and a container by docker --link."""
        def links(name):
            at = "10.0.0.5"
            return {f"{name}_SERVICE_HOST": at, f"{name}_SERVICE_PORT": "80",
                    f"{name}_SERVICE_PORT_HTTP": "80", f"{name}_PORT": f"tcp://{at}:80",
                    f"{name}_PORT_80_TCP": f"tcp://{at}:80", f"{name}_PORT_80_TCP_PROTO": "tcp",
                    f"{name}_PORT_80_TCP_PORT": "80", f"{name}_PORT_80_TCP_ADDR": at}
        all_links = links("HEDDLE_SERVE") | links("HEDDLE_SERVE_BLUE") | links("HEDDLE_PROXY")
        with self.serve("--metrics", **all_links, port="0") as server:
            self.assertEqual(server.ask("/")[0], 200)
            said = [line for line in server.talk.splitlines() if "HEDDLE_SERVE" in line]
            self.assertEqual(len(said), 1, server.talk)
            self.assertIn("HEDDLE_SERVE_BLUE_PORT_80_TCP_ADDR", said[0])
            self.assertNotIn("HEDDLE_PROXY", said[0])
        self.assertEqual(run("proxy", ":0", "http://127.0.0.1:1", "--check", **all_links)[0], 0)
        for name, value in (("HEDDLE_SERVE_PORT", "tcp:/x"), ("HEDDLE_SERVE_PROT", "1"),
                            ("HEDDLE_SERVE_PORT_80", "1"), ("HEDDLE_SERVE_HOST", "x"),
                            ("HEDDLE_SERVE_PORT_80_TCP_X", "1")):
            self.assertEqual(run("serve", str(self.site), "--check", **{name: value})[0], 2, name)

    def test_times_are_given_in_hours_and_days_too(self):
        for text in ("500ms", "10s", "5m", "12h", "365d", "7"):
            self.assertEqual(run("serve", str(self.site), "--check", "--hsts", text)[0], 0, text)
        for text in ("1w", "h", "-1d", "1.5h", "3651d", "99999999999999999999d", "1 d"):
            code, _, talk = run("serve", str(self.site), "--check", "--hsts", text)
            self.assertEqual(code, 2, text)
            self.assertIn(f"'{text}' is ", talk)

    def test_an_interface_is_given_by_its_name_too(self):
        check = ("serve", str(self.site), "--check", "-p", "0")
        code, _, talk = run(*check, "--bind", "::1%lo")
        self.assertEqual(code, 0, talk)
        self.assertEqual(run(*check, "--listen", "[::1%lo]:0")[0], 2)  # only for its port
        for words in (["--bind", "fe80::1%nowhere0"], ["--listen", "[fe80::1%nowhere0]:81"]):
            code, _, talk = run(*check, *words)
            self.assertEqual(code, 2)
            self.assertIn("this machine has no interface 'nowhere0'", talk)

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
