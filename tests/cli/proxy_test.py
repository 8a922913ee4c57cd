# SPDX-License-Identifier: MIT
"""heddle proxy from its first words to its last: what passes, upstreams that go and come back,
trusted proxies, the PROXY protocol, mistakes."""

import http.server
import json
import signal
import socket
import subprocess
import threading
import unittest

from program import HEDDLE, LIMIT_S, Server, SiteTest, environment, run, wait_until


class Backend:
    """A server of Python's: GET / says its name, /fields what it got, /slow waits for `go`."""

    def __init__(self, name, port=0):
        self.name, self.go, self.asked = name, threading.Event(), []
        self.connections, self.stopped = [], False
        backend = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                super().setup()
                backend.connections.append(self.connection)

            def answer(self):
                length = int(self.headers.get("Content-Length", 0))
                body = self.rfile.read(length)
                backend.asked.append(self.path)
                text = backend.name.encode()
                if self.path == "/fields":
                    text = json.dumps(dict(self.headers)).encode()
                elif self.path == "/length":
                    text = str(len(body)).encode()
                elif self.path == "/slow":
                    backend.go.wait(LIMIT_S)
                elif self.path == "/large":
                    text = b"L" * 3_000_000
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(text)

            do_GET = do_POST = do_PUT = do_HEAD = answer

            def log_message(self, *_):
                pass

        class Threads(http.server.ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

        self.server = Threads(("127.0.0.1", port), Handler)
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02},
                         daemon=True).start()

    def stop(self):
        if self.stopped:
            return
        self.stopped = True
        self.server.shutdown()
        self.server.server_close()
        for connection in self.connections:  # they stay open otherwise
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.go.set()
        self.stop()


