# SPDX-License-Identifier: MIT
"""heddle serve from its first words to its last: banner, ports, log, drain, exit, mistakes."""

import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import termios
import unittest

from program import HEDDLE, LIMIT_S, SiteTest, Server, environment, run, wait_until


def has_v6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
        return True
    except OSError:
        return False


class ServeStart(SiteTest):
    def test_it_says_where_it_serves_answers_there_and_ends_with_a_line_of_figures(self):
        self.put("files/a.txt", "a")
        self.put(".hidden/b.txt", "b")
        with self.serve() as server:
            self.assertIn(f"Serving  {self.site}/  (2 files)\n", server.talk)
            self.assertEqual(server.host, "127.0.0.1")
            server.wait_for("network  off  add --public")
            server.wait_for("Ctrl-C stops")
            status, headers, body = server.ask("/")
            self.assertEqual((status, body), (200, b"<p>index"))
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(server.stop(signal.SIGINT), 0)
            self.assertRegex(server.talk, r"Draining: \d+ connections\. Ctrl-C again")
            self.assertRegex(server.talk, r"\n1 requests, \d+ B, p50 [\d.]+ us, .* 0 errors\n$")

    def test_public_is_every_interface_of_both_versions_under_addresses_that_answer(self):
        with self.serve("--public", "--metrics") as server:
            server.wait_for("Ctrl-C stops")
            self.assertEqual(server.host, "127.0.0.1")
            hosts = ["127.0.0.1"]
            if has_v6():
                hosts.append("::1")
            for url in re.findall(r"network  http://(\S+):\d+/", server.talk):
                self.assertNotRegex(url, r"^\[fe80|%")  # of one cable only: no browser takes it
                hosts.append(url.strip("[]"))
            for host in hosts:
                server.host = host
                self.assertEqual(server.ask("/")[0], 200, host)
            # A visitor by version 4 is logged, and trusted, as one by version 4.
            server.host = "127.0.0.1"
            self.assertEqual(server.ask("/metrics")[0], 200)
            server.stop()
            self.assertRegex(server.log, r"GET /metrics .* 127\.0\.0\.1:\d+\n")
            self.assertNotIn("ffff", server.log)

    def test_the_log_is_one_line_an_answer_and_cannot_be_forged(self):
        with self.serve() as server:
            server.ask("/none?a=1")
            server.wait_for(r"\d\d:\d\d:\d\d  404  GET /none\?a=1  \d+ B  \d+\.\d ms  127", "log")
            with socket.create_connection((server.host, server.port)) as raw:
                raw.sendall(b"GET /x\n12:00:00  200  GET /forged HTTP/1.1\r\nHost: x\r\n\r\n")
                self.assertIn(b" 400 ", raw.recv(4096))
            server.wait_for(r"  400  \(not a request\)", "log")
            server.stop()
            self.assertEqual(len(server.log.splitlines()), 2)

    def test_the_log_as_json_is_json(self):
        with self.serve("--log", "json") as server:
            server.ask("/%22quoted%22\\")
            server.stop()
            line = json.loads(server.log)
            self.assertEqual(line["target"], '/%22quoted%22\\')
            self.assertEqual((line["status"], line["method"]), (400, "GET"))
            self.assertRegex(line["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
            self.assertTrue(line["peer"].startswith("127.0.0.1:"))

    def test_no_log_was_asked_for_and_none_is_written(self):
        with self.serve("--log", "off") as server:
            server.ask("/")
            server.stop()
            self.assertEqual(server.log, "")

    def test_a_log_that_nobody_reads_does_not_stop_the_server(self):
        with self.serve("--metrics") as server:
            # A pipe of one page is full once anything is in it.
            fcntl.fcntl(server.process.stdout, 1031, 4096)  # F_SETPIPE_SZ
            connection = server.connect()

            def bytes_in_pipe():
                count = fcntl.ioctl(server.process.stdout, termios.FIONREAD, bytes(4))
                return int.from_bytes(count, sys.byteorder)

            def dropped():
                """Lines that were left out because those before them could not be written."""
                for _ in range(100):
                    got = server.ask("/" + "n" * 500, over=connection)
                    self.assertEqual(got[2][:3], b"404")
                return server.metric("log_dropped", connection)

            server.ask("/", over=connection)
            wait_until(bytes_in_pipe, "the first line of the log in the pipe")
            wait_until(dropped, "the server to drop lines")
            self.assertEqual(server.ask("/", over=connection)[2], b"<p>index")
            connection.close()
            self.assertEqual(server.stop(), 0)

    def wait_until_refused(self, server):
        """It says that it drains a moment before the port is closed; who is just connecting when
        it is closed is reset."""
        def refused():
            try:
                socket.create_connection((server.host, server.port)).close()
            except ConnectionRefusedError:
                return True
            return False

        wait_until(refused, "new connections to be refused", but=ConnectionResetError)

    def test_the_first_ctrl_c_finishes_what_is_open_and_the_second_stops(self):
        for again in (False, True):
            with self.serve("--metrics") as server:
                held = server.connect()
                server.metric("http_connections_open", held)
                raw = socket.create_connection((server.host, server.port), LIMIT_S)
                self.addCleanup(raw.close)
                raw.sendall(b"GET / HTTP/1.1\r\n")  # a request has begun
                wait_until(lambda: server.metric("http_connections_open", held),
                           "the server to take the second connection", lambda n: n == 2)
                # Its bytes had come before; one turn later the server has read them, too.
                server.metric("http_connections_open", held)
                server.send()
                server.wait_for("Draining: 2 connections")
                held.close()
                self.wait_until_refused(server)
                if again:
                    self.assertEqual(server.stop(signal.SIGINT), 0)
                else:
                    raw.sendall(b"Host: x\r\n\r\n")
                    self.assertIn(b"200 OK", raw.recv(4096))
                    server.process.wait(LIMIT_S)

    def test_a_port_that_is_taken_is_an_error_for_programs_and_for_who_asked_for_it(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = str(other.getsockname()[1])
            code, _, err = run("serve", str(self.site), "-p", port)
        self.assertEqual(code, 1)
        self.assertTrue(err.startswith(f"error: port {port} is in use; -p PORT"), err)

    def test_every_port_that_cannot_be_opened_is_told_with_what_helps(self):
        site = str(self.site)
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = str(other.getsockname()[1])
            for words, said in (
                    (["serve", site, "-p", "0", "--listen", f"127.0.0.1:{port}"],
                     f"error: cannot listen on 127.0.0.1:{port}: Address already in use"),
                    (["proxy", f"127.0.0.1:{port}", "http://127.0.0.1:1"],
                     f"error: port {port} is in use; --listen PORT takes another"),
                    (["serve", site, "-p", "0", "--bind", "203.0.113.9"],
                     "error: this machine has no address 203.0.113.9; `ip address` lists them, "
                     "--public takes all"),
                    (["proxy", "203.0.113.9:0", "http://127.0.0.1:1"],
                     "error: this machine has no address 203.0.113.9; `ip address` lists them, "
                     "--listen :PORT takes all"),
                    (["serve", site, "-p", "65536"], "error: --port: a port is at most 65535"),
                    (["serve", site, "-p", "http"], "error: --port: 'http' is no port")):
                code, _, err = run(*words)
                self.assertNotEqual(code, 0)
                self.assertTrue(err.startswith(said), err)
                self.assertEqual(len(err.splitlines()), 2, err)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "it gives up its rights")
    def test_a_port_for_root_is_told_to_others(self):
        first = pathlib.Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")
        if not first.exists() or int(first.read_text()) <= 81:
            self.skipTest("every user may open port 81 here")
        for check in ([], ["--check"]):
            done = subprocess.run(
                ["setpriv", "--bounding-set", "-net_bind_service", "--inh-caps",
                 "-net_bind_service", HEDDLE, "serve", str(self.site), "-p", "81", *check],
                capture_output=True, text=True, timeout=LIMIT_S, env=environment({}))
            self.assertEqual(done.returncode, 1)
            self.assertIn("error: port 81 is for root only; -p PORT takes one from 1024 upward",
                          done.stderr)

    def test_a_port_that_becomes_free_within_a_second_is_taken(self):
        other = socket.create_server(("127.0.0.1", 0))
        port = str(other.getsockname()[1])
        server = self.serve(port=port)

        def sleeps():
            """How often it has slept: every 10 ms between two tries, hardly ever otherwise."""
            status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
            return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status, re.M)[1])

        wait_until(sleeps, "ten sleeps of the server", lambda n: n >= 10)
        other.close()
        with server:
            self.assertEqual(server.ask("/")[0], 200)

    def test_it_starts_right_after_one_that_was_killed(self):
        server = self.serve("--log", "off").__enter__()
        port = str(server.port)
        for _ in range(8):
            server.process.kill()
            server.process.wait(LIMIT_S)
            following = self.serve("--log", "off", port=port)
            server.__exit__()
            server = following.__enter__()
        self.assertEqual(server.ask("/")[0], 200)
        server.__exit__()

    def test_a_person_at_a_terminal_gets_the_next_free_port(self):
        taken = []
        try:
            taken.append(socket.create_server(("127.0.0.1", 8000)))
        except OSError:
            pass  # somebody else has it, which is as good
        ours, theirs = pty.openpty()
        server = Server(str(self.site), port=None, tty=theirs)
        server.read_from = os.fdopen(ours, "rb", buffering=0)
        with server:
            self.assertGreater(server.port, 8000)
            self.assertEqual(server.ask("/")[0], 200)
        server.read_from.close()
        os.close(theirs)
        for s in taken:
            s.close()


