# SPDX-License-Identifier: MIT
"""The built heddle program as a person or a service manager runs it: a server in a folder of its
own, what it says, what it answers. Everything has a bound in time; nothing is left running."""

import http.client
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

HEDDLE = os.environ.get("HEDDLE", "build/release/bin/heddle")
SANITIZED = any(part in ("asan", "tsan") for part in HEDDLE.split("/"))
LIMIT_S = 20  # for anything; sanitizers and a busy machine are slow


def wait_until(look, what, good=bool, limit_s=LIMIT_S, but=()):
    """Calls look() until it returns something good, and returns that. Fails with what it waited
    for and what look() returned last; an exception of a type in `but` is no result yet."""
    end = time.monotonic() + limit_s
    while True:
        try:
            seen = look()
            if good(seen):
                return seen
        except but as why:
            seen = why
        if time.monotonic() >= end:
            raise AssertionError(f"waited {limit_s} s for: {what}; last seen: {seen!r}")
        time.sleep(0.005)


def run(*words, **variables):
    """A verb that ends by itself: (exit code, stdout, stderr)."""
    done = subprocess.run([HEDDLE, *words], capture_output=True, text=True, timeout=LIMIT_S,
                          env=environment(variables))
    return done.returncode, done.stdout, done.stderr


def environment(variables):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("HEDDLE_", "LISTEN_"))}
    return clean | variables


class Load:
    """Clients in threads of their own, which run until the block of `with` ends. Whoever derives
    from this adds threads; each returns soon after `over` is set, counts `answers` and adds to
    `wrong` what must not be."""

    def __init__(self):
        self.answers, self.wrong, self.threads = 0, [], []
        self.over = threading.Event()

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for t in self.threads:
            t.join()


class Server:
    """`heddle serve` on a free port. Its talk (stderr) is read as it comes. It refuses nothing for
    being slow (--queue-delay): a machine with much else to do is no defect of the server. With
    port=None the words say where it listens, also for another verb."""

    def __init__(self, *words, port="0", tty=None, fds=(), wrap=(), verb="serve", **variables):
        command = [*wrap, HEDDLE, verb, *words, *(("-p", port) if port else ())]
        stderr = tty if tty is not None else subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr,
            pass_fds=fds, start_new_session=True,
            env=environment({f"HEDDLE_{verb.upper()}_QUEUE_DELAY": "0"} | variables),
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.talk, self.log = "", ""
        self.read_from = None if tty is not None else self.process.stderr

    def __enter__(self):
        found = self.wait_for(r"here     https?://([\d.]+|\[[\w:]+\]):(\d+)/")
        self.host, self.port = found[1].strip("[]"), int(found[2])
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(LIMIT_S)
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()

    def wait_for(self, pattern, stream=None):
        """Reads stderr (or the log, on stdout) until the pattern stands there."""
        logs = stream == "log"
        source = self.process.stdout if logs else self.read_from
        end = time.monotonic() + LIMIT_S
        while True:
            text = self.log if logs else self.talk
            if found := re.search(pattern, text):
                return found
            left = end - time.monotonic()
            if left <= 0 or not select.select([source], [], [], left)[0]:
                raise AssertionError(f"no {pattern!r} in: {text!r}")
            data = os.read(source.fileno(), 65536)
            if not data:
                raise AssertionError(f"ended without {pattern!r}: {text!r}")
            if logs:
                self.log += data.decode("utf-8", "replace")
            else:
                self.talk += data.decode("utf-8", "replace")

    def send(self, number=signal.SIGINT):
        self.process.send_signal(number)

    def stop(self, number=signal.SIGTERM):
        """Ends it; gives its exit code, and the rest of its words are in `talk` and `log`."""
        self.send(number)
        out, err = self.process.communicate(timeout=LIMIT_S)
        self.log += out.decode("utf-8", "replace")
        self.talk += (err or b"").decode("utf-8", "replace")
        return self.process.returncode

    def connect(self):
        return http.client.HTTPConnection(self.host, self.port, timeout=LIMIT_S)

    def ask(self, target, method="GET", body=None, over=None, **fields):
        """(status, headers, body) of one request, over a connection of its own unless one is given;
        fields are written with _ for -."""
        connection = over or self.connect()
        headers = {name.replace("_", "-"): value for name, value in fields.items()}
        connection.request(method, target, body=body, headers=headers)
        answer = connection.getresponse()
        data = answer.read()
        if over is None:
            connection.close()
        return answer.status, answer.headers, data

    def metric(self, name, over=None):
        """The number of this name (without heddle_ and _total) on the page of --metrics."""
        page = self.ask("/metrics", over=over)[2].decode()
        found = re.search(rf"^heddle_{name}(?:_total)?(?:{{[^}}]*}})? (\d+)$", page, re.M)
        if not found:
            raise AssertionError(f"no heddle_{name} in: {page!r}")
        return int(found[1])


class SiteTest(unittest.TestCase):
    """Tests with a folder to serve, removed at the end."""

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="heddle-cli-"))
        self.addCleanup(shutil.rmtree, self.root)
        self.site = self.root / "site"
        self.site.mkdir()
        self.put("index.html", "<p>index")

    def put(self, name, text):
        path = self.site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def serve(self, *words, **more):
        return Server(str(self.site), *words, **more)