class Proxy(Server):
    """`heddle proxy` on a free port of this machine."""

    def __init__(self, *words, listen="127.0.0.1:0", **variables):
        self.process = subprocess.Popen(
            [HEDDLE, "proxy", listen, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True,
            env=environment({"HEDDLE_PROXY_QUEUE_DELAY": "0"} | variables),
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.talk, self.log = "", ""
        self.read_from = self.process.stderr


class ProxyTest(SiteTest):
    def test_one_line_is_a_proxy(self):
        with Backend("a") as a, Proxy(a.url) as proxy:
            self.assertIn(f"Proxy to {a.url}\n", proxy.talk)
            proxy.wait_for("Ctrl-C stops")
            self.assertEqual(proxy.ask("/")[::2], (200, b"a"))
            self.assertEqual(proxy.ask("/length", "POST", b"x" * 200_000)[2], b"200000")
            self.assertEqual(len(proxy.ask("/large")[2]), 3_000_000)
            status, headers, body = proxy.ask("/large", "HEAD")
            self.assertEqual((status, headers["Content-Length"], body), (200, "3000000", b""))
            self.assertIn("BaseHTTP", headers["Server"])
            fields = json.loads(proxy.ask("/fields", X_Forwarded_For="6.6.6.6")[2])
            self.assertEqual(fields["X-Forwarded-For"], "127.0.0.1")
            self.assertEqual(fields["X-Forwarded-Proto"], "http")
            host = f"127.0.0.1:{proxy.port}"
            self.assertEqual(fields["Host"], host)
            self.assertEqual(fields["Forwarded"], f'for=127.0.0.1;host="{host}";proto=http')
            self.assertEqual(fields["Via"], "1.1 heddle")
            self.assertEqual(proxy.stop(signal.SIGINT), 0)
            self.assertRegex(proxy.log, r"  200  GET /large  3000000 B")
            self.assertRegex(proxy.talk, r"\n5 requests, .* 0 errors\n$")

    def test_upstreams_take_turns_and_one_that_goes_is_left_out_until_it_is_back(self):
        with Backend("a") as a, Backend("b") as b, \
                Proxy(a.url, b.url, "--fail-pause", "500ms") as proxy:
            self.assertEqual({proxy.ask("/")[2] for _ in range(4)}, {b"a", b"b"})
            b.stop()
            for _ in range(12):
                self.assertEqual(proxy.ask("/")[::2], (200, b"a"))
            proxy.wait_for(rf"\d\d:\d\d:\d\d  upstream {b.url} is down: 3 failures, the last: "
                           r".*; tried again in 500 ms")
            with Backend("again", b.port):
                wait_until(lambda: proxy.ask("/")[2], "an answer of the new server",
                           lambda body: body == b"again")
                proxy.wait_for(rf"upstream {b.url} is up again")

    def test_health_checks_decide_before_a_request_does(self):
        with Backend("a") as a:
            words = ("--health", "/", "--health-interval", "50ms", "--health-fall", "2")
            with Proxy(a.url, *words, "--metrics") as proxy:
                self.assertEqual(proxy.ask("/")[0], 200)
                label = f'{{upstream="{a.url}"}}'
                self.assertIn(f"heddle_upstream_up{label} 1\n", proxy.ask("/metrics")[2].decode())
                a.stop()
                proxy.wait_for(rf"upstream {a.url} is down: its health checks fail: ")
                status, headers, _ = proxy.ask("/")
                self.assertEqual((status, headers["Retry-After"]), (503, "1"))
                proxy.wait_for(r"503 GET /: no upstream is up")
                metrics = proxy.ask("/metrics")[2].decode()
                self.assertIn(f"heddle_upstream_up{label} 0\n", metrics)
                self.assertIn(f"heddle_upstream_downs_total{label} 1\n", metrics)
                with Backend("again", a.port):
                    proxy.wait_for(rf"upstream {a.url} is up again: its health checks succeed")
                    self.assertEqual(proxy.ask("/")[2], b"again")

    def test_errors_say_little_to_clients_and_why_to_the_operator(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        with Proxy(f"127.0.0.1:{port}", "--fail", "0") as proxy:
            status, headers, body = proxy.ask("/x?y")
            self.assertEqual(status, 502)
            self.assertEqual(json.loads(body)["detail"], "the server behind this one failed")
            proxy.wait_for(rf"502 GET /x\?y: http://127.0.0.1:{port}: cannot connect: "
                           "Connection refused")
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            with Proxy(url, "--answer-timeout", "300ms") as proxy:
                self.assertEqual(proxy.ask("/")[0], 504)
                proxy.wait_for(r"504 GET /: .*: it did not answer in time")

    def test_the_reason_is_told_why_a_certificate_is_refused(self):
        made = run("cert", "-o", str(self.root), "other.example", HOME=str(self.root),
                   XDG_DATA_HOME=str(self.root / "data"))
        if "without TLS" in made[2]:
            self.skipTest("built without TLS")
        with Server(str(self.site), "--tls", str(self.root / "other.example.pem"),
                    str(self.root / "other.example.key")) as secure:
            url = f"https://localhost:{secure.port}"
            with Proxy(url, "--fail", "1", "--health", "/", "--health-fall", "1") as proxy:
                self.assertEqual(proxy.ask("/")[0], 502)
                reason = "certificate verify failed"
                proxy.wait_for(rf"502 GET /: {url}: cannot connect: [^\n]*{reason}")
                proxy.wait_for(rf"upstream {url} is down: 1 failures, the last: [^\n]*{reason}")
                self.assertNotIn("Permission denied", proxy.talk)
                proxy.wait_for(rf"upstream {url} is down: its health checks fail: [^\n]*{reason}")
                self.assertNotIn("Permission denied", proxy.talk)

    def site_of_both_versions(self):
        """A site over TLS that offers h2 and http/1.1, and the environment that trusts it."""
        made = run("cert", "-o", str(self.root), HOME=str(self.root),
                   XDG_DATA_HOME=str(self.root / "data"))
        if made[0] != 0:
            self.skipTest(made[2])
        pair = (str(self.root / "localhost.pem"), str(self.root / "localhost.key"))
        site = self.serve("--tls", *pair, "--log", "plain")
        return site, {"SSL_CERT_FILE": str(self.root / "data" / "heddle" / "authority.pem")}

    def test_an_https_upstream_chooses_http2_unless_that_is_off(self):
        """A connection of HTTP/2 carries requests at once; one of HTTP/1.1 carries one."""
        site, trust = self.site_of_both_versions()
        with site:
            url = f"https://localhost:{site.port}"
            for words, kept in (((), 0), (("--no-upstream-http2", "--upstream-kept", "0"), 1)):
                with Proxy(url, "--metrics", *words, **trust) as proxy:
                    for _ in range(3):
                        self.assertEqual(proxy.ask("/")[::2], (200, b"<p>index"))
                    opened = proxy.metric("upstream_connections")
                    # Without kept connections HTTP/1.1 needs one a request.
                    self.assertEqual(opened, 3 if kept else 1)

    def test_limits_of_http2_upstreams_are_kept(self):
        """Four requests that wait, one stream on each of two connections: two reach the server."""
        with Backend("a") as a, Proxy(a.url, "--metrics") as inner:
            words = ("--upstream-http2", "2", "--upstream-streams", "1", "--queue-timeout", "300ms",
                     "--metrics")
            with Proxy(f"h2c://127.0.0.1:{inner.port}", *words) as outer:
                got = []
                asking = [threading.Thread(target=lambda: got.append(outer.ask("/slow")[0]))
                          for _ in range(4)]
                for each in asking:
                    each.start()
                wait_until(lambda: got.count(503), "two requests that were refused",
                           lambda count: count == 2)
                outer.wait_for(r"503 GET /slow: h2c://[\d.:]+: all streams of 2 connections to it "
                               r"were in use \(http2\.connections_max, and http2\.streams_max or "
                               r"the upstream's own limit\)")
                a.go.set()
                for each in asking:
                    each.join(LIMIT_S)
                self.assertEqual(sorted(got), [200, 200, 503, 503])
                self.assertEqual(outer.metric("upstream_connections"), 2)
                self.assertEqual(outer.metric("upstream_failures"), 0)
                self.assertEqual(a.asked.count("/slow"), 2)

    def test_an_h2c_upstream_that_speaks_http1_is_named(self):
        with Backend("a") as a:
            url = a.url.replace("http:", "h2c:")
            with Proxy(url) as proxy:
                self.assertEqual(proxy.ask("/")[0], 502)
                proxy.wait_for(rf"502 GET /: {url}: [^\n]*it does not begin with SETTINGS; is it "
                               r"HTTP/2\?")

    def test_max_forwards_ends_at_the_proxy_or_counts_down(self):
        """RFC 9110 section 7.6.2: for OPTIONS; the field of other methods is none of ours."""
        with Backend("a") as a, Proxy(a.url) as proxy:
            def seen(method, **fields):
                with socket.create_server(("127.0.0.1", 0)) as door:
                    door.settimeout(LIMIT_S)  # the proxy may answer by itself
                    up = Proxy(f"http://127.0.0.1:{door.getsockname()[1]}").__enter__()
                    try:
                        got = []
                        asking = threading.Thread(
                            target=lambda: got.append(up.ask("/", method, **fields)))
                        asking.start()
                        connection, _ = door.accept()
                        with connection:
                            head = connection.recv(65536)
                            connection.sendall(b"HTTP/1.1 204 No\r\n\r\n")
                        asking.join()
                        self.assertEqual(got[0][0], 204)
                        return head
                    finally:
                        up.__exit__()
            status, headers, _ = proxy.ask("/", "OPTIONS", Max_Forwards="0")
            self.assertEqual((status, headers["Allow"]), (200, "OPTIONS"))
            self.assertEqual(a.asked, [])
            for method, given, passed in (("OPTIONS", "1", b"0"), ("OPTIONS", "70", b"69"),
                                          ("OPTIONS", "x", b"x"), ("GET", "0", b"0"),
                                          ("GET", "5", b"5")):
                head = seen(method, Max_Forwards=given)
                self.assertIn(b"\r\nMax-Forwards: " + passed + b"\r\n", head, (method, given))

    def test_a_method_that_does_not_pass_is_answered_with_those_that_do(self):
        with Backend("a") as a, Proxy(a.url) as proxy:
            status, headers, _ = proxy.ask("/", "TRACE")
            self.assertEqual(status, 405)
            self.assertIn("PATCH", headers["Allow"])

    def test_a_drain_lets_requests_end(self):
        with Backend("a") as a, Proxy(a.url) as proxy:
            got = []
            asking = threading.Thread(target=lambda: got.append(proxy.ask("/slow")))
            asking.start()
            wait_until(lambda: a.asked, "a request for /slow", lambda asked: "/slow" in asked)
            proxy.send(signal.SIGINT)
            proxy.wait_for("Draining: 1 connections")
            a.go.set()
            asking.join(LIMIT_S)
            self.assertEqual(got[0][::2], (200, b"a"))
            self.assertEqual(proxy.process.wait(LIMIT_S), 0)

    def test_the_next_proxy_takes_over_and_other_settings_come_with_a_reload(self):
        path = str(self.root / "handover")
        config = self.put("proxy.conf", "")
        with Backend("a") as a, Backend("b") as b:
            config.write_text(f"upstream = {a.url}\n")
            words = ("--config", str(config), "--handover", path)
            with Proxy(*words) as first:
                first.wait_for("Ctrl-C stops")
                self.assertEqual(first.ask("/")[2], b"a")
                config.write_text(f"upstream = {b.url}\n")
                first.send(signal.SIGHUP)
                first.wait_for("Settings read again")
                self.assertEqual(first.ask("/")[2], b"b")
                with Proxy(*words, listen=f"127.0.0.1:{first.port}") as second:
                    second.wait_for("Ctrl-C stops")
                    first.wait_for("Handed over")
                    self.assertEqual(second.ask("/")[2], b"b")
                    self.assertEqual(first.process.wait(LIMIT_S), 0)

    def test_rates_and_the_log_are_about_the_client_that_a_trusted_proxy_tells(self):
        with Backend("a") as a:
            words = (a.url, "--rate", "2/h", "--trusted-proxy", "127.0.0.1")
            with Proxy(*words) as proxy:
                codes = [proxy.ask("/", X_Forwarded_For=f"6.6.6.6, 192.0.2.{n}")[0]
                         for n in (1, 1, 1, 2)]
                self.assertEqual(codes, [200, 200, 429, 200])
                fields = json.loads(proxy.ask("/fields", X_Forwarded_For="192.0.2.3")[2])
                self.assertEqual(fields["X-Forwarded-For"], "192.0.2.3, 127.0.0.1")
                proxy.stop()
                self.assertRegex(proxy.log, r"  429  GET /  .*  192\.0\.2\.1\n")
            with Proxy(a.url, "--rate", "2/h") as proxy:  # nobody is trusted
                codes = [proxy.ask("/", X_Forwarded_For=f"192.0.2.{n}")[0] for n in (1, 2, 3)]
                self.assertEqual(codes, [200, 200, 429])

    def test_the_proxy_protocol_comes_from_trusted_peers_and_goes_on(self):
        request = b"GET /fields HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        trust = ("--proxy-protocol", "--trusted-proxy", "127.0.0.1")
        with Backend("a") as a, Proxy(a.url, *trust) as inner, \
                Proxy(f"127.0.0.1:{inner.port}", "--send-proxy-protocol", "2") as outer:
            def talk(port, data):
                with socket.create_connection(("127.0.0.1", port), LIMIT_S) as on:
                    on.sendall(data)
                    return b"".join(iter(lambda: on.recv(65536), b""))
            line = b"PROXY TCP4 192.0.2.9 198.51.100.1 4711 80\r\n"
            self.assertIn(b'"X-Forwarded-For": "192.0.2.9"', talk(inner.port, line + request))
            self.assertEqual(talk(inner.port, request), b"")
            self.assertIn(b'"X-Forwarded-For": "127.0.0.1', talk(outer.port, request))
            inner.wait_for(r"192\.0\.2\.9:4711\n", "log")

    def test_https_in_front_is_told_to_the_upstream(self):
        home = {"HOME": str(self.root), "XDG_DATA_HOME": str(self.root)}
        made = subprocess.run([HEDDLE, "cert"], cwd=self.root, capture_output=True, text=True,
                              timeout=LIMIT_S, env=environment(home))
        if made.returncode != 0:
            self.skipTest(made.stderr)
        pair = (str(self.root / "localhost.pem"), str(self.root / "localhost.key"))
        with Backend("a") as a, Proxy(a.url, "--tls", *pair) as proxy:
            got = subprocess.run(["curl", "-sk", f"https://127.0.0.1:{proxy.port}/fields"],
                                 capture_output=True, text=True, timeout=LIMIT_S)
            self.assertEqual(json.loads(got.stdout)["X-Forwarded-Proto"], "https")
            self.assertIn("Via", got.stdout)

    def test_websockets_pass(self):
        with Backend("a") as a, socket.create_server(("127.0.0.1", 0)) as door:
            def upgrade():
                on, _ = door.accept()
                head = b""
                while b"\r\n\r\n" not in head:
                    head += on.recv(65536)
                assert b"Connection: Upgrade\r\n" in head, head
                on.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n"
                           b"Upgrade: websocket\r\n\r\nhello")
                while data := on.recv(65536):
                    on.sendall(data.upper())
                on.close()
            threading.Thread(target=upgrade, daemon=True).start()
            with Proxy(f"http://127.0.0.1:{door.getsockname()[1]}") as proxy, \
                    socket.create_connection(("127.0.0.1", proxy.port), LIMIT_S) as on:
                on.sendall(b"GET /chat HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
                           b"Upgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n")
                got = b""
                while not got.endswith(b"hello"):
                    got += on.recv(65536)
                self.assertTrue(got.startswith(b"HTTP/1.1 101 "), got)
                on.sendall(b"ping")
                self.assertEqual(on.recv(65536), b"PING")
                on.shutdown(socket.SHUT_WR)
                self.assertEqual(on.recv(65536), b"")

    def test_mistakes_are_named(self):
        for words, text in (
                ((), "name the server to send requests to"),
                ((":8080",), "name the server to send requests to"),
                (("nowhere:x", "http://a"), "'nowhere:x' is no place to listen"),
                ((":8080", "ftp://a"), "'ftp://a' is no upstream"),
                ((":8080", "http://a/b"), "leave '/b' out"),
                ((":8080", "http://a", "--balance", "best"), "'best' is no way to choose"),
                ((":8080", "http://a", "--proxy-protocol"), "add --trusted-proxy NETWORK"),
                ((":8080", "http://a", "--trusted-proxy", "x"), "'x' is no network"),
                ((":8080", "h2c://a/b"), "leave '/b' out"),
                ((":8080", "h2c://"), "'h2c://' is no upstream"),
                ((":8080", "h2c://a", "--send-proxy-protocol", "1"),
                 "--send-proxy-protocol names one client for a connection, and clients share those "
                 "to h2c://a"),
                ((":8080", "h2c://a", "--upstream-http2", "0"), "'0' is not from 1 to 1000000"),
                ((":8080", "h2c://a", "--upstream-streams", "0"), "'0' is not from 1 to 16383"),
                ((":8080", "h2c://a", "--upstream-streams", "20000"), "is not from 1 to 16383"),
                ((":8080", "h2c://a", "--refused-retries", "-1"), "'-1' is no number"),
                ((":8080", "h2c://a", "--repeat-bytes", "x"), "'x' is no size"),
                ((":8080", "h2c://unix:/x"), "unix:/run/app.socket"),
                ((":8080", "h2c:127.0.0.1"), "'h2c:127.0.0.1' is no upstream"),
                ((":8080", "http://a", "--no-upstream-http2", "1"), "'1' is no upstream: write "
                 "HOST:PORT, as 127.0.0.1:1; a switch such as --no-upgrade takes no word behind"),
                ((":8080", "h2c://a", "http://b", "H2C://A"), "upstream H2C://A is named twice"),
                ((":8080", "H2C://a", "--send-proxy-protocol", "1"), "share those to H2C://a"),
                ((":8080", "http://a", "--balanec", "x"), "did you mean --balance?")):
            code, _, err = run("proxy", *words, "--check")
            self.assertIn(text, err)
            self.assertNotEqual(code, 0)
        config = self.put("wrong.conf", "host = keep\nupstream = ftp://a\n")
        for text, why in (("ftp://a", "'ftp://a' is no upstream"), ("http://a/b", "leave '/b' out"),
                          ("unix:", "name the socket"), ("unix:/" + "x" * 110, "107 bytes")):
            config.write_text(f"host = keep\nupstream = {text}\n")
            code, _, err = run("proxy", ":8080", "--config", str(config), "--check")
            self.assertEqual(code, 2)
            self.assertRegex(err, rf"^error: {config}:2: .*{why}")
            self.assertNotIn("Invalid argument", err)
        code, out, _ = run("proxy", ":8080", "http://a", "unix:/run/b", "--check")
        self.assertEqual((code, out), (0, "The settings are good: http://a, unix:/run/b; http.\n"))
        code, out, _ = run("proxy", ":8080", "h2c://a:1", "https://b", "--no-upstream-http2",
                           "--upstream-http2", "2", "--upstream-streams", "16383",
                           "--refused-retries", "0", "--repeat-bytes", "1M", "--check")
        self.assertEqual((code, out), (0, "The settings are good: h2c://a:1, https://b; http.\n"))

    def test_the_help_fits_a_screen(self):
        for flag, most in (("--help", 24), ("--help-site", 50), ("--help-limits", 50)):
            code, out, _ = run("proxy", flag)
            self.assertEqual(code, 0)
            self.assertLessEqual(len(out.splitlines()), most, out)
            self.assertLessEqual(max(map(len, out.splitlines())), 100)

    def test_a_request_whose_body_comes_after_reloads_is_answered(self):
        config = self.put("proxy.conf", "")
        with Backend("a") as a:
            config.write_text(f"upstream = {a.url}\n")
            with Proxy("--config", str(config), "--metrics") as proxy, \
                    socket.create_connection(("127.0.0.1", proxy.port), LIMIT_S) as on:
                on.sendall(b"POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
                           b"Connection: close\r\n\r\n")
                held = proxy.connect()
                wait_until(lambda: proxy.metric("http_connections_open", held),
                           "the proxy to take the first connection", lambda n: n == 2)
                # Its bytes had come before; one turn later the proxy has read them, too.
                proxy.metric("http_connections_open", held)
                held.close()
                for n in range(1, 4):
                    proxy.send(signal.SIGHUP)
                    proxy.wait_for(
                        r"(?s)" + "Settings read again.*" * n)
                    self.assertEqual(proxy.ask("/")[0], 200)
                on.sendall(b"hello")
                got = b"".join(iter(lambda: on.recv(65536), b""))
                self.assertTrue(got.startswith(b"HTTP/1.1 200 ") and got.endswith(b"5"), got)

    def test_bytes_that_came_unasked_answer_nobody(self):
        with socket.create_server(("127.0.0.1", 0)) as door:
            answered, closed = threading.Event(), threading.Event()

            def backend():
                for _ in range(2):
                    with door.accept()[0] as on:
                        on.recv(65536)
                        on.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood")
                        answered.wait(LIMIT_S)
                        try:
                            on.sendall(b"HTTP/1.1 408 Late\r\nContent-Length: 3\r\n\r\nbad")
                            if on.recv(65536):
                                return  # something was sent after the bad bytes
                        except OSError:
                            pass
                        closed.set()
            threading.Thread(target=backend, daemon=True).start()
            with Proxy(f"http://127.0.0.1:{door.getsockname()[1]}") as proxy:
                self.assertEqual(proxy.ask("/")[::2], (200, b"good"))
                answered.set()
                self.assertTrue(closed.wait(LIMIT_S), "the proxy kept the connection")
                self.assertEqual(proxy.ask("/")[::2], (200, b"good"))

    def test_trailers_about_the_client_and_of_one_connection_do_not_pass(self):
        with socket.create_server(("127.0.0.1", 0)) as door:
            got = []

            def backend():
                on, _ = door.accept()
                text = b""
                while b"\r\n\r\n" not in text.partition(b"\r\n0\r\n")[2]:
                    text += on.recv(65536)
                got.append(text)
                on.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: X-Own\r\n"
                           b"\r\n0\r\nX-Own: 1\r\nX-Sum: 2\r\n\r\n")

            answering = threading.Thread(target=backend)
            answering.start()
            with Proxy(f"http://127.0.0.1:{door.getsockname()[1]}") as proxy, \
                    socket.create_connection(("127.0.0.1", proxy.port), LIMIT_S) as on:
                on.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
                           b"Connection: close, X-Mine\r\n\r\n2\r\nhi\r\n0\r\nX-Mine: 1\r\n"
                           b"X-Forwarded-For: 6.6.6.6\r\nContent-Length: 9\r\nX-Good: 3\r\n\r\n")
                answer = b"".join(iter(lambda: on.recv(65536), b""))
                answering.join()
            trailers = got[0].partition(b"\r\n0\r\n")[2]
            self.assertEqual(trailers, b"X-Good: 3\r\n\r\n")
            self.assertIn(b"X-Sum: 2", answer)
            self.assertNotIn(b"X-Own", answer)


if __name__ == "__main__":
    unittest.main()
