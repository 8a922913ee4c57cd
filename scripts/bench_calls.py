# SPDX-License-Identifier: MIT
"""Suite calls: Krohn and others, 2007, figures 8 and 9, in cycles of the time stamp counter.

Subject heddle is bench/tamer/paper_calls.T, Tame source as the paper prints it. Case thread makes
and joins one thread after the other: fibers of ours, and the threads of others, whose programs
print nanoseconds of processor time; the counter's rate makes them cycles.
"""

import json

import bench_machine as machine
import bench_own
from bench_fiber import Rival
from bench_plan import build_folder, Measure, Plan

CALLS = ("nothing", "call", "call_new", "nullfn", "nullfn_waits", "wrap", "wrap_heap",
         "system_call")
LOOPS = ("benchfn_callbacks", "benchfn_twait", "benchfn_rendezvous", "benchfn_threaded",
         "benchfn_tfork")
THREADS = ("nptl", "pth", "boost_fiber", "go", "tokio")
UNITS = {"min": "cycles_min", "median": "cycles_median", "mean": "cycles"}


def values_of(text):
    """(metric, value, unit) of one line of paper_calls."""
    said = json.loads(text)
    return [(metric, said[key], "cycles") for key, metric in UNITS.items() if key in said]


class Suite:
    def __init__(self, context):
        self.plan = Plan([*CALLS, *LOOPS, "thread"])
        self.seconds = 0.05 if context.brief else 0.3
        folder = build_folder(context.root) / "bench"
        self.program = folder / "tamer_paper_calls"
        if not self.program.exists():
            self.plan.skip("heddle", f"{self.program.name} is not built (make bench builds it)")
            return
        for case in (*CALLS, *LOOPS):
            self.plan.add(Measure(case, "heddle", 0.3, lambda c=case: self.run(c)))
        self.ghz = self.run("rate")[0][1] / 1e9
        fibers = folder / "fiber_fibers"
        if fibers.exists():
            self.plan.add(Measure("thread", "heddle_fiber", self.seconds, lambda: self.in_cycles(
                bench_own.run(fibers, "fiber/spawn_join", self.seconds))))
        else:
            self.plan.skip("heddle_fiber, thread", "fiber_fibers is not built")
        self.add_rivals(context.rivals)

    def run(self, case):
        return values_of(machine.run([self.program, case]))

    def in_cycles(self, found):
        return [("cycles", value * self.ghz, "cycles") for metric, value, _ in found
                if metric == "cpu_ns"]

    def add_rivals(self, rivals):
        rivals.build_cpp()
        rivals.build_go()
        rivals.build_rust("tokio", {"core": "core_tokio"})
        for name in THREADS:
            program = rivals.path(name, "core")
            if program is None:
                self.plan.skip(f"{name}, thread", rivals.missing[name])
                continue
            rival = Rival(name, program, self.seconds)
            self.plan.add(Measure("thread", name, self.seconds, lambda r=rival: self.in_cycles(
                r.run("spawn_join", False))))


def plan(context):
    return Suite(context).plan
