# SPDX-License-Identifier: MIT
"""Case idle_10000: what a server's memory grows by for each idle keep-alive connection.

The server is started afresh and warmed up (its code is then in memory, and the pools that a first
client fills are filled); that is its base. Then 10,000 connections ask once each and rest.
"""

import json
import subprocess

import bench_machine as machine
from bench_http_values import idle_values
from bench_machine import Failed

WARMUP = ("--connections", 50, "--seconds", 0.1, "--warmup", 0)
ANSWER_S = 60


def measure(server, client, idle, path, count):
    """Metrics of one server; `client` and `idle` are the programs of bench/rivals/load."""
    server.restart()
    try:
        machine.run([client, "--port", server.port, "--path", path, *WARMUP],
                    core=machine.CLIENT_CORE, timeout=ANSWER_S, group=server.group)
        before = machine.memory(server.pids())
        after = hold(server, idle, path, count)
    finally:
        server.stop()   # what it learnt of 10,000 connections is no part of other cases
    return idle_values(before, after, count)


def hold(server, idle, path, count, look=None):
    """The server's memory while `count` connections rest, or what `look` finds of its processes."""
    process = subprocess.Popen([str(idle), str(server.port), str(count), path], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE,
                               preexec_fn=machine.pin_to(machine.CLIENT_CORE,
                                                         server.group))
    with process:
        try:
            if not process.stdout.readline():
                raise Failed(process.stderr.read().strip() or "the idle client said nothing")
            after = (look or machine.memory)(server.pids())
            said, _ = process.communicate(timeout=ANSWER_S)
        except subprocess.TimeoutExpired:
            raise Failed(f"the idle client did not end within {ANSWER_S} s") from None
        finally:
            machine.stop(process)
    alive = json.loads(said)["alive"]
    if alive != count:
        raise Failed(f"kept {alive} of {count} idle connections")
    return after
