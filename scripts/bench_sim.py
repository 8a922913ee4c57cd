# SPDX-License-Identifier: MIT
"""Suite sim: what a whole run costs, its world and its runtime included, as tests make thousands.

Cases are the benchmarks `sim/CASE` of build/dist/bench/sim_runs. A figure is for one run, and in
http_answer for one of the hundred answers of a run: `cpu_ns`, of which `kernel_ns` in the kernel,
`page_faults`, and `system_calls`, which a second and short execution under strace counts.
"""

import json
import re
import shutil
import tempfile

import bench_machine as machine
import bench_own
from bench_plan import Measure, Plan

CASES = ("empty_run", "small_run", "small_run_fibers", "http_answer", "cluster_run")
COUNTED_SECONDS = 0.02


def arguments(name, seconds):
    return [f"--benchmark_filter=^{re.escape(name)}$", "--benchmark_format=json",
            f"--benchmark_min_time={seconds}"]


def costs(text):
    """[(metric, value, unit)] of one benchmark in Google Benchmark's JSON."""
    run = json.loads(text)["benchmarks"][0]
    return [("cpu_ns", 1e9 / run["items_per_second"], "ns"),
            ("kernel_ns", run["kernel_ns"], "ns"), ("page_faults", run["page_faults"], "1")]


def calls(summary):
    """The calls of all kinds in the table that strace -c prints."""
    sums = [line.split() for line in summary.splitlines() if line.endswith(" total")]
    return int(sums[0][3])   # behind percent, seconds, and microseconds a call


def counted(command):
    """(calls, standard output) of a command under strace."""
    with tempfile.NamedTemporaryFile("r") as table:
        text = machine.run(["strace", "-f", "-c", "-o", table.name, *command])
        return calls(table.read()), text


def system_calls(program, name):
    """System calls of an item, without those of the program's start."""
    start, _ = counted([program, "--benchmark_list_tests=true"])
    whole, text = counted([program, *arguments(name, COUNTED_SECONDS)])
    return (whole - start) / json.loads(text)["benchmarks"][0]["items_made"]


def measured(program, name, seconds):
    out = costs(machine.run([program, *arguments(name, seconds)], machine.SERVER_CORE))
    if shutil.which("strace"):
        out.append(("system_calls", round(system_calls(program, name), 1), "1"))
    return out


def plan(context):
    seconds = 0.05 if context.brief else 0.3
    out = Plan(CASES)
    own = bench_own.found(context.root, "sim", ("sim",))
    if not own:
        out.skip("heddle", "build/dist/bench/sim_runs is not built (make bench builds it)")
    for case, subject, program, name in own:
        out.add(Measure(case, subject, seconds + 1,
                        lambda p=program, n=name: measured(p, n, seconds)))
    return out