class ServeActivated(SiteTest):
    """As systemd does it: the socket is descriptor 3, and two variables say so."""

    # The shell puts its own number, which the program keeps, into LISTEN_PID.
    GIVE = 'fd=$1; count=$2; shift 2; eval "exec 3<&$fd"; LISTEN_PID=$$ LISTEN_FDS=$count exec "$@"'

    def give(self, fd, count="1", **more):
        return self.serve(port=None, fds=(fd,), wrap=("sh", "-c", self.GIVE, "sh", str(fd), count),
                          **more)

    def test_a_socket_that_is_given_is_served_with_what_waits_in_it(self):
        with socket.create_server(("127.0.0.1", 0)) as door:
            early = socket.create_connection(door.getsockname())
            early.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            with self.give(door.fileno()) as server:
                self.assertEqual(server.port, door.getsockname()[1])
                self.assertIn(b"200 OK", early.recv(4096))
                self.assertEqual(server.ask("/")[0], 200)
                self.assertEqual(server.stop(), 0)
            early.close()

    def test_what_is_no_listening_socket_is_refused(self):
        with socket.socket() as door, self.give(door.fileno()).process as process:
            self.assertIn(b"descriptor 3 is no listening TCP socket", process.stderr.read())
        with socket.create_server(("127.0.0.1", 0)) as door, \
                self.give(door.fileno(), "2").process as process:
            self.assertIn(b"gives 2 sockets, but only one can be served", process.stderr.read())

    def test_tcp_in_the_program_refuses_a_socket_instead_of_ignoring_it(self):
        with socket.create_server(("127.0.0.1", 0)) as door:
            for more in ((), ("--check",)):
                done = subprocess.run(
                    ["sh", "-c", self.GIVE, "sh", str(door.fileno()), "1", HEDDLE, "serve",
                     str(self.site), "--net", "user:tun0,10.9.0.2/24", *more],
                    pass_fds=(door.fileno(),), text=True, capture_output=True, timeout=LIMIT_S,
                    env=environment({}))
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn("the service manager gives a socket, and --net user has none",
                              done.stderr)


