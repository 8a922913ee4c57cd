# SPDX-License-Identifier: MIT
"""--check says what a start would say. Each mistake is given to both, and both say the same; what
--check calls good serves. Neither leaves anything behind."""

import os
import pathlib
import re
import socket
import subprocess
import unittest

from program import HEDDLE, LIMIT_S, SiteTest, environment, run


def everything_in(folder):
    """Each name with its state; a look changes none of it."""
    found = {}
    for at, folders, files in os.walk(folder):
        for name in folders + files:
            s = os.lstat(pathlib.Path(at) / name)
            found[str(pathlib.Path(at) / name)] = (s.st_ino, s.st_mode, s.st_size, s.st_mtime_ns)
    return found


class Check(SiteTest):
    def assert_both_say(self, code, said, *words, verb="serve", **variables):
        """A start and --check end with this code, and with the same line in which `said` is."""
        before = everything_in(self.root)
        lines = []
        for check in ([], ["--check"]):
            got, _, talk = run(verb, *words, *check, **variables)
            self.assertEqual(got, code, (words, check, talk))
            lines.append(talk.splitlines()[0])
            self.assertIn(said, lines[-1])
        self.assertEqual(lines[0], lines[1])
        self.assertEqual(everything_in(self.root), before)

    def test_folders_and_files_are_opened(self):
        site = str(self.site)
        (self.root / "file").write_text("x")
        for code, said, words in (
                (1, "/nowhere", ["/nowhere"]),
                (1, "/nowhere", [site, "--site", "a /nowhere"]),
                (1, f"'{site}/inbox'", [site, "--upload", "/inbox/*"]),
                (1, f"'{site}/a/b'", [site, "--upload", "/a/b/*"]),
                (1, "index.html'", [site, "--upload", "/index.html/*"]),
                (1, "/nowhere/log", [site, "--log-file", "/nowhere/log"]),
                (1, "cannot write the log", [site, "--log-file", site]),
                (1, "cannot write the log", [site, "--log-file", f"{self.root}/file/log"]),
                (2, "--redirect-http", [site, "--redirect-http", "0", "--proxy-protocol",
                                        "--trusted-proxy", "10.0.0.1"])):
            with self.subTest(words):
                self.assert_both_say(code, said, *words, "-p", "0")

    def test_a_log_is_not_made_by_looking(self):
        log = self.root / "access.log"
        code, out, _ = run("serve", str(self.site), "--check", "--log-file", str(log))
        self.assertEqual((code, "settings are good" in out), (0, True))
        self.assertFalse(log.exists())
        log.write_text("before\n")
        self.assertEqual(run("serve", str(self.site), "--check", "--log-file", str(log))[0], 0)
        self.assertEqual(log.read_text(), "before\n")

    def test_addresses_are_bound_to(self):
        site = str(self.site)
        (self.root / "file").write_text("x")
        for code, said, words in (
                (1, "203.0.113.9", [site, "-p", "0", "--bind", "203.0.113.9"]),
                (1, "203.0.113.9:80", [site, "-p", "0", "--listen", "203.0.113.9:80"]),
                (1, "/nowhere/s", [site, "-p", "0", "--listen", "unix:/nowhere/s"]),
                (1, "at most 107 bytes", [site, "-p", "0", "--listen", "unix:/tmp/" + "x" * 110]),
                (2, "listens on 127.0.0.1:81", [site, "-p", "81", "--listen", "127.0.0.1:81"]),
                (2, "listens on", [site, "-p", "81", "--public", "--listen", "127.0.0.1:81"]),
                (2, "is given twice", [site, "--listen", "unix:/tmp/s", "--listen", "unix:/tmp/s"]),
                (2, "because of listen 127.0.0.1:82", [site, "-p", "81", "--listen", "127.0.0.1:82",
                                                       "--listen", "127.0.0.1:82"])):
            with self.subTest(words):
                self.assert_both_say(code, said, *words)
        self.assert_both_say(1, "203.0.113.9", "203.0.113.9:81", "http://127.0.0.1:1", verb="proxy")

    def test_a_second_listener_at_the_default_port_is_refused_unless_a_socket_is_given(self):
        code, _, talk = run("serve", str(self.site), "--check", "--listen", "127.0.0.1:8000")
        self.assertEqual(code, 2)
        self.assertIn("listens on 127.0.0.1:8000 already, because of port", talk)
        with socket.create_server(("127.0.0.1", 0)) as s:
            done = subprocess.run(
                ["sh", "-c", 'exec 3<&"$0"; LISTEN_PID=$$ exec "$@"', str(s.fileno()), HEDDLE,
                 "serve", str(self.site), "--check", "--listen", "127.0.0.1:8000"],
                pass_fds=[s.fileno()], text=True, capture_output=True, timeout=LIMIT_S,
                env=environment({"LISTEN_FDS": "1"}))
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_port_in_use_is_no_mistake_of_the_settings(self):
        path = self.root / "s"
        with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as local:
            local.bind(str(path))
            local.listen()
            port = tcp.getsockname()[1]
            code, out, talk = run("serve", str(self.site), "--check", "-p", str(port),
                                  "--listen", f"unix:{path}")
        self.assertEqual((code, "settings are good" in out), (0, True), talk)

    def test_a_handover_is_asked_for_and_compared(self):
        site = str(self.site)
        (self.root / "file").write_text("x")
        for path, said in ((site, "not a socket"), (self.root / "file", "not a socket"),
                           ("/nowhere/s", "/nowhere/s"), ("/tmp/" + "x" * 110, "107 bytes")):
            with self.subTest(path):
                self.assert_both_say(1, said, site, "-p", "0", "--handover", str(path))
        path = self.root / "handover"
        with self.serve("--handover", str(path)) as server:
            same = ("--handover", str(path), "-p", str(server.port))
            for _ in range(3):  # and the server that was asked goes on
                code, out, talk = run("serve", site, "--check", *same)
                self.assertEqual((code, "settings are good" in out), (0, True), talk)
                self.assertEqual(server.ask("/")[0], 200)
            self.assert_both_say(1, f"listens on 127.0.0.1:{server.port}", site, "--handover",
                                 str(path), "-p", "1")
            with self.serve("--handover", str(path), port=str(server.port)) as following:
                server.wait_for("Handed over")
                self.assertEqual(following.ask("/")[0], 200)
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(self.root / "other"))
            other.listen()
            closer = subprocess.Popen(["python3", "-c", "import socket, sys\n"
                                       "s = socket.socket(fileno=int(sys.argv[1]))\n"
                                       "while True: s.accept()[0].close()", str(other.fileno())],
                                      pass_fds=[other.fileno()])
            try:
                self.assert_both_say(1, "is it heddle serve?", site, "-p", "0", "--handover",
                                     str(self.root / "other"))
            finally:
                closer.kill()
                closer.wait(LIMIT_S)

    def test_what_others_have_at_the_names_beside_a_handover_stays(self):
        path = self.root / "handover"
        for number in range(1, 17):
            (self.root / f"handover.new{number if number > 1 else ''}").write_text("mine")
        self.assert_both_say(1, "handover.new16: it is not a socket, and stays", str(self.site),
                             "-p", "0", "--handover", str(path))

    def test_a_socket_of_the_service_manager_is_looked_at(self):
        with socket.socket() as s:  # it does not listen
            for check in ([], ["--check"]):
                done = subprocess.run(
                    ["sh", "-c", 'exec 3<&"$0"; LISTEN_PID=$$ exec "$@"', str(s.fileno()), HEDDLE,
                     "serve", str(self.site), *check], pass_fds=[s.fileno()], text=True,
                    capture_output=True, timeout=LIMIT_S, env=environment({"LISTEN_FDS": "1"}))
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("descriptor 3 is no listening TCP socket", done.stderr)

    def test_a_setting_has_one_value(self):
        config = self.root / "site.conf"
        for text, said in (
                ("port = 1\nlog = off\n\nport = 1\n", ":4: port has a value already, in line 1"),
                ("spa\nspa = off\n", ":2: spa has a value already, in line 1"),
                ("site = a.example /srv/a\nsite = A.example /srv/b\n", "has two folders"),
                ("redirect = /a/* /b\nredirect = /a/* /c\n", "redirect /a/* leads to two places")):
            config.write_text(text)
            self.assert_both_say(2, said, str(self.site), "-c", str(config))
        config.write_text("header = A: 1\nheader = A: 2\nredirect = /a /b\nredirect = /a/* /b\n")
        self.assertEqual(run("serve", str(self.site), "--check", "-c", str(config))[0], 0)

    def test_settings_of_https_need_it(self):
        for name in ("--redirect-http=0", "--tls-own-records"):
            said = f"{name[2:].split('=')[0]} "
            self.assert_both_say(2, said, str(self.site), "-p", "0", name)
        self.assert_both_say(2, "redirect-http sends visitors", "127.0.0.1:0", "127.0.0.1:1",
                             "--redirect-http=0", verb="proxy")

    def test_a_variable_of_a_setting_with_a_digit_is_known(self):
        said = "HEDDLE_PROXY_UPSTREAM_HTTP2: 'x' is no number"
        self.assert_both_say(2, said, "127.0.0.1:0", "127.0.0.1:1", verb="proxy",
                             HEDDLE_PROXY_UPSTREAM_HTTP2="x")

    def test_an_empty_value_of_a_flag_does_not_take_the_next_word(self):
        self.assert_both_say(2, "--header needs a value", str(self.site), "--header=", "-p", "0")

    def test_certificates_need_a_place(self):
        file = self.root / "file"
        file.write_text("x")
        words = ("--acme", "a@example.org", "--acme-name", "a.example", "--acme-store")
        code, _, talk = run("serve", str(self.site), "--check", *words, f"{file}/store")
        if "without" in talk or "with TLS" in talk:
            self.skipTest("built without TLS")
        self.assertEqual(code, 1)
        self.assertRegex(talk, rf"^error: acme-store: .*'{re.escape(str(file))}")
        code, _, talk = run("serve", str(self.site), "--check", *words, str(self.root / "a/b/c"))
        self.assertEqual(code, 0, talk)
        self.assertFalse((self.root / "a").exists())


if __name__ == "__main__":
    unittest.main()
