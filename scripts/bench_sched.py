# SPDX-License-Identifier: MIT
"""Suite sched: messages within a color, between colors and between cores, beside the rivals.

Heddle's cases come from build/dist/bench/core_*: a benchmark named `sched/CASE`; its user
counter `cpu_ns` is the processor time of all threads, and its real time is metric wall_ns.
A benchmark `sched/CASE_VARIANT` is another subject of the case. A rival is a program
`colors CASE COUNT` that prints both metrics.
"""

import json

import bench_core
import bench_machine as machine
from bench_plan import Measure, Plan

ONE_CORE = ("post_run", "across_one", "unbalanced_1")
CASES = ONE_CORE + ("stream", "latency", "unbalanced_2", "many_colors")
# The machine's own cost has no strands; see rivals/pthread/colors.cc.
RIVALS = {"pthread": ("stream", "latency", "unbalanced_1"), "asio": CASES, "tokio": CASES,
          "go": CASES}
# A benchmark's name -> the case that it is another way of doing, and its name as a subject.
VARIANTS = {"post_run_message": ("post_run", "heddle_message"),
            "unbalanced_2_no_stealing": ("unbalanced_2", "heddle_no_stealing")}
# The least count that means something: each of the 100,000 colors gets ten messages.
LEAST = {"many_colors": 1_000_000}


def core_of(case):
    """One core for one worker, or all of them (None)."""
    return machine.SERVER_CORE if case in ONE_CORE else None


class Rival:
    """One rival's program; finds for each case the count that fills the wanted time."""

    def __init__(self, program, seconds):
        self.program = program
        self.seconds = seconds
        self.counts = {}

    def run(self, case):
        count = self.counts.get(case) or self.calibrate(case)
        return self.once(case, count)

    def calibrate(self, case):
        least = LEAST.get(case, 1_000)
        cost_ns = max(dict((m, v) for m, v, _ in self.once(case, least))["wall_ns"], 0.1)
        self.counts[case] = max(least, int(self.seconds * 1e9 / cost_ns))
        return self.counts[case]

    def once(self, case, count):
        text = machine.run([self.program, case, count], core_of(case))
        rows = [json.loads(line) for line in text.splitlines()]
        return [(r["metric"], r["value"], r["unit"]) for r in rows]


def plan(context):
    rivals = context.rivals
    rivals.build_cpp()
    rivals.build_go()
    rivals.build_tokio()
    seconds = 0.05 if context.brief else 0.3
    out = Plan(CASES)
    own = bench_core.heddle_programs(context.root, "sched")
    if not own:
        out.skip("heddle", "no benchmark of colors in build/dist/bench/core_* (make bench)")
    for name, program in own.items():
        case, subject = VARIANTS.get(name, (name, "heddle"))
        out.add(Measure(case, subject, seconds + 0.2, lambda p=program, n=name, c=case:
                        bench_core.heddle_run(p, n, seconds, "sched", core_of(c))))
    for name, cases in RIVALS.items():
        program = rivals.path(name, "colors")
        if program is None:
            out.skip(name, rivals.missing[name])
            continue
        rival = Rival(program, seconds)
        for case in cases:
            out.add(Measure(case, name, seconds, lambda r=rival, c=case: r.run(c)))
        out.pairs += [("heddle", name, metric) for metric in ("cpu_ns", "wall_ns")]
    out.pairs += [("heddle_no_stealing", "heddle", "wall_ns")]
    return out
