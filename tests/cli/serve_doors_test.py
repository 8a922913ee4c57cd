# SPDX-License-Identifier: MIT
"""Who may come in, and where: hashed passwords, several addresses, a socket on a path."""

import base64
import http.client
import os
import re
import socket
import subprocess
import threading
import unittest

from program import HEDDLE, LIMIT_S, SiteTest, run


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def hashed(user, password):
    done = subprocess.run([HEDDLE, "password", user], input=password + "\n", text=True,
                          capture_output=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


class HashedPasswords(SiteTest):
    def test_a_hash_lets_the_right_password_in(self):
        line = hashed("ann", "pa:ss wörd")
        self.assertRegex(line, r"^ann:\$[a-z0-9]+\$")
        self.assertNotEqual(line, hashed("ann", "pa:ss wörd"))
        with self.serve("--auth", line, "--clean-urls") as server:
            self.assertEqual(server.ask("/")[0], 401)
            for _ in range(2):  # by the hash, and from memory
                status, _, body = server.ask("/", Authorization=basic("ann", "pa:ss wörd"))
                self.assertEqual((status, body), (200, b"<p>index"))
            for user, password in (("ann", "wrong"), ("bob", "pa:ss wörd"), ("ann", ""), ("", "")):
                self.assertEqual(server.ask("/", Authorization=basic(user, password))[0], 401)
            self.assertEqual(server.ask("/", Authorization="Basic !!!")[0], 401)
            self.assertEqual(server.ask("/none", Authorization=basic("ann", "pa:ss wörd"))[0], 404)

    def test_others_are_served_while_passwords_are_checked(self):
        with self.serve("--auth", hashed("ann", "right")) as server:
            self.assertEqual(server.ask("/", Authorization=basic("ann", "right"))[0], 200)
            wrong = []
            threads = [threading.Thread(target=lambda: wrong.append(
                server.ask("/", Authorization=basic("ann", "guess"))[0])) for _ in range(8)]
            for t in threads:
                t.start()
            self.assertEqual(server.ask("/", Authorization=basic("ann", "right"))[0], 200)
            for t in threads:
                t.join()
            self.assertEqual(wrong, [401] * 8)

    def test_bad_input_of_the_verb(self):
        for user, text in (("", "x\n"), ("a:b", "x\n"), ("ann", ""), ("ann", "\n")):
            done = subprocess.run([HEDDLE, "password", user], input=text, text=True,
                                  capture_output=True, timeout=LIMIT_S)
            self.assertNotEqual(done.returncode, 0)
            self.assertRegex(done.stderr, r"^error: .*\n  help: ")

    def test_a_hash_of_an_unknown_kind_is_refused(self):
        code, _, talk = run("serve", str(self.site), "--check", "--auth", "ann:$apr1$ab$cdefgh")
        self.assertNotEqual(code, 0)
        self.assertIn("heddle password", talk)

    def test_a_password_that_is_checked_counts_once(self):
        with self.serve("--auth", hashed("ann", "x"), "--rate", "1/h") as server:
            self.assertEqual(server.ask("/", Authorization=basic("ann", "x"))[0], 200)
            self.assertEqual(server.ask("/", Authorization=basic("ann", "x"))[0], 429)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def ask_path(path, target="/"):
    """One request over the socket on a path."""
    connection = http.client.HTTPConnection("localhost", timeout=LIMIT_S)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.settimeout(LIMIT_S)
    connection.sock.connect(str(path))
    connection.request("GET", target)
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, data


def state_of(path):
    """Without the time of the last access, which a look changes."""
    s = os.lstat(path)
    return s.st_ino, s.st_mode, s.st_size, s.st_mtime_ns


class Places(SiteTest):
    def test_a_server_listens_at_several_places(self):
        port = free_port()
        path = self.root / "site.sock"
        for workers in ("1", "2"):
            with self.serve("--listen", f"127.0.0.2:{port}", "--listen", f"unix:{path}",
                            "-w", workers) as server:
                for _ in range(20):
                    with socket.create_connection(("127.0.0.2", port), LIMIT_S) as s:
                        s.sendall(b"GET / HTTP/1.0\r\n\r\n")
                        self.assertIn(b"<p>index", b"".join(iter(lambda: s.recv(65536), b"")))
                    self.assertEqual(ask_path(path), (200, b"<p>index"))
                    self.assertEqual(server.ask("/")[0], 200)
                self.assertEqual(server.stop(), 0)
                self.assertIn(f"also     127.0.0.2:{port}", server.talk)
            self.assertTrue(os.path.exists(path))  # left behind; the next start replaces it

    def test_trusted_proxies_tell_the_client_at_every_place(self):
        """The PROXY protocol on the ports of --listen; a socket on a path has no address to
        trust."""
        port = free_port()
        path = self.root / "site.sock"
        with self.serve("--proxy-protocol", "--trusted-proxy", "127.0.0.1", "--listen",
                        f"127.0.0.2:{port}", "--listen", f"unix:{path}") as server:
            for host, at in (("127.0.0.1", server.port), ("127.0.0.2", port)):
                with socket.create_connection((host, at), LIMIT_S,
                                              source_address=("127.0.0.1", 0)) as s:
                    s.sendall(b"PROXY TCP4 203.0.113.7 192.0.2.1 1000 80\r\n"
                              b"GET /" + host.encode() + b" HTTP/1.0\r\n\r\n")
                    self.assertIn(b" 404 ", b"".join(iter(lambda: s.recv(65536), b"")))
                server.wait_for(rf"404  GET /{re.escape(host)}  .*  203\.0\.113\.7:1000\n", "log")
            self.assertEqual(ask_path(path), (200, b"<p>index"))
            with socket.create_connection(("127.0.0.2", port), LIMIT_S,
                                          source_address=("127.0.0.1", 0)) as s:
                s.sendall(b"GET / HTTP/1.0\r\n\r\n")  # no header: it is closed
                self.assertEqual(s.recv(65536), b"")

    def test_a_socket_in_use_stays(self):
        path = self.root / "site.sock"
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(path))
            other.listen()
            code, _, said = run("serve", str(self.site), "-p", "0", "--listen", f"unix:{path}")
            self.assertEqual(code, 1)
            self.assertIn("cannot listen on", said)
            self.assertTrue(os.path.exists(path))

    def test_only_an_abandoned_socket_is_removed(self):
        """What else is at the path stays as it is, with --check and with a start."""
        file = self.root / "notes.txt"
        file.write_text("precious data")
        link = self.root / "link"
        link.symlink_to(self.root / "dead.sock")
        folder = self.root / "folder"
        folder.mkdir()
        pipe = self.root / "pipe"
        os.mkfifo(pipe)
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(self.root / "dead.sock"))
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
            other.bind(str(self.root / "datagrams"))
            for path in (file, link, folder, pipe, self.root / "datagrams"):
                before = state_of(path)
                for words in (["--listen", f"unix:{path}"], ["--handover", str(path)]):
                    for check in ([], ["--check"]):
                        code, _, said = run("serve", str(self.site), "-p", "0", *words, *check)
                        if path.name == "datagrams" and check and "--listen" in words:
                            continue  # its server may be the one that runs
                        self.assertEqual(code, 1, (words, check, said))
                        self.assertIn(str(path), said)
                        self.assertEqual(state_of(path), before)
                        left = [n for n in os.listdir(self.root) if ".new" in n]
                        self.assertEqual(left, [])
        self.assertEqual(file.read_text(), "precious data")

    def test_places_that_cannot_be(self):
        for words, why in ((["--listen", "nowhere"], "no place to listen"),
                           (["--listen", "127.0.0.1"], "no place to listen"),
                           (["--listen", "unix:"], "path of the socket")):
            code, _, said = run("serve", str(self.site), "-p", "0", *words)
            self.assertEqual(code, 2)
            self.assertIn(why, said)


if __name__ == "__main__":
    unittest.main()
