# SPDX-License-Identifier: MIT
"""Suite sealed: how fast apps/sealed sends a cached file to 16 clients, by cipher.

Subjects: one server with one worker; the same before it was colored (`uncolored`, left out unless
$SEALED_UNCOLORED names that program); one server with two workers; and two copies of one worker
each, the upper bound of what two workers could do. `bytes_per_s` is file content; per second of the
servers' processor time it is `bytes_per_server_cpu_s`, which does not depend on who else uses the
machine. `client_cpus` is what the load client takes of the same processors: sealed load opens the
first answer whole and has the kernel discard the rest (docs/reference/sealed.md).

Case chacha20_poly1305_narrow is that cipher with OpenSSL kept from using wide vectors: the record
costs twice as much, so the client's share is smallest, and it is the case to judge speedups by.
"""

import json
import os
import random
import subprocess

import bench_machine as machine
from bench_machine import Failed
from bench_plan import build_folder, Measure, Plan

# case -> cipher, environment
CASES = {
    "chacha20_poly1305_narrow": ("chacha20-poly1305", {"OPENSSL_ia32cap": ":0x0"}),
    "chacha20_poly1305": ("chacha20-poly1305", {}),
    "aes_256_gcm": ("aes-256-gcm", {}),
}
# subject -> workers, the core of each of its servers (None: any), and of the client
SUBJECTS = {"uncolored": (1, (machine.SERVER_CORE,), machine.CLIENT_CORE),
            "one_worker": (1, (machine.SERVER_CORE,), machine.CLIENT_CORE),
            "two_workers": (2, (None,), None),
            "two_copies": (1, (None, None), None)}
PAIRS = (("one_worker", "uncolored"), ("two_workers", "one_worker"), ("two_copies", "one_worker"),
         ("two_workers", "two_copies"))
FILE_BYTES = 32 << 20   # far beyond a core's own caches, as a large file is


class Stand:
    """The program, its key and the file that everybody asks for."""

    def __init__(self, root):
        self.program = build_folder(root) / "apps" / "sealed"
        self.uncolored = os.environ.get("SEALED_UNCOLORED")
        self.home = root / "build" / "bench" / "sealed"
        self.key = self.home / "key"
        self.file = self.home / "public" / "file"

    def prepare(self):
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.key.unlink(missing_ok=True)
        machine.run([self.program, "key", self.key])
        self.file.write_bytes(random.Random(5).randbytes(FILE_BYTES))

    def serve(self, subject, port, core, cipher, env):
        workers = SUBJECTS[subject][0]
        program = self.uncolored if subject == "uncolored" else self.program
        process = subprocess.Popen(
            [program, "serve", self.file.parent, "--key", self.key, "--quiet",
             "--at", f"127.0.0.1:{port}", "--cipher", cipher],
            env={**os.environ, **env, "HEDDLE_WORKERS": str(workers)},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=machine.pin_to(core))
        try:
            machine.wait_for_port(process, port)
        except Failed:
            machine.stop(process)
            raise
        return process

    def run(self, case, subject, seconds):
        cipher, env = CASES[case]
        _, cores, client_core = SUBJECTS[subject]
        servers, words = [], []
        try:
            for core in cores:
                port = machine.free_port()
                servers.append(self.serve(subject, port, core, cipher, env))
                words += ["--at", f"127.0.0.1:{port}", "--pid", servers[-1].pid]
            text = machine.run([self.program, "load", "file", "--key", self.key, "--expect",
                                self.file, "--seconds", seconds, *words], client_core)
        finally:
            for server in servers:
                machine.stop(server)
        return values(text)


def values(text):
    """(metric, value, unit) of what `sealed load` prints."""
    r = json.loads(text)
    if r["bytes_per_s"] <= 0 or r["server_cpus"] <= 0:
        raise Failed("nothing was measured")
    units = {"bytes_per_s": "B/s", "bytes_per_server_cpu_s": "B/s", "server_cpus": "cpus",
             "client_cpus": "cpus"}
    return [(metric, r[metric], unit) for metric, unit in units.items()]


def plan(context):
    out = Plan(CASES)
    stand = Stand(context.root)
    if not stand.program.exists():
        out.skip("sealed", f"{stand.program.relative_to(context.root)} is not built")
        return out
    stand.prepare()
    seconds = 0.5 if context.brief else 3
    if not stand.uncolored:
        out.skip("uncolored", "$SEALED_UNCOLORED names no program (docs/reference/sealed.md)")
    for case in CASES:
        for subject in SUBJECTS:
            if subject == "uncolored" and not stand.uncolored:
                continue
            out.add(Measure(case, subject, seconds + 1.5,
                            lambda c=case, s=subject: stand.run(c, s, seconds)))
    out.pairs = [(*pair, m) for pair in PAIRS for m in ("bytes_per_s", "bytes_per_server_cpu_s")]
    return out