class ServeMistakes(SiteTest):
    def expect(self, pattern, *words, code=2, **variables):
        got, out, err = run("serve", *words, **variables)
        self.assertEqual((got, out), (code, ""))
        self.assertRegex(err, r"^error: " + pattern)
        self.assertRegex(err, r"\n  help: .+\n$")

    def test_every_mistake_says_what_where_and_what_to_do(self):
        self.expect(r"cannot serve the directory '/none'", "/none", code=1)
        self.expect(r".*--prot", "--prot", "1")
        self.expect(r"--port: 'x' is no port; write a number", "-p", "x")
        self.expect(r"--port: a port is at most 65535", "-p", "65536")
        self.expect(r"--log: 'loud' is no form of log; write plain, json, common", "--log", "loud")
        self.expect(r"--header: 'X' is no header; write", "--header", "X")
        self.expect(r"--auth: write USER:PASSWORD", "--auth", "me")
        self.expect(r"--cache: '1Q' is no size; write 512, 16K", "--cache", "1Q")
        self.expect(r"--idle-timeout: 'soon' is no time; write 500ms", "--idle-timeout", "soon")
        self.expect(r"--trusted: '10.0.0.1/8' is no network; write", "--trusted", "10.0.0.1/8")
        self.expect(r"--header-count: '129' is not from 1 to 128", "--header-count", "129")
        self.expect(r"--request-line: '1' is not from 64 to", "--request-line", "1")
        self.expect(r"--pipeline: '0' is not from 1 to", "--pipeline", "0")
        self.expect(r"--body: 'x' is no size; write 512", "--body", "x")
        self.expect(r"--bind: 'here' is no address; write", "--bind", "here")
        self.expect(r"HEDDLE_SERVE_CORS: 'maybe' is neither on nor off",
                    HEDDLE_SERVE_CORS="maybe")
        self.expect(r"--driver: 'steam' is no driver; write", "--driver", "steam")

    def test_a_slip_is_told_with_what_was_meant(self):
        def refused(*words, **variables):
            code, out, err = run("serve", *words, **variables)
            self.assertEqual((code, out), (2, ""), err)
            return err

        err = refused("--prot", "1")
        self.assertIn("heddle serve has no option --prot\n  help: did you mean --port?", err)
        self.assertIn("did you mean --hidden?", refused("--hiden=on"))
        self.assertNotIn("did you mean", refused("--something-else"))
        self.assertEqual(refused("-p"),
                         "error: --port needs a value\n  help: write --port PORT\n")
        self.assertIn("--header needs a value\n  help: write --header \"NAME: VALUE\"",
                      refused("--header"))
        err = refused(HEDDLE_SERVE_PROT="1")
        self.assertIn("no variable HEDDLE_SERVE_PROT; did you mean HEDDLE_SERVE_PORT?", err)
        self.assertIn("no variable HEDDLE_SERVE_COLOUR; they are named",
                      refused(HEDDLE_SERVE_COLOUR="1"))

    def test_public_and_an_address_of_this_machine_contradict_each_other(self):
        for bind in ("127.0.0.1", "127.1.2.3", "::1"):
            self.expect(r"--public is for other machines, and --bind " + bind, "--public",
                        "--bind", bind)
            self.expect(r"--public is for other machines", "--bind", bind,
                        HEDDLE_SERVE_PUBLIC="on")
        with self.serve("--bind", "127.0.0.1") as server:
            server.wait_for(r"network  off  --public instead of --bind")
        with self.serve("--public", "--bind", "0.0.0.0") as server:
            server.wait_for(r"network  ")


if __name__ == "__main__":
    unittest.main()
