# SPDX-License-Identifier: MIT
"""heddle serve --acme against Pebble, a certificate authority for tests: `cmake --build DIR
--target interop_pebble` builds it where Go is installed. Without it the tests about orders are
skipped. It checks names by http-01 and by tls-alpn-01, refuses some nonces at random, and is asked
over TLS. A name server of the test leads every name to this machine."""

import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import threading
import unittest

import program

PEBBLE = (shutil.which("pebble")
          or str(pathlib.Path(program.HEDDLE).resolve().parent.parent / "tests/interop/pebble"))
MISSING = "" if os.access(PEBBLE, os.X_OK) else \
    "without Pebble: cmake --build build/release --target interop_pebble builds it, with Go"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class NameServer:
    """Answers questions for A with 127.0.0.1, and all others with nothing, over TCP."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                conn, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.talk, args=(conn,), daemon=True).start()

    def talk(self, conn):
        with conn, conn.makefile("rwb") as stream:
            while size := stream.read(2):
                answer = self.answer(stream.read(int.from_bytes(size, "big")))
                stream.write(len(answer).to_bytes(2, "big") + answer)
                stream.flush()

    @staticmethod
    def answer(asked):
        end = asked.index(b"\0", 12) + 5
        is_a = asked[end - 4:end - 2] == b"\0\1"
        answer = asked[:2] + b"\x81\x80\0\1" + (b"\0\1" if is_a else b"\0\0") + b"\0\0\0\0"
        answer += asked[12:end]
        return answer + (b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4\x7f\0\0\1" if is_a else b"")

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


@unittest.skipIf("without TLS" in program.run("cert", "-o", "/nowhere")[2], "built without TLS")
class AcmeSettings(program.SiteTest):
    def check(self, *words, **more):
        return program.run("serve", str(self.site), "--check", *words, **more)

    def test_settings_that_cannot_work_are_refused(self):
        for words, wrong in (
                (("--acme", "nobody"), "'nobody' is no address of e-mail"),
                (("--acme", "a@example.org"), "which name does this server have?"),
                (("--acme-name", "a.example.org"), "add --acme EMAIL"),
                (("--acme", "a@example.org", "--acme-name", "*.example.org"),
                 "is no name of a host"),
                (("--acme", "a@example.org", "--acme-name", "192.0.2.1"), "it is an address"),
                (("--acme", "a@example.org", "--acme-name", "a.example.org",
                  "--acme-directory", "ftp://x"), "is no address of a directory"),
                (("--acme", "a@example.org", "--acme-name", "a.example.org",
                  "--acme-directory", "http://ca.example.org/dir"), "by https only"),
                (("--acme", "a@example.org", "--acme-name", "a.example.org",
                  "--acme-ca", "/nowhere"), "/nowhere"),
                (("--acme", "a@example.org", "--acme-account", "one"), "the id and the key")):
            code, _, talk = self.check(*words)
            self.assertNotEqual(code, 0, words)
            self.assertIn(wrong, talk)
        code, out, talk = self.check("--acme", "a@example.org", "--redirect-http", "0",
                                     "--site", f"b.example.org {self.site}")
        self.assertEqual(code, 0, talk)
        self.assertIn("https", out)

    def test_an_authority_that_cannot_be_reached_is_reported_and_nothing_ends(self):
        with self.serve("--acme", "a@example.org", "--acme-name", "www.example.org", "--acme-store",
                        str(self.root / "state"), "--acme-directory",
                        f"http://127.0.0.1:{free_port()}/dir", "--redirect-http", "0") as server:
            found = server.wait_for(r"error: acme: .*\n.*the next attempt is in \d+ (s|min)")
            self.assertIn("127.0.0.1", found[0])
            port = int(server.wait_for(r"http://\S+:(\d+)/ is sent here")[1])
            plain = http.client.HTTPConnection("localhost", port, timeout=program.LIMIT_S)
            for target, status in (("/", 308), ("/.well-known/acme-challenge/none", 404)):
                plain.request("GET", target)
                answer = plain.getresponse()
                answer.read()
                self.assertEqual(answer.status, status)
            plain.close()
            self.assertEqual(server.stop(), 0)


@unittest.skipIf(MISSING, MISSING)
class AcmeTest(program.SiteTest):
    def setUp(self):
        super().setUp()
        self.names = NameServer()
        self.addCleanup(self.names.close)
        self.http, self.https, self.port, self.manage = (free_port() for _ in range(4))
        self.state = self.root / "state"
        home = {"HOME": str(self.root), "XDG_DATA_HOME": str(self.root / "data")}
        code, _, talk = program.run("cert", "-o", str(self.root), **home)
        self.assertEqual(code, 0, talk)
        self.roots = self.root / "data/heddle/authority.pem"

    def start_pebble(self, life_s=7776000):
        config = {"pebble": {
            "listenAddress": f"127.0.0.1:{self.port}",
            "managementListenAddress": f"127.0.0.1:{self.manage}",
            "certificate": str(self.root / "localhost.pem"),
            "privateKey": str(self.root / "localhost.key"),
            "httpPort": self.http, "tlsPort": self.https, "ocspResponderURL": "",
            "externalAccountBindingRequired": False, "keyAlgorithm": "ecdsa",
            "retryAfter": {"authz": 1, "order": 1},
            "profiles": {"default": {"description": "test", "validityPeriod": life_s}}}}
        path = self.root / "pebble.json"
        path.write_text(json.dumps(config))
        log = open(self.root / "pebble.log", "wb")
        self.addCleanup(log.close)
        self.pebble = subprocess.Popen(
            [PEBBLE, "-config", str(path), "-dnsserver", self.names.address, "-strict"],
            stdout=log, stderr=log,
            env=os.environ | {"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "20"})
        self.addCleanup(self.end_pebble)
        self.context = ssl.create_default_context(cadata=self.root_of_pebble())

    def end_pebble(self):
        self.pebble.kill()
        self.pebble.wait(program.LIMIT_S)

    def root_of_pebble(self):
        trust = ssl.create_default_context(cafile=str(self.roots))

        def root():
            if self.pebble.poll() is not None:
                self.fail((self.root / "pebble.log").read_text())
            asking = http.client.HTTPSConnection("localhost", self.manage, context=trust,
                                                 timeout=program.LIMIT_S)
            asking.request("GET", "/roots/0")
            text = asking.getresponse().read().decode()
            asking.close()
            return text

        return program.wait_until(root, "Pebble's root certificate", but=ConnectionRefusedError)

    def serve(self, *words, names=("www.example.org",), agree=True, **more):
        listed = [word for name in names for word in ("--acme-name", name)]
        return super().serve(
            "--acme", "someone@example.org", *listed, *(("--acme-agree",) if agree else ()),
            "--acme-directory", f"https://localhost:{self.port}/dir", "--acme-ca", str(self.roots),
            "--acme-store", str(self.state), *words, port=str(self.https), **more)

    def certificate(self, name="www.example.org"):
        """The site's certificate for this name, after its check against Pebble's root."""
        with socket.create_connection(("127.0.0.1", self.https), timeout=program.LIMIT_S) as raw, \
                self.context.wrap_socket(raw, server_hostname=name) as conn:
            return conn.getpeercert()

    def assert_stored(self):
        stored = [path for path in self.state.rglob("*") if path.is_file()]
        self.assertIn("www.example.org.pem", [path.name for path in stored])
        self.assertIn("account.pem", [path.name for path in stored])
        for path in stored:
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600, path)

    def test_http_01_gives_a_certificate_and_the_next_start_uses_it(self):
        self.start_pebble()
        with self.serve("--redirect-http", str(self.http)) as server:
            server.wait_for(r"Certificate for www\.example\.org until \d+-\d\d-\d\d \(new\)")
            first = self.certificate()
            self.assertIn(("DNS", "www.example.org"), first["subjectAltName"])
            self.assertEqual(server.stop(), 0)
        self.assertIn("validate w/ HTTP", (self.root / "pebble.log").read_text())
        self.assert_stored()
        self.end_pebble()  # the next start needs no authority
        with self.serve("--redirect-http", str(self.http)) as server:
            server.wait_for(r"Certificate for www\.example\.org until .*\(stored\)")
            self.assertEqual(self.certificate()["serialNumber"], first["serialNumber"])
            self.assertEqual(server.stop(), 0)

    def test_tls_alpn_01_gives_a_certificate(self):
        self.start_pebble()
        with self.serve("--workers", "2") as server:
            server.wait_for(r"\(new\)")
            self.assertIn(("DNS", "www.example.org"), self.certificate()["subjectAltName"])
            if shutil.which("curl"):
                root = self.root / "pebble.pem"
                root.write_text(self.root_of_pebble())
                done = subprocess.run(
                    ["curl", "-sS", "--http2", "--cacert", str(root), "--resolve",
                     f"www.example.org:{self.https}:127.0.0.1",
                     f"https://www.example.org:{self.https}/"],
                    capture_output=True, timeout=program.LIMIT_S)
                self.assertEqual(done.stdout, b"<p>index", done.stderr)
            self.assertEqual(server.stop(), 0)
        self.assertNotIn("validate w/ HTTP", (self.root / "pebble.log").read_text())

    def test_a_certificate_is_renewed_before_it_ends(self):
        self.start_pebble(life_s=12)
        with self.serve() as server:
            server.wait_for(r"\(new\)")
            first = self.certificate()["serialNumber"]
            server.wait_for(r"\(new\)[^$]*\(new\)")
            self.assertNotEqual(self.certificate()["serialNumber"], first)
            self.assertEqual(server.stop(), 0)

    def test_sighup_orders_for_a_new_name(self):
        self.start_pebble()
        config = self.root / "heddle.conf"
        config.write_text("cors\n")
        with self.serve("-c", str(config)) as server:
            server.wait_for(r"for www\.example\.org .*\(new\)")
            config.write_text("acme-name = new.example.org\n")
            server.send(signal.SIGHUP)
            server.wait_for(r"for new\.example\.org .*\(new\)")
            for name in ("www.example.org", "new.example.org"):
                self.assertIn(("DNS", name), self.certificate(name)["subjectAltName"])
            config.write_text("acme-name = 192.0.2.1\n")
            server.send(signal.SIGHUP)
            server.wait_for("the old settings stay in use")
            self.certificate("new.example.org")
            self.assertEqual(server.stop(), 0)

    def test_without_agreement_the_terms_are_named(self):
        self.start_pebble()
        with self.serve(agree=False) as server:
            server.wait_for(r"asks every user to agree to its terms of service; read \S+ and then")
            self.assertEqual(server.stop(), 0)

    def test_a_name_that_is_elsewhere_is_reported(self):
        self.start_pebble()
        with self.serve("--redirect-http", str(free_port())) as server:
            server.wait_for(r"could not check www\.example\.org by http-01: .*\(connection\)")
            self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
