# SPDX-License-Identifier: MIT
"""Heddle's own cases of the suites fiber, sync, io and capacity.

A benchmark named `SUITE/CASE` or `SUITE/CASE/SUBJECT` in build/dist/bench/ROOM_* is a case of
that suite; without a subject it is `heddle`. A user counter that METRICS names is a metric of its
own. Without such a counter the metric is cpu_ns, the processor time of an item; with the counter
`cpu_ns` the benchmark's time is what passed for an item, metric wall_ns.
"""

import json
import re

import bench_machine as machine
from bench_plan import build_folder, Measure

METRICS = {"bytes": "B", "cpu_ns": "ns", "bytes_per_s": "B/s", "bytes_per_cpu_s": "B/s",
           "hops": "1"}
NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def split(name):
    """(suite, case, subject) of a benchmark's name, or None; options at its end do not count."""
    parts = [p for p in name.split("/") if p not in ("process_time", "real_time", "manual_time")
             and not re.fullmatch(r"iterations:\d+|\d+", p)]
    if len(parts) not in (2, 3):
        return None
    return tuple(parts) if len(parts) == 3 else (*parts, "heddle")


def found(root, suite, rooms):
    """[(case, subject, program, name)] of all benchmarks of a suite, in their programs' order."""
    out = []
    for room in rooms:
        for program in sorted((build_folder(root) / "bench").glob(f"{room}_*")):
            if not program.is_file() or program.suffix:
                continue
            try:
                names = machine.run([program, "--benchmark_list_tests=true"])
            except machine.Failed:
                continue
            for name in names.splitlines():
                parts = split(name)
                if parts and parts[0] == suite:
                    out.append((parts[1], parts[2], program, name))
    return out


def values(text):
    """[(metric, value, unit)] of the one benchmark in Google Benchmark's JSON."""
    runs = [b for b in json.loads(text)["benchmarks"] if b.get("run_type") != "aggregate"]
    if len(runs) != 1:
        raise machine.Failed(f"the program ran {len(runs)} benchmarks instead of one")
    run = runs[0]
    if run.get("error_occurred"):
        raise machine.Failed(run.get("error_message", "the benchmark reported an error"))
    out = [(m, run[m], unit) for m, unit in METRICS.items() if m in run]
    if run.get("items_per_second"):
        ns = 1e9 / run["items_per_second"]
    else:
        ns = run["cpu_time"] * NS[run["time_unit"]]
    if not out:
        return [("cpu_ns", ns, "ns")]
    return out + [("wall_ns", ns, "ns")] if "cpu_ns" in run else out


def run(program, name, seconds, core=machine.SERVER_CORE, **where):
    return values(machine.run([program, f"--benchmark_filter=^{re.escape(name)}$",
                               "--benchmark_format=json", f"--benchmark_min_time={seconds}"],
                              core, **where))


def measures(context, suite, rooms, seconds, core=machine.SERVER_CORE, **where):
    """A Measure for each of Heddle's benchmarks of the suite."""
    return [Measure(case, subject, seconds + 0.2,
                    lambda p=program, n=name: run(p, n, seconds, core, **where))
            for case, subject, program, name in found(context.root, suite, rooms)]
