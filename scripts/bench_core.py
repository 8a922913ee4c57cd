# SPDX-License-Identifier: MIT
"""Suite core: what yields, awaits, spawns, events and parked threads cost, beside the rivals.

Heddle's cases come from the Google Benchmark programs build/dist/bench/core_*: a benchmark
named `core/CASE` is case CASE. Its processor time is metric cpu_ns (for one item, where items
are counted), its user counter `bytes` metric bytes. A rival is a program `core CASE COUNT`.
"""

import json
import re

import bench_machine as machine
from bench_plan import build_folder, Measure, Plan

CASES = ("yield_2", "yield_10000", "await_empty_child", "spawn_join", "event", "parked_bytes")

# What some rivals do besides: events on a timer of zero, a timeout that does not fire, channels.
MORE = {"asio": ("benchfn_explicit", "task_timeout", "channel_1", "channel_128")}

# How many threads are parked. Ten million show what a runtime in bytes does at its scale; the
# others take less, for lack of memory or (pthread) of process numbers: bytes each are the same.
PARKED = {"coroutine_floor": 10_000_000, "asio": 1_000_000, "tokio": 1_000_000, "go": 300_000,
          "boost_fiber": 20_000, "pthread": 10_000}
# A rival without the notion: an awaited child that is no thread (Go, fibers, pthreads), or a
# one-shot event that is no condition variable (pthreads).
ABSENT = {("boost_fiber", "await_empty_child"), ("go", "await_empty_child"),
          ("pthread", "await_empty_child"), ("pthread", "event")}
NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def benchmark_values(text, case, suite="core"):
    """(metric, value, unit) of one case from Google Benchmark's JSON.

    A benchmark with the user counter `cpu_ns` has several threads: that is the processor time of
    all of them for one operation, and what Google Benchmark measured is the time that passed.
    """
    out = []
    for b in json.loads(text)["benchmarks"]:
        if b.get("run_type") == "aggregate" or case_of(b["name"], suite) != case:
            continue
        if b.get("error_occurred"):
            raise machine.Failed(b.get("error_message", "the benchmark reported an error"))
        if b.get("items_per_second"):
            ns = 1e9 / b["items_per_second"]
        else:
            ns = b["cpu_time"] * NS[b["time_unit"]]
        if "bytes" in b:
            out.append(("bytes", b["bytes"], "B"))
        if "cpu_ns" in b:
            out += [("cpu_ns", b["cpu_ns"], "ns"), ("wall_ns", ns, "ns")]
        elif case != "parked_bytes":   # there the time is that of filling memory
            out.append(("cpu_ns", ns, "ns"))
    if not out:
        raise machine.Failed(f"the program printed nothing about {case}")
    return out


def case_of(name, suite="core"):
    """The case of a benchmark's name, or None: core/yield_2/process_time is yield_2."""
    parts = name.split("/")
    return parts[1] if len(parts) > 1 and parts[0] == suite else None


class Rival:
    """One rival's program; finds for each case the count that fills the wanted time."""

    def __init__(self, name, program, seconds):
        self.name = name
        self.program = program
        self.seconds = seconds
        self.counts = {}

    def run(self, case, brief):
        if case == "parked_bytes":
            count = PARKED[self.name] // (10 if brief else 1)
        else:
            count = self.counts.get(case) or self.calibrate(case)
        return [self.once(case, count)]

    def calibrate(self, case):
        # With 10,000 threads each must yield often, or starting them is what is measured.
        least = 200_000 if case == "yield_10000" else 1_000
        cost_ns = max(self.once(case, least)[1], 0.1)
        self.counts[case] = max(least, int(self.seconds * 1e9 / cost_ns))
        return self.counts[case]

    def once(self, case, count):
        r = json.loads(machine.run([self.program, case, count]))
        return r["metric"], r["value"], r["unit"]


def heddle_programs(root, suite="core"):
    """{case: program} of Heddle's own benchmarks."""
    found = {}
    for program in sorted((build_folder(root) / "bench").glob("core_*")):
        if not program.is_file() or program.suffix:
            continue
        try:
            names = machine.run([program, "--benchmark_list_tests=true"])
        except machine.Failed:
            continue
        for name in names.splitlines():
            if case_of(name, suite):
                found.setdefault(case_of(name, suite), program)
    return found


def heddle_run(program, case, seconds, suite="core", core=machine.SERVER_CORE):
    text = machine.run([program, f"--benchmark_filter=^{suite}/{re.escape(case)}(/|$)",
                        "--benchmark_format=json", f"--benchmark_min_time={seconds}"], core)
    return benchmark_values(text, case, suite)


def plan(context):
    rivals = context.rivals
    rivals.build_cpp()
    rivals.build_go()
    rivals.build_tokio()
    seconds = 0.05 if context.brief else 0.3
    out = Plan(CASES)
    own = heddle_programs(context.root)
    if not own:
        out.skip("heddle", "build/dist/bench/core_* is not built (make bench builds it)")
    for case, program in own.items():
        out.add(Measure(case, "heddle", seconds + 0.2,
                        lambda p=program, c=case: heddle_run(p, c, seconds)))
    for name in PARKED:
        program = rivals.path(name, "core")
        if program is None:
            out.skip(name, rivals.missing[name])
            continue
        rival = Rival(name, program, seconds)
        for case in CASES + MORE.get(name, ()):
            if (name, case) not in ABSENT:
                parked = case == "parked_bytes"
                out.add(Measure(case, name, 1.0 if parked else seconds,
                                lambda r=rival, c=case: r.run(c, context.brief),
                                rounds_max=2 if parked else None))
        out.pairs += [("heddle", name, metric) for metric in ("cpu_ns", "bytes")]
    return out
