# SPDX-License-Identifier: MIT
"""Suite fiber: what stackful threads cost to switch, start and keep, beside the rivals' threads.

Heddle's cases are the benchmarks `fiber/CASE` of build/dist/bench/fiber_*. The rivals are
Boost.Fiber and goroutines, each a program `core CASE COUNT`. A `switch` is half a yield: a fiber
goes out to the scheduler, and in again.
"""

import json

import bench_machine as machine
import bench_own
from bench_plan import Measure, Plan

CASES = ("switch", "yield_2", "yield_10000", "spawn_join", "spawn_join_64", "parked_bytes")
RIVAL_CASES = ("yield_2", "yield_10000", "spawn_join", "parked_bytes")
# How many threads are parked: bytes for each are the same for any number that memory allows.
PARKED = {"boost_fiber": 20_000, "go": 300_000}


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
        # With 10,000 threads each must yield often, else the time of starting them dominates.
        least = 200_000 if case == "yield_10000" else 1_000
        cost_ns = max(self.once(case, least)[1], 0.1)
        self.counts[case] = max(least, int(self.seconds * 1e9 / cost_ns))
        return self.counts[case]

    def once(self, case, count):
        r = json.loads(machine.run([self.program, case, count]))
        return r["metric"], r["value"], r["unit"]


def plan(context):
    rivals = context.rivals
    rivals.build_cpp()
    rivals.build_go()
    seconds = 0.05 if context.brief else 0.3
    out = Plan(CASES)
    own = bench_own.measures(context, "fiber", ("fiber",), seconds)
    if not own:
        out.skip("heddle", "build/dist/bench/fiber_* is not built (make bench builds it)")
    for measure in own:
        out.add(measure)
    for name in PARKED:
        program = rivals.path(name, "core")
        if program is None:
            out.skip(name, rivals.missing[name])
            continue
        rival = Rival(name, program, seconds)
        for case in RIVAL_CASES:
            out.add(Measure(case, name, seconds, lambda r=rival, c=case: r.run(c, context.brief),
                            rounds_max=2 if case == "parked_bytes" else None))
        out.pairs += [("heddle", name, metric) for metric in ("cpu_ns", "bytes")]
    return out
