# SPDX-License-Identifier: MIT
"""What suite draft measures of the compiler: lines, frames, and the time for 10,000 lines."""

import re
import resource

import bench_machine as machine
from bench_machine import Failed
from bench_plan import build_folder, Measure

# (case, Draft, by hand in C); the C that a pair shares counts for neither.
PAIRS = (("lines_echo", "examples/draft/echo.draft", "bench/draft/echo_hand.c"),
         ("lines_http", "bench/draft/http.draft", "bench/draft/http_hand.c"))
PROGRAMS = ("examples/draft", "bench/draft", "tests/abi/programs")
LINES = 10_000
# One of the blocks that a long program is made of.
BLOCK = """
record item_N { key: int, name: text<16>, next: ?int }
enum state_N { idle, busy, done }

fn weigh_N(x: item_N, by: int) -> int {
    var sum = x.key
    for i in 0..8 {
        if i % 2 == 0 { sum += by * i } else { sum -= i }
    }
    return sum + (x.next or 1)
}

fn step_N(c: conn, var buf: buffer, n: int) -> int! {
    let x = item_N(key: n, name: text<16>("N"))
    let weight = weigh_N(x, n + 1)
    if weight > 1000 { fail error.too_big }
    try buf.put("item ", weight, "\\n")
    within 5s { try c.write(buf.filled()) }
    buf.clear()
    return weight
}

thread serve_N(c: conn, jobs: channel<int>) {
    var buf = try buffer(1K)
    var now = state_N.idle
    defer log.print("bye N")
    loop {
        any {
            n = jobs.receive() => log.print("sum ", try step_N(c, buf, n))
            line = c.read_line(buf) => log.print("line ", line)
            after 10m => return
        }
        match now {
            idle => now = state_N.busy
            busy => now = state_N.done
            done => return
        }
    }
}
"""


def collected(text):
    """The instructions that callgrind reports, from its standard error."""
    found = re.search(r"Collected : (\d+)", text)
    if not found:
        last = (text.strip().splitlines() or ["nothing"])[-1]
        raise Failed(f"callgrind reported no count: {last}")
    return int(found[1])


def code_lines(text):
    """Lines that are neither empty nor comment alone, in C and in Draft."""
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
    return sum(bool(line.strip()) and not line.strip().startswith("//")
               for line in text.splitlines())


def plans(text):
    """[(function, bytes of its frame's variables, least that a layout can do with)]."""
    found = re.findall(r"^(\S+): .*?(\d+) bytes of variables \(\d+ live at once, (\d+) at one wait",
                       text, re.M)
    return [(name, int(size), (int(least) + 7) // 8 * 8) for name, size, least in found]


class Compiler:
    def __init__(self, context):
        self.root = context.root
        self.path = build_folder(context.root) / "bin" / "heddle"
        self.home = context.root / "build" / "bench" / "draft"

    def run(self, *words):
        return machine.run([self.path, "draft", *words])

    def lines(self, source, by_hand):
        """The rows of both subjects need one run each, so this gives a function for each."""
        text = (self.root / source).read_text()
        made = code_lines(self.run(self.root / source, "--no-line"))
        return ([("lines", made, "1"), ("source_lines", code_lines(text), "1")],
                [("lines", code_lines((self.root / by_hand).read_text()), "1")])

    def frames(self):
        """All frames of all programs of the tree, and the one that is furthest from its bound."""
        all_of = []
        for folder in PROGRAMS:
            for source in sorted((self.root / folder).glob("*.draft")):
                all_of += plans(self.run(source, "--emit", "plan"))
        if not all_of:
            raise Failed("--emit plan shows no frame")
        size, least = (sum(row[i] for row in all_of) for i in (1, 2))
        worst = max(s / max(b, 8) for _, s, b in all_of)
        return [("frames", len(all_of), "1"), ("bytes", size, "B"), ("least_bytes", least, "B"),
                ("to_least", size / least, "x"), ("worst_to_least", worst, "x")]

    def compile_long(self):
        blocks = LINES // (BLOCK.count("\n"))
        source = self.home / "long.draft"
        source.write_text("module long\nuse net\nuse log\n"
                          + "".join(BLOCK.replace("N", str(i)) for i in range(blocks)))
        out = self.home / "long.c"
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.run(source, "-o", out)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return [("cpu_s", spent, "s"),
                ("source_lines", source.read_text().count("\n"), "1"),
                ("c_lines", code_lines(out.read_text()), "1")]


def add(context, plan):
    c = Compiler(context)
    if not c.path.exists():
        return plan.skip("the compiler", "build/dist/bin/heddle is not built")
    c.home.mkdir(parents=True, exist_ok=True)
    for case, source, by_hand in PAIRS:
        for i, subject in enumerate(("draft", "hand")):
            plan.add(Measure(case, subject, 0.1,
                             lambda s=source, h=by_hand, n=i: c.lines(s, h)[n], rounds_max=1))
    plan.add(Measure("frames", "draft", 0.5, c.frames, rounds_max=1))
    plan.add(Measure("compile_10000", "draft", 0.5, c.compile_long))
