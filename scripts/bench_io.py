# SPDX-License-Identifier: MIT
"""Suite io: a call that blocks, an answer's body, pipes beside idle ones, reads of a disk.

blocking_call: there and back through the pool, beside a bare hand-off by condition variables;
processor time of both threads, on one core. send_body_N: an answer with a body of N bytes, from
ordinary memory and from pages; processor time of the sender, whose client has the other core.
pipes_N: 128 pairs of tasks through pipes of 4 KB, beside N that wait. disk_N: N tasks that read
blocks of a file past the page cache (Li and Zdancewic, 2007, figures 18 and 17).
"""

import os
import re

import bench_machine as machine
import bench_own
from bench_plan import Plan

BODIES = "send_body_"
BRIEF = {"blocking_call", "send_body_131072", "pipes_0", "pipes_1024", "pipes_8192", "disk_1",
         "disk_16", "disk_256", "disk_4096"}


def number(case):
    """N of send_body_N; 0 for a case without."""
    found = re.search(r"\d+$", case)
    return int(found[0]) if found else 0


def plan(context):
    seconds = 0.05 if context.brief else 0.3
    os.environ.setdefault("HEDDLE_BENCH_DISK_MB", "32" if context.brief else "512")
    group = machine.Group("heddle_bench")
    out = Plan([])
    out.close = group.close
    narrow = bench_own.measures(context, "io", ("io",), seconds)
    wide = bench_own.measures(context, "io", ("io",), seconds, None, group=group)
    own = [w if w.case.startswith(BODIES) else n for n, w in zip(narrow, wide)]
    if not own:
        out.skip("heddle", "build/dist/bench/io_* is not built (make bench builds it)")
    for one in own:
        if not context.brief or one.case in BRIEF:
            out.add(one)
    cases = dict.fromkeys(m.case for m in out.measures)
    out.order = sorted(cases, key=lambda c: (c.rstrip("0123456789"), number(c)))
    out.pairs += [(f"heddle_{d}", "condition_variable", "cpu_ns")
                  for d in ("uring", "epoll", "poll")]
    out.pairs += [(f"pages_{d}", f"copied_{d}", "cpu_ns") for d in ("uring", "epoll")]
    out.pairs += [(f"heddle_{d}", "by_hand", "bytes_per_cpu_s") for d in ("uring", "epoll")]
    out.pairs += [(f"heddle_{d}", "nptl", "bytes_per_s") for d in ("uring", "epoll")]
    return out
