# SPDX-License-Identifier: MIT
"""Suite fiber: what stackful threads cost to switch, start and keep, beside the rivals' threads.

Heddle's cases are the benchmarks `fiber/CASE` of build/dist/bench/fiber_*. The rivals are those
of suite core whose threads have stacks of their own: Boost.Fiber, goroutines, pthreads. A `switch`
is half a yield: a fiber goes out to the scheduler, and in again.
"""

import bench_core
import bench_own
from bench_plan import Measure, Plan

CASES = ("switch", "yield_2", "yield_10000", "spawn_join", "spawn_join_64", "parked_bytes")
RIVALS = {"boost_fiber": ("yield_2", "yield_10000", "spawn_join", "parked_bytes"),
          "go": ("yield_2", "yield_10000", "spawn_join", "parked_bytes"),
          "pthread": ("yield_2", "spawn_join", "parked_bytes")}


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
    for name, cases in RIVALS.items():
        program = rivals.path(name, "core")
        if program is None:
            out.skip(name, rivals.missing[name])
            continue
        rival = bench_core.Rival(name, program, seconds)
        for case in cases:
            out.add(Measure(case, name, seconds, lambda r=rival, c=case: r.run(c, context.brief),
                            rounds_max=2 if case == "parked_bytes" else None))
        out.pairs += [("heddle", name, metric) for metric in ("cpu_ns", "bytes")]
    return out
