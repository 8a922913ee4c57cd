# SPDX-License-Identifier: MIT
"""Suite web: HTTP/2 over TLS, the cost of a reverse proxy, and WebSocket, beside other servers.

    scripts/bench web --brief        # less than three minutes; also: python3 scripts/bench_web.py

The server has core 0, the clients and the backend core 1. The figure is the server's processor time
for a request, of all its processes and threads, as the scheduler counts it. h2load asks over
HTTP/2; bench/rivals/load asks through proxies, whose backend is the hand-written epoll loop.
"""

import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True

import bench_http_table
import bench_http_values
import bench_machine as machine
import bench_servers as servers
from bench_machine import Failed
from bench_plan import build_folder, Measure, Plan
from bench_websocket import run_seconds

ROUNDS = (5, 3)   # whole, brief
SIZES = {"100B": 100, "16KB": 16 << 10}
PROXY_CONNECTIONS = 32


@dataclasses.dataclass(frozen=True)
class Streams:
    """How h2load asks: connections, and requests at the same time in each."""
    connections: int
    streams: int
    size: str


HTTP2 = {
    "h2_100B_s1": Streams(16, 1, "100B"),
    "h2_100B_s10": Streams(4, 10, "100B"),
    "h2_100B_s100": Streams(4, 100, "100B"),
    "h2_16KB_s10": Streams(4, 10, "16KB"),
}
WEBSOCKET = {"ws_echo_100B_c50": "/echo", "ws_broadcast_100B_c50": "/chat"}
WEBSOCKET_CONNECTIONS = 50
PROXY = {f"proxy_{size}_c{PROXY_CONNECTIONS}": size for size in SIZES}

NGINX = """
daemon off; worker_processes 1; pid {home}/nginx.pid; error_log {home}/error.log;
worker_rlimit_nofile 20000; {user}
events {{ worker_connections 16384; }}
http {{
  access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; default_type text/plain;
  keepalive_requests 1000000000; keepalive_timeout 600s;
  client_body_temp_path {home}/body; proxy_temp_path {home}/proxy;
  fastcgi_temp_path {home}/fastcgi; uwsgi_temp_path {home}/uwsgi; scgi_temp_path {home}/scgi;
  {rest}
}}
"""
NGINX_H2 = """
  open_file_cache max=1000 inactive=600s; open_file_cache_valid 600s; open_file_cache_min_uses 1;
  ssl_certificate {certificate}; ssl_certificate_key {key}; ssl_protocols TLSv1.3;
  http2_max_requests 1000000000;
  server {{ listen 127.0.0.1:{port} ssl http2 backlog=4096; root {site}; }}
"""
NGINX_PROXY = """
  upstream back {{ server 127.0.0.1:{backend}; keepalive 128; keepalive_requests 1000000000; }}
  server {{ listen 127.0.0.1:{port} backlog=4096;
    location / {{ proxy_pass http://back; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; }} }}
"""
H2O = """
{user}
num-threads: 1
max-connections: 16384
listen:
  host: 127.0.0.1
  port: {port}
  ssl:
    certificate-file: {certificate}
    key-file: {key}
    minimum-version: TLSv1.3
pid-file: {home}/h2o.{port}.pid
error-log: {home}/error.log
file.send-compressed: OFF
hosts:
  default:
    paths:
      /:
        file.dir: {site}
"""
HAPROXY = """
global
  maxconn 4096
  nbthread 1
  tune.bufsize 32768
defaults
  mode http
  timeout connect 5s
  timeout client 600s
  timeout server 600s
"""
HAPROXY_H2 = HAPROXY + """
frontend h2
  bind 127.0.0.1:{port} ssl crt {pair} alpn h2 ssl-min-ver TLSv1.3
  acl small path /100B.txt
  http-request return status 200 content-type text/plain file {site}/100B.txt if small
  http-request return status 200 content-type text/plain file {site}/16KB.txt
"""
HAPROXY_PROXY = HAPROXY + """
  option forwardfor
  http-reuse always
frontend front
  bind 127.0.0.1:{port}
  default_backend back
backend back
  server one 127.0.0.1:{backend} pool-max-conn 128
"""


