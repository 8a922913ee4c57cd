# SPDX-License-Identifier: MIT
"""Suite sync: transactions alone, by the number of variables read, and on two workers by a mutex.

All cases are the benchmarks `sync/CASE/SUBJECT` of build/dist/bench/sync_*. Cases on two workers
have both cores, and a large share of them where that can be had: what passes there (wall_ns) says
nothing while one of the two threads does not run.
"""

import bench_machine as machine
import bench_own
from bench_plan import Plan

CASES = ("read_modify_write", "read_variables", "two_workers_shared", "two_workers_disjoint")


def plan(context):
    seconds = 0.05 if context.brief else 0.3
    out = Plan(CASES)
    group = machine.Group("heddle_bench")
    out.close = group.close
    own = bench_own.measures(context, "sync", ("sync",), seconds)
    if not own:
        out.skip("heddle", "build/dist/bench/sync_* is not built (make bench builds it)")
    both = bench_own.measures(context, "sync", ("sync",), seconds, None, group=group)
    for one, two in zip(own, both):
        out.add(two if one.case.startswith("two_workers") else one)
    out.pairs += [("heddle", "mutex", metric) for metric in ("wall_ns", "cpu_ns")]
    out.pairs += [("heddle_1000", "heddle_100", "cpu_ns")]
    return out
