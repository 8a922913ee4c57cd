# SPDX-License-Identifier: MIT
"""heddle cert makes an authority and certificates, and heddle serve --tls serves with them: to
Python's TLS, to curl and to openssl s_client."""

import os
import re
import select
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import threading
import time
import unittest
import http.client

import program


@unittest.skipIf("without TLS" in program.run("cert", "-o", "/nowhere")[2], "built without TLS")
class TlsTest(program.SiteTest):
    def setUp(self):
        super().setUp()
        self.home = {"HOME": str(self.root), "XDG_DATA_HOME": str(self.root / "data")}
        self.authority = self.root / "data/heddle/authority.pem"
        self.certificate = self.root / "localhost.pem"
        self.key = self.root / "localhost.key"

    def cert(self, *words):
        return program.run("cert", "-o", str(self.root), *words, **self.home)

    def context(self):
        return ssl.create_default_context(cafile=str(self.authority))

    def serve(self, *words):
        return program.Server(str(self.site), "--tls", str(self.certificate), str(self.key), *words)

    def ask_securely(self, server, target="/"):
        connection = http.client.HTTPSConnection("localhost", server.port, context=self.context(),
                                                 timeout=program.LIMIT_S)
        connection.request("GET", target)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer, body

    def test_http_is_sent_to_https(self):
        self.cert()
        with self.serve("--redirect-http", "0") as server:
            port = int(server.wait_for(r"http://\S+:(\d+)/ is sent here")[1])
            plain = http.client.HTTPConnection("localhost", port, timeout=program.LIMIT_S)
            plain.request("POST", "/a?b=c", body=b"x")
            answer = plain.getresponse()
            answer.read()
            self.assertEqual(answer.status, 308)
            self.assertEqual(answer.headers["Location"], f"https://localhost:{server.port}/a?b=c")
            plain.close()
            self.assertEqual(self.ask_securely(server)[0].status, 200)
            self.assertEqual(server.stop(), 0)

    def test_the_port_for_http_is_handed_over_too(self):
        self.cert()
        path = str(self.root / "handover")
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        words = ("--redirect-http", str(port), "--handover", path)

        def ask():
            with socket.create_connection(("127.0.0.1", port), timeout=program.LIMIT_S) as conn:
                conn.sendall(b"GET /a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                return b"".join(iter(lambda: conn.recv(65536), b""))

        for driver, workers in (("io_uring", "1"), ("epoll", "3")):
            more = ("--driver", driver, "--workers", workers)
            server = self.serve(*words, *more).__enter__()
            over, wrong = threading.Event(), []

            def churn():
                while not over.is_set():
                    answer = ask()
                    if not answer.startswith(b"HTTP/1.1 308 "):
                        wrong.append(answer)

            client = threading.Thread(target=churn)
            client.start()
            try:
                for _ in range(2):
                    following = self.serve(*words, *more).__enter__()
                    server.wait_for("Handed over")
                    self.assertEqual(server.process.wait(program.LIMIT_S), 0)
                    server.__exit__()
                    server = following
                    self.assertIn(f"https://localhost:{server.port}/a".encode(), ask())
            finally:
                over.set()
                client.join()
            self.assertEqual(wrong, [])
            self.assertEqual(server.stop(), 0)
            server.__exit__()

    def test_two_commands_make_a_site(self):
        code, out, talk = self.cert()
        self.assertEqual(code, 0, talk)
        self.assertIn("(new)", out)
        self.assertIn(f"heddle serve --tls {self.certificate} {self.key}", talk)
        with self.serve() as server:
            self.assertIn("https://", server.talk)
            answer, body = self.ask_securely(server)
            self.assertEqual((answer.status, body), (200, b"<p>index"))
            self.assertEqual(server.stop(), 0)

    def test_keys_are_their_owners(self):
        self.cert()
        for key in (self.key, self.authority.with_suffix(".key")):
            self.assertEqual(stat.S_IMODE(os.stat(key).st_mode), 0o600)
        left = [name for name in os.listdir(self.root) if name.endswith(".new")]
        self.assertEqual(left, [])

    def test_a_second_certificate_has_the_same_authority(self):
        self.cert()
        before = self.authority.read_bytes()
        code, out, _ = self.cert("a.example", "192.0.2.7")
        self.assertEqual(code, 0)
        self.assertNotIn("(new)", out)
        self.assertEqual(self.authority.read_bytes(), before)
        self.assertTrue((self.root / "a.example.pem").exists())

    def test_what_cannot_be_made_is_said(self):
        code, _, talk = self.cert("a,b")
        self.assertEqual(code, 1)
        self.assertIn("'a,b'", talk)
        code, _, talk = program.run("cert", "-o", "/nowhere", **self.home)
        self.assertEqual(code, 2)

    def test_files_that_cannot_be_used_are_named(self):
        self.cert()
        self.cert("other.example")
        code, _, talk = program.run("serve", str(self.site), "--tls", str(self.certificate),
                                    str(self.root / "other.example.key"), "-p", "0")
        self.assertEqual(code, 1)
        self.assertIn("other.example.key", talk)
        code, _, talk = program.run("serve", "--tls", "one")
        self.assertEqual(code, 2)

    def test_hsts_is_told_over_tls(self):
        self.cert()
        with self.serve("--hsts", "365000s") as server:
            answer, _ = self.ask_securely(server)
            self.assertEqual(answer.getheader("Strict-Transport-Security"), "max-age=365000")
            answer, _ = self.ask_securely(server, "/nothing")
            self.assertEqual(answer.getheader("Strict-Transport-Security"), "max-age=365000")

    def test_sighup_reads_certificates_again(self):
        self.cert()
        with self.serve() as server:
            first = ssl.get_server_certificate(("127.0.0.1", server.port))
            held = http.client.HTTPSConnection("localhost", server.port, context=self.context(),
                                               timeout=program.LIMIT_S)
            held.request("GET", "/")
            held.getresponse().read()
            self.cert()
            server.send(signal.SIGHUP)
            server.wait_for("Settings read again")
            second = ssl.get_server_certificate(("127.0.0.1", server.port))
            self.assertNotEqual(first, second)
            held.request("GET", "/")  # on the connection from before
            self.assertEqual(held.getresponse().read(), b"<p>index")
            held.close()
            self.certificate.write_text("nothing")
            server.send(signal.SIGHUP)
            server.wait_for("holds no certificate")
            self.assertEqual(ssl.get_server_certificate(("127.0.0.1", server.port)), second)

    def test_a_damaged_chain_is_refused_with_file_and_line(self):
        self.cert()
        good = self.certificate.read_text()
        first = good.count("\n") + 1
        between = self.authority.read_text()
        lines = between.splitlines(keepends=True)
        wrong = lines.copy()
        wrong[2] = "!" + wrong[2][1:]
        damaged = {
            "character": (wrong, first + 2),
            "cut": ([between[:300]], first),
            "no END line": (lines[:-1] + lines, first),
            "no BEGIN line": (lines[1:], first + len(lines) - 2),
            "bytes are missing": (lines[:2] + lines[3:], first),
            "half an END line": (lines[:-1] + ["-----END CERTI\n"], first + len(lines) - 1),
        }
        with self.serve() as server:
            kept = ssl.get_server_certificate(("127.0.0.1", server.port))
            for what, (text, line) in damaged.items():
                with self.subTest(what):
                    self.certificate.write_text(good + "".join(text))
                    where = f"error: {self.certificate}:{line}: "
                    for words in (["--check"], ["-p", "0"]):
                        code, _, talk = program.run("serve", str(self.site), "--tls",
                                                    str(self.certificate), str(self.key), *words)
                        self.assertEqual(code, 1)
                        self.assertIn(where, talk)
                    server.talk = ""
                    server.send(signal.SIGHUP)
                    server.wait_for(where)
                    self.assertEqual(ssl.get_server_certificate(("127.0.0.1", server.port)), kept)
            self.certificate.write_text(good + "# the authority:\r\n" + between)
            server.send(signal.SIGHUP)
            server.wait_for("Settings read again")

    def test_large_files_arrive_whole(self):
        self.cert()
        data = os.urandom(5_000_001)
        self.put("big.bin", data)
        with self.serve("--driver", "epoll") as server:
            for _ in range(2):
                self.assertEqual(self.ask_securely(server, "/big.bin")[1], data)

    @unittest.skipUnless(shutil.which("curl"), "it needs curl")
    def test_curl_agrees(self):
        self.cert()
        with self.serve() as server:
            url = f"https://localhost:{server.port}/"
            for words in ([], ["--http1.0"], ["--tls-max", "1.2"], ["--tlsv1.3"], ["-I"]):
                done = subprocess.run(["curl", "-sS", "--cacert", str(self.authority), *words, url],
                                      capture_output=True, timeout=program.LIMIT_S)
                self.assertEqual(done.returncode, 0, done.stderr)
            for words in (["--tls-max", "1.1"], ["--ciphers", "AES128-SHA", "--tls-max", "1.2"]):
                done = subprocess.run(["curl", "-sS", "--cacert", str(self.authority), *words, url],
                                      capture_output=True, timeout=program.LIMIT_S)
                self.assertNotEqual(done.returncode, 0)

    @unittest.skipUnless(shutil.which("curl"), "it needs curl")
    def test_http2_is_agreed_on_and_answers_the_same(self):
        self.cert()
        self.put("big.bin", os.urandom(300_000))
        with self.serve() as server:
            for words, version in ((["--http2"], b"2"), (["--http1.1"], b"1.1")):
                url = f"https://localhost:{server.port}/big.bin"
                done = subprocess.run(["curl", "-sS", "--cacert", str(self.authority), *words, "-o",
                                       "-", "-w", "%{http_version} %{http_code}", url],
                                      capture_output=True, timeout=program.LIMIT_S)
                self.assertEqual(done.returncode, 0, done.stderr)
                data = (self.site / "big.bin").read_bytes()
                self.assertEqual(done.stdout, data + version + b" 200")
            self.assertEqual(server.stop(), 0)

    @unittest.skipUnless(shutil.which("curl"), "it needs curl")
    def test_large_files_over_http2_stay_within_their_memory(self):
        """file-parts bounds the parts in memory of all streams together; all bytes arrive."""
        self.cert()
        names = [f"{i}.bin" for i in range(6)]
        for name in names:
            self.put(name, os.urandom(3_000_000))
        with self.serve("--file-parts", "8K", "--metrics") as server:
            at = f"https://localhost:{server.port}/"
            got = self.root / "got"
            got.mkdir()
            done = subprocess.run(
                ["curl", "-sS", "--cacert", str(self.authority), "--http2", "--parallel",
                 "--parallel-immediate", "--output-dir", str(got), "--remote-name-all",
                 *(at + name for name in names)], capture_output=True, timeout=program.LIMIT_S)
            self.assertEqual(done.returncode, 0, done.stderr)
            for name in names:
                self.assertEqual((got / name).read_bytes(), (self.site / name).read_bytes(), name)
            page = self.ask_securely(server, "/metrics")[1].decode()
            short = int(re.search(r"^heddle_http_file_parts_short_total (\d+)$", page, re.M)[1])
            self.assertGreater(short, 0)
            # A range comes from its place.
            done = subprocess.run(["curl", "-sS", "--cacert", str(self.authority), "--http2", "-r",
                                   "1234567-2345678", at + names[0]], capture_output=True,
                                  timeout=program.LIMIT_S)
            self.assertEqual(done.stdout, (self.site / names[0]).read_bytes()[1234567:2345679])

    @unittest.skipUnless(shutil.which("openssl"), "it needs openssl")
    def test_a_name_with_a_dot_behind_it_gets_its_certificate(self):
        self.cert()
        self.cert("other.example")
        with self.serve("--tls", str(self.root / "other.example.pem"),
                        str(self.root / "other.example.key")) as server:
            for name, subject in (("other.example.", "other.example"), ("localhost.", "localhost"),
                                  ("other.example", "other.example"), ("none.", "localhost")):
                done = subprocess.run(
                    ["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", "-servername",
                     name, "-CAfile", str(self.authority)], input=b"", capture_output=True,
                    timeout=program.LIMIT_S)
                self.assertRegex(done.stdout.decode(), rf"subject=.*{subject}\n", name)

    @unittest.skipUnless(shutil.which("openssl"), "it needs openssl")
    def test_openssl_agrees(self):
        self.cert()
        session = str(self.root / "session")
        with self.serve() as server:
            base = ["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}",
                    "-servername", "localhost", "-CAfile", str(self.authority),
                    "-verify_return_error"]
            ask = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            for version in ("-tls1_2", "-tls1_3"):
                for extra, found in (["-sess_out", session], b"New, TLS"), \
                        (["-sess_in", session], b"Reused, TLS"):
                    done = subprocess.run([*base, version, "-ign_eof", *extra], input=ask,
                                          capture_output=True, timeout=program.LIMIT_S)
                    self.assertIn(b"<p>index", done.stdout)
                    self.assertIn(found, done.stdout)
            # It asks to negotiate again, and is refused.
            done = subprocess.run([*base, "-tls1_2"], input=b"R\n", capture_output=True,
                                  timeout=program.LIMIT_S)
            self.assertIn(b"no renegotiation", done.stdout + done.stderr)

    @unittest.skipUnless(shutil.which("openssl"), "it needs the openssl command")
    def test_keys_are_updated(self):
        """openssl s_client updates its key (k), and asks the server to do so too (K)."""
        self.cert()
        with self.serve() as server, subprocess.Popen(
                ["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", "-tls1_3",
                 "-CAfile", str(self.authority), "-servername", "localhost"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT) as client:
            said = bytearray()
            try:
                wait_until_said(client, said, b"Verify return code: 0", 1)
                for turn, command in enumerate((b"K", b"k", b"K", b"K"), 1):
                    os.write(client.stdin.fileno(), command + b"\n")
                    wait_until_said(client, said, b"KEYUPDATE", turn)
                    os.write(client.stdin.fileno(), b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    wait_until_said(client, said, b"<p>index", turn)
            finally:
                client.kill()
            self.assertEqual(server.stop(), 0)


def wait_until_said(process, said, text, count):
    """Adds the process's output to `said` until the text has come so many times."""
    end = time.monotonic() + program.LIMIT_S
    while said.count(text) < count:
        ready, _, _ = select.select([process.stdout], [], [], max(0, end - time.monotonic()))
        more = os.read(process.stdout.fileno(), 65536) if ready else b""
        if not more:
            raise AssertionError(f"openssl did not say {text!r} {count} times: {bytes(said)!r}")
        said += more


class OwnRecordsTest(TlsTest):
    """The same with --tls-own-records."""

    def serve(self, *words):
        return super().serve("--tls-own-records", *words)

    def test_they_need_tls(self):
        code, _, talk = program.run("serve", str(self.site), "--tls-own-records", "--check")
        self.assertEqual(code, 2, talk)
        self.assertIn("neither --tls nor --acme", talk)


if __name__ == "__main__":
    unittest.main()