class Suite:
    def __init__(self, context):
        self.context = context
        self.seconds = 0.4 if context.brief else 1.5
        self.plan = Plan([*HTTP2, *PROXY, *WEBSOCKET])
        self.plan.close = self.close
        self.group = machine.Group("heddle_web")
        self.started = []
        self.checked = set()
        self.home = context.root / "build" / "bench" / "web"
        self.site = self.home / "site"
        self.site.mkdir(parents=True, exist_ok=True)
        for size, count in SIZES.items():
            (self.site / f"{size}.txt").write_bytes(b"b" * count)
        self.program = build_folder(context.root) / "bin/heddle"
        self.user = "user root;" if os.geteuid() == 0 else ""
        context.rivals.build_cpp(("rival_load_load", "rival_ceiling_ceiling_epoll"))
        self.load = context.rivals.path("load", "load")
        self.add_http2()
        self.add_proxies()
        self.add_websockets()

    # HTTP/2 over TLS

    def add_http2(self):
        client = servers.program("h2load")
        if client is None:
            self.plan.skip("HTTP/2, all subjects", "no h2load (apt-get install nghttp2-client)")
            return
        why = self.make_certificate()
        if why:
            self.plan.skip("HTTP/2, all subjects", why)
            return
        for server in self.http2_servers():
            self.started.append(server)
            if server.missing:
                self.plan.skip(f"{server.name}, HTTP/2", server.missing)
                continue
            for case, how in HTTP2.items():
                self.plan.add(Measure(case, server.name, self.seconds + 0.6,
                                      lambda s=server, h=how: self.ask_http2(client, s, h)))
        for case_peers in (("nginx",), ("h2o",), ("nghttpd",), ("haproxy",),
                           ("nginx", "h2o", "nghttpd", "haproxy")):
            lower = list(case_peers) if len(case_peers) > 1 else case_peers[0]
            self.plan.pairs.append(("heddle", lower, "cpu_us"))
        self.plan.pairs.append(("heddle_own", "h2o", "cpu_us"))

    def make_certificate(self):
        """Why there is none; "" if there is."""
        self.certificate, self.key = self.home / "localhost.pem", self.home / "localhost.key"
        self.pair = self.home / "pair.pem"
        if not self.program.exists():
            return "build/dist/bin/heddle is not built"
        data = {**os.environ, "XDG_DATA_HOME": str(self.home / "data")}
        made = subprocess.run([self.program, "cert", "-o", self.home], capture_output=True,
                              text=True, env=data)
        if made.returncode != 0:
            return f"heddle cert: {made.stderr.strip()}"
        self.pair.write_text(self.certificate.read_text() + self.key.read_text())
        return ""

    def http2_servers(self):
        words = {"site": self.site, "certificate": self.certificate, "key": self.key,
                 "pair": self.pair}
        path = self.program
        yield servers.Server("heddle", lambda port: [
            path, "serve", self.site, "-p", port, "--log", "off", "--tls", self.certificate,
            self.key])
        yield servers.Server("heddle_own", lambda port: [
            path, "serve", self.site, "-p", port, "--log", "off", "--tls", self.certificate,
            self.key, "--tls-own-records"])
        yield self.nginx("h2", NGINX_H2, **words)
        h2o = servers.program("h2o")
        user = "user: root" if os.geteuid() == 0 else ""
        yield servers.configured("h2o", h2o, self.home, H2O, lambda config: [h2o, "-c", config],
                                 user=user, **words)
        nghttpd = servers.program("nghttpd")
        yield servers.Server("nghttpd", lambda port: [
            nghttpd, "--htdocs", self.site, "--workers=1", "--address=127.0.0.1", port, self.key,
            self.certificate], None if nghttpd else "no nghttpd (apt-get install nghttp2-server)")
        yield self.haproxy("h2", HAPROXY_H2, **words)

    def nginx(self, kind, rest, **words):
        path = servers.program("nginx")
        return servers.configured("nginx", path, self.home / kind, NGINX.replace("{rest}", rest),
                                  lambda config: [path, "-p", config.parent, "-c", config],
                                  user=self.user, **words)

    def haproxy(self, kind, text, **words):
        path = servers.program("haproxy")
        return servers.configured("haproxy", path, self.home / kind, text,
                                  lambda config: [path, "-db", "-q", "-f", config], **words)

    def ask_http2(self, client, server, how):
        server.group = self.group
        server.start()
        # The same number of requests for all, about as many as the quick ones answer in the time.
        count = int(self.seconds * (60_000 if how.size == "100B" else 25_000))
        if how.streams == 1:
            count //= 2
        pids = server.pids()
        before = run_seconds(pids)
        text = machine.run([client, "--threads=1", f"--clients={how.connections}",
                            f"--max-concurrent-streams={how.streams}", f"--requests={count}",
                            f"https://127.0.0.1:{server.port}/{how.size}.txt"],
                           core=machine.CLIENT_CORE, timeout=60, group=self.group)
        spent = run_seconds(pids) - before
        return http2_values(text, count, SIZES[how.size], spent)

    # Proxies

    def add_proxies(self):
        if self.load is None:
            self.plan.skip("proxies, all subjects", self.context.rivals.missing["load"])
            return
        for case, size in PROXY.items():
            backend = next(iter(servers.ceilings(self.context.rivals, "--body", SIZES[size])))
            if backend.missing:
                self.plan.skip(f"{case}, all subjects", backend.missing)
                continue
            self.started.append(backend)
            for server in self.proxies(backend):
                self.started.append(server)
                if server.missing:
                    self.plan.skip(f"{server.name}, {case}", server.missing)
                else:
                    self.plan.add(Measure(case, server.name, self.seconds + 0.3,
                                          lambda s=server, b=backend, z=size:
                                          self.ask_proxy(s, b, z)))

    def proxies(self, backend):
        def heddle(port):
            return [self.program, "proxy", f"127.0.0.1:{port}",
                    f"http://127.0.0.1:{backend.port}", "--log", "off"]

        def late(server):
            """Its file of settings names the backend's port, which is known once that runs."""
            prepare = server.prepare
            text = {"nginx": NGINX.replace("{rest}", NGINX_PROXY), "haproxy": HAPROXY_PROXY}

            def write(port):
                prepare(port)
                home = self.home / "proxy" / server.name
                (home / f"{server.name}.conf").write_text(text[server.name].format(
                    home=home, port=port, backend=backend.port, user=self.user))
            server.prepare = write
            return server

        missing = None if self.program.exists() else "build/dist/bin/heddle is not built"
        yield servers.Server("heddle", heddle, missing)
        yield late(self.nginx("proxy", NGINX_PROXY, backend=0))
        yield late(self.haproxy("proxy", HAPROXY_PROXY, backend=0))

    def ask_proxy(self, server, backend, size):
        for each, core in ((backend, machine.CLIENT_CORE), (server, machine.SERVER_CORE)):
            each.group = self.group
            each.start()
            os.sched_setaffinity(each.process.pid, {core})
        if server not in self.checked:
            try:
                servers.check_http(server, f"/{size}.txt", SIZES[size])
            except OSError as why:
                raise Failed(f"{server.name}: {why}") from None
            self.checked.add(server)
        command = [self.load, "--port", server.port, "--warmup", 0.1, "--path", f"/{size}.txt",
                   "--connections", PROXY_CONNECTIONS, "--seconds", self.seconds]
        for pid in server.pids():
            command += ["--server", pid]
        text = machine.run(command, core=machine.CLIENT_CORE, timeout=60, group=self.group)
        return [v for v in bench_http_values.load_values(text) if v[0] != "server_core"]

    # WebSocket

    def add_websockets(self):
        rivals = self.context.rivals
        rivals.build_cpp(("rival_beast_websocket",))
        beast = rivals.path("beast", "websocket")
        for case, path in WEBSOCKET.items():
            name = {"/echo": "echo_websocket", "/chat": "chat_websocket"}[path]
            own = build_folder(self.context.root) / "examples" / name
            for server in (
                    servers.Server("heddle", lambda port, p=own: [p, port],
                                   None if own.exists() else f"examples/{name} is not built"),
                    servers.Server("beast", lambda port: [beast, port],
                                   None if beast else rivals.missing["beast"])):
                self.started.append(server)
                if server.missing:
                    self.plan.skip(f"{server.name}, {case}", server.missing)
                else:
                    self.plan.add(Measure(case, server.name, self.seconds + 0.3,
                                          lambda s=server, p=path: self.ask_websocket(s, p)))
        self.plan.pairs.append(("heddle", "beast", "cpu_us"))

    def ask_websocket(self, server, path):
        server.group = self.group
        server.start()
        client = self.context.root / "scripts/bench_websocket.py"
        text = machine.run([sys.executable, "-B", client, server.port, path, WEBSOCKET_CONNECTIONS,
                            SIZES["100B"], self.seconds, *server.pids()],
                           core=machine.CLIENT_CORE, timeout=60, group=self.group)
        found = json.loads(text)
        return [("cpu_us", found["cpu_s"] / found["messages"] * 1e6, "us")]

    def close(self):
        for server in self.started:
            server.stop()
        self.group.close()


