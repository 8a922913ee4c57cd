# SPDX-License-Identifier: MIT
"""The servers that suites measure: how each is configured, started on core 0 and ended; and what
suites that start servers have in common.

All serve one directory (or echo), on loopback, with one worker, keep-alive without a limit on
requests, and no access log.
"""

import http.client
import os
import shutil
import socket
import subprocess

import bench_machine as machine
from bench_machine import Failed
from bench_plan import build_folder, Plan

NGINX = """
daemon off; worker_processes 1; pid {home}/nginx.pid; error_log {home}/error.log;
worker_rlimit_nofile 20000; {user}
events {{ worker_connections 16384; }}
http {{
  access_log off; server_tokens on; sendfile on; tcp_nopush on; tcp_nodelay on;
  default_type text/plain; keepalive_requests 1000000000; keepalive_timeout 600s;
  client_body_temp_path {home}/body; proxy_temp_path {home}/proxy;
  fastcgi_temp_path {home}/fastcgi; uwsgi_temp_path {home}/uwsgi; scgi_temp_path {home}/scgi;
  {cache}
  server {{ listen 127.0.0.1:{port} backlog=4096; root {site}; }}
}}
"""

OPEN_FILE_CACHE = ("open_file_cache max=1000 inactive=600s; open_file_cache_valid 600s; "
                   "open_file_cache_min_uses 1;")

# 65,535 requests are the most that lighttpd grants a connection; the client then reconnects.
LIGHTTPD = """
server.document-root = "{site}"
server.port = {port}
server.bind = "127.0.0.1"
server.errorlog = "{home}/error.log"
server.max-fds = 20000
server.max-connections = 16384
server.max-keep-alive-requests = 65535
server.max-keep-alive-idle = 600
server.listen-backlog = 4096
mimetype.assign = ( ".txt" => "text/plain" )
"""


class Server:
    """One subject, started when first asked for. `missing` is why it cannot be, or None."""

    def __init__(self, name, command, missing=None, env=None, prepare=None):
        self.name = name
        self.command = command           # port -> list of words
        self.missing = missing
        self.env = env or {}
        self.prepare = prepare
        self.group = None                # a bench_machine.Group
        self.process = None
        self.port = None
        self.failure = None

    def start(self):
        if self.failure:
            raise Failed(self.failure)
        if self.process is not None and self.process.poll() is None:
            return
        self.port = machine.free_port()
        if self.prepare:
            self.prepare(self.port)
        try:
            command = self.enter(self.command(self.port))
            self.process = subprocess.Popen(
                [str(c) for c in command], env={**os.environ, **self.env},
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                preexec_fn=machine.pin_to(machine.SERVER_CORE, self.group))
            self.wait()
        except (OSError, Failed) as why:
            self.failure = str(why)
            self.stop()
            raise Failed(self.failure) from None

    def wait(self):
        """Until it answers."""
        machine.wait_for_port(self.process, self.port)

    def enter(self, command):
        """The command of a program that reaches the server."""
        return command

    def restart(self):
        self.stop()
        self.start()

    def pids(self):
        return machine.family(self.process.pid)

    def stop(self):
        if self.process is not None:
            machine.stop(self.process)
            self.process = None


class Suite:
    """A suite that starts servers. They and its control group end when its plan is closed.

    A module of a suite has `plan = Suite.plan_of` of a class derived from this one.
    """

    def __init__(self, context, name, cases=()):
        self.context = context
        self.plan = Plan(cases)
        self.plan.close = self.close
        self.started = []                # the servers to end
        self.checked = set()             # (server, case) whose answers were looked at
        self.group = machine.Group(f"heddle_{name}")

    @classmethod
    def plan_of(cls, context):
        return cls(context).plan

    def load(self, case, server, words, check, values):
        """Runs the load client `self.client`; `check` raises OSError or Failed for a bad answer.

        `values` makes figures of what the client prints. `self.warmup` is in seconds.
        """
        server.group = self.group
        server.start()
        if check and (server, case) not in self.checked:
            try:
                check()
            except OSError as why:
                raise Failed(f"{server.name}: {why}") from None
            self.checked.add((server, case))
        command = [self.client, "--port", server.port, "--warmup", self.warmup, *words]
        for pid in server.pids():
            command += ["--server", pid]
        return values(machine.run(server.enter(command), core=machine.CLIENT_CORE, timeout=60,
                                  group=self.group))

    def close(self):
        for server in self.started:
            server.stop()
        self.group.close()


def get(port, path):
    """Status, body and length of the whole answer to one GET."""
    with socket.create_connection(("127.0.0.1", port), 5) as s:
        s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        answer = http.client.HTTPResponse(s)
        answer.begin()
        body = answer.read()
    # The head as it came: status line, fields, blank line.
    head = len(f"HTTP/1.1 {answer.status} {answer.reason}\r\n\r\n")
    head += sum(len(k) + len(v) + 4 for k, v in answer.getheaders())
    return answer.status, body, head + len(body)


def check_http(server, path, size):
    status, body, _ = get(server.port, path)
    if status != 200 or len(body) != size:
        raise Failed(f"answers {status} with {len(body)} bytes where 200 with {size} was expected")


def check_echo(server):
    text = b"is anybody there?"
    with socket.create_connection(("127.0.0.1", server.port), 5) as s:
        s.sendall(text)
        back = b""
        while len(back) < len(text):
            part = s.recv(100)
            if not part:
                break
            back += part
    if back != text:
        raise Failed(f"echoes {back!r} for {text!r}")


def program(name):
    """A server's program; Debian keeps servers where a user's PATH may not look."""
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


def ceilings(rivals, *options):
    """Both hand-written loops; `options` are words of their command lines."""
    for kind in ("epoll", "uring"):
        name = f"ceiling_{kind}"
        path = rivals.path("ceiling", name)
        missing = None if path else rivals.missing["ceiling"]
        yield Server(name, lambda port, p=path: [p, "--port", port, *options], missing)


def heddle(root, words, program_path):
    """Heddle with each of its two fast drivers."""
    path = build_folder(root) / program_path
    missing = None if path.exists() else f"{path.relative_to(root)} is not built"
    for kind, driver in (("epoll", "epoll"), ("uring", "io_uring")):
        yield Server(f"heddle_{kind}", lambda port: [path, *words(port)], missing,
                     env={"HEDDLE_DRIVER": driver})


def configured(name, path, home, text, command, **words):
    """A server with a file of settings; `command` makes its words from the file's name."""
    home = home / name
    config = home / f"{name}.conf"

    def prepare(port):
        home.mkdir(parents=True, exist_ok=True)
        config.write_text(text.format(home=home, port=port, **words))

    return Server(name, lambda port: command(config),
                  None if path else f"no {name.partition('_')[0]} (scripts/setup peers)",
                  prepare=prepare)


def nginx(home, site, name, cache):
    path = program("nginx")
    user = "user root;" if os.geteuid() == 0 else ""
    return configured(name, path, home, NGINX,
                      lambda config: [path, "-p", config.parent, "-c", config],
                      site=site, cache=cache, user=user)


def lighttpd(home, site):
    path = program("lighttpd")
    return configured("lighttpd", path, home, LIGHTTPD,
                      lambda config: [path, "-D", "-f", config], site=site)
