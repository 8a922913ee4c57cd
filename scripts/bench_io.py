# SPDX-License-Identifier: MIT
"""Suite io: figures 17 and 18 of Li and Zdancewic, 2007, and what a call that blocks costs.

direct_reads_N: random reads of 4 KB past the page cache, N at once; beside one thread each (NPTL)
and a plain io_uring loop. What counts is the disk, so all have all cores, and reads_per_s goes by
the clock. pipes_idle_N: 128 pairs of threads exchange 32 KB over pipes of 4 KB while N others wait;
one core, bytes for each second of processor time. blocking_call: there and back through the pool,
beside a bare hand-off by condition variables; processor time of both threads, on one core.
send_body_N: an answer with a body of N bytes, from ordinary memory and from pages; processor time
of the sender, whose client has the other core.
"""

import os
import re
import resource

import bench_machine as machine
import bench_own
from bench_plan import Measure, Plan

READS, PIPES, BODIES = "direct_reads_", "pipes_idle_", "send_body_"
BRIEF = {"direct_reads_8", "direct_reads_4096", "pipes_idle_0", "pipes_idle_1000",
         "blocking_call", "send_body_131072"}
# Threads of the kernel: each has kernel memory of 20 KB and a process number besides its stack.
THREADS_MAX = 20_000
FILE_BYTES = 1 << 30
READ_RIVALS = (("pthread", "pthread", "reads"), ("plain_io_uring", "ceiling", "reads_uring"))
PIPE_RIVALS = (("ceiling_epoll", "ceiling", "pipes_epoll"), ("pthread", "pthread", "pipes"),
               ("go", "go", "pipes"), ("tokio", "tokio", "pipes"))


def number(case):
    """N of direct_reads_N, pipes_idle_N or send_body_N; 0 for a case without."""
    found = re.search(r"\d+$", case)
    return int(found[0]) if found else 0


def reads_of(in_flight):
    """As many as bench/io/direct_reads.cc makes in one iteration."""
    return 2048 if in_flight == 1 else max(8192, 2 * in_flight)


def prepare(folder):
    """The file that all read, of bytes that do not compress."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "heddle-direct-reads.data"
    if not path.exists() or path.stat().st_size != FILE_BYTES:
        with path.open("wb") as out:
            for _ in range(FILE_BYTES >> 20):
                out.write(os.urandom(1 << 20))
            os.fsync(out.fileno())
    return path


def open_files_max():
    """Idle pipes need descriptors: children inherit the limit, and it can only be raised here."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def rival(program, arguments, metrics, core, group=None):
    return bench_own.rival_values(machine.run([program, *arguments], core, group=group), metrics)


def plan(context):
    rivals = context.rivals
    rivals.build_cpp()
    rivals.build_go()
    rivals.build_tokio()
    open_files_max()
    seconds = 0.05 if context.brief else 0.3
    folder = context.root / "build" / "bench" / "data"
    context.say("making the file of figure 17 (1 GB, once)")
    data = prepare(folder)
    group = machine.Group("heddle_bench")
    out = Plan([])
    out.close = group.close
    env = os.environ | {"HEDDLE_BENCH_DIR": str(folder)}

    narrow = bench_own.measures(context, "io", ("io",), seconds)
    wide = bench_own.measures(context, "io", ("io",), seconds, None, group=group, env=env)
    own = [w if w.case.startswith((READS, BODIES)) else n for n, w in zip(narrow, wide)]
    if not own:
        out.skip("heddle", "build/dist/bench/io_* is not built (make bench builds it)")
    own = [m for m in own if not context.brief or m.case in BRIEF]
    for measure in own:
        out.add(measure)
    cases = list(dict.fromkeys(m.case for m in own))
    out.order = sorted(cases, key=lambda c: (c.rstrip("0123456789"), number(c)))

    rounds = "64"  # as many as bench/io/pipes.cc makes in one iteration
    for kind, entries in ((READS, READ_RIVALS), (PIPES, PIPE_RIVALS)):
        for subject, name, program in entries:
            path = rivals.path(name, program)
            if path is None:
                out.skip(subject, rivals.missing[name])
                continue
            for case in (c for c in cases if c.startswith(kind)):
                n = number(case)
                if subject == "pthread" and n > THREADS_MAX:
                    continue
                if kind == READS:
                    run = (lambda p=path, n=n: rival(p, [n, reads_of(n), data],
                                                     ("reads_per_s", "cpu_us"), None, group))
                else:
                    run = (lambda p=path, n=n: rival(p, [n, rounds], ("bytes_per_cpu_s",),
                                                     machine.SERVER_CORE))
                out.add(Measure(case, subject, 0.7, run))
    for ours in ("heddle_uring", "heddle_epoll"):
        out.pairs += [(ours, subject, "reads_per_s") for subject, _, _ in READ_RIVALS]
        out.pairs += [(ours, subject, "bytes_per_cpu_s") for subject, _, _ in PIPE_RIVALS]
    out.pairs += [(f"heddle_{d}", "condition_variable", "cpu_ns")
                  for d in ("uring", "epoll", "poll")]
    out.pairs += [(f"{kind}_{d}", f"copied_{d}", "cpu_ns") for kind in ("pages", "ready")
                  for d in ("uring", "epoll")]
    return out