def http2_values(text, count, size, cpu_s):
    """From what h2load prints."""
    good = int(re.search(r"(\d+) succeeded", text)[1])
    ok = int(re.search(r"status codes: (\d+) 2xx", text)[1])
    body = re.search(r"\(([\d.]+)([KMG]?)B?\) data", text)
    rate = float(re.search(r"([\d.]+) req/s", text)[1])
    if good != count or ok != count:
        raise Failed(f"h2load: {good} of {count} answered, {ok} with status 200")
    scale = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    if body and not 0.98 < float(body[1]) * scale[body[2]] / (count * size) < 1.02:
        raise Failed(f"h2load: {body[0]} of bodies for {count} of {size} bytes")
    return [("cpu_us", cpu_s / count * 1e6, "us"), ("requests_per_s", rate, "1/s")]


def table(rows):
    """Subjects down, cases across; the ratios beneath. Every row is in figures.json."""
    times = bench_http_table.block(rows, "cpu_us", "server processor time, us a request", "{:.2f}")
    return times + bench_http_table.block(rows, "cpu_us_ratio", "its ratios", "{:.2f}")


def plan(context):
    return Suite(context).plan


def main():
    """`scripts/bench web`, brief unless --whole is given; --json prints the rows of the suite."""
    root = pathlib.Path(__file__).resolve().parent.parent
    words = [w for w in sys.argv[1:] if w not in ("--whole", "--json")]
    brief = [] if "--whole" in sys.argv else ["--brief"]
    done = subprocess.run([sys.executable, root / "scripts/bench", "web", *brief, *words],
                          stdout=subprocess.DEVNULL if "--json" in sys.argv else None)
    if "--json" in sys.argv:
        rows = json.loads((root / "build/bench/figures.json").read_text())
        print(json.dumps([r for r in rows if r["suite"] == "web"], indent=1))
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
