# SPDX-License-Identifier: MIT
"""How far it goes: rates by cores and memory by connections, computed from what was measured.

X(n) = n / (c (1 + s (n - 1)) + h m): requests a second on n cores. c is the processor time of a
request on one, s what each further worker adds to it (from one and two), h a hop between colors and
m how many of them a request makes. M(N) = b + N (u + k): memory for N connections; u is ours, k the
kernel's. Constants come from suite capacity; no function here reads a clock or a file. What follows
for 16 cores hangs on s, the difference of two measurements that are nearly equal: so it is given as
a range, from the lowest and highest rounds of both.
"""

import dataclasses

GIB = 1 << 30
TASKS = "tasks_{}"
MEMORY_TOLERANCE = 0.05
# Hops a request, by whose data it needs: the client's own, or that of one color for all.
HOPS = {"hops_own_color": 0, "hops_shared_color": 2}


@dataclasses.dataclass(frozen=True)
class Limit:
    """A bound that some number of connections reaches, whatever the machine."""
    name: str
    value: int                 # 0: as many as there are connections
    where: str                 # a file of the tree, or a rule of the system
    remedy: str


LIMITS = (
    Limit("ports of one client address", 64_512, "TCP, ports 1,024 to 65,535",
          "more client addresses; each has its own"),
    Limit("places of colors", 65_536, "include/heddle/sched/runtime_options.hh",
          "colors share places then: correct, and less parallel"),
    Limit("descriptors, with several workers", 4_194_304, "src/io/fd_epochs.hh",
          "more processes, each with its own"),
    Limit("contexts", 33_554_432, "include/heddle/base/slab.hh",
          "more processes: 4 GiB of addresses hold them at 128 bytes each"),
)


@dataclasses.dataclass(frozen=True)
class Constants:
    request_s: float           # c
    share: float               # s
    share_range: tuple         # its least and most, by the rounds
    hop_s: float               # h
    base: float                # b
    own: float                 # u
    kernel: float              # k


def value(rows, case, metric, suite="capacity"):
    """The value of one figure of ours, or None."""
    found = [r["value"] for r in rows
             if (r["suite"], r["case"], r["metric"]) == (suite, case, metric)
             and r["subject"].startswith("heddle") and "/" not in r["subject"]]
    return found[0] if found else None


def spread(rows, case, metric):
    """The lowest and highest round of a figure of ours; its value twice where none is noted."""
    for r in rows:
        if ((r["suite"], r["case"], r["metric"]) == ("capacity", case, metric)
                and r["subject"].startswith("heddle") and "/" not in r["subject"]):
            return tuple(r.get("spread") or (r["value"], r["value"]))
    return None


def idle_cases(rows):
    """The cases of idle connections, by their number."""
    found = {r["case"] for r in rows if r["suite"] == "capacity" and r["case"].startswith("idle_")}
    return sorted(found, key=lambda case: int(case.removeprefix("idle_")))


def constants(rows):
    """From the rows of figures.json; a LookupError names what was not measured."""
    few = (idle_cases(rows) or ["idle_N"])[0]
    wanted = {"one": ("workers_1", "cpu_us"), "two": ("workers_2", "cpu_us"),
              "hop": ("hop", "cpu_ns"), "base": (few, "base_bytes"),
              "own": (few, "conn_bytes"), "kernel": (few, "kernel_conn_bytes")}
    found = {name: value(rows, *key) for name, key in wanted.items()}
    missing = ["/".join(wanted[name]) for name, v in found.items() if v is None]
    if missing:
        raise LookupError("not measured: capacity/" + ", capacity/".join(missing))
    share = max(0.0, found["two"] / found["one"] - 1)
    one, two = (spread(rows, *wanted[name]) for name in ("one", "two"))
    return Constants(found["one"] / 1e6, share,
                     (max(0.0, two[0] / one[1] - 1), max(0.0, two[1] / one[0] - 1)),
                     found["hop"] / 1e9, found["base"], found["own"], found["kernel"])


def rate(c, cores, hops=0):
    """Requests a second."""
    return cores / (c.request_s * (1 + c.share * (cores - 1)) + c.hop_s * hops)


def memory(c, connections):
    """Bytes, the kernel's among them."""
    return c.base + connections * (c.own + c.kernel)


def speedup(c, cores, hops=0):
    return rate(c, cores, hops) / rate(c, 1, hops)


def speedup_range(c, cores):
    """The least and the most that the rounds allow."""
    return tuple(speedup(dataclasses.replace(c, share=s), cores) for s in reversed(c.share_range))


def first_limit(connections):
    """The limit that this many connections of one process reach first, or None."""
    reached = [limit for limit in LIMITS if connections > limit.value]
    return min(reached, key=lambda limit: limit.value) if reached else None


def processes(connections):
    """How many processes hold them, by the hard limits; colors and ports only share."""
    hard = min(limit.value for limit in LIMITS if "processes" in limit.remedy)
    return -(-connections // hard)


def checks(rows):
    """[(what, computed, measured, tolerance, whether it holds)] of what can be checked here."""
    out = []
    c = constants(rows)
    few, many = (idle_cases(rows)[i] for i in (0, -1))
    for metric, name, per_one in (("conn_bytes", "ours", c.own),
                                  ("kernel_conn_bytes", "the kernel's", c.kernel)):
        measured = value(rows, many, metric)
        if measured and many != few:
            out.append(check(f"bytes a connection, {name}, {many} from {few}", per_one, measured,
                             MEMORY_TOLERANCE))
    small, large = (value(rows, TASKS.format(n), "bytes") for n in (100_000, 1_000_000))
    if small and large:
        out.append(check("bytes a task at 1,000,000, from 100,000", small, large,
                         MEMORY_TOLERANCE))
    for case, hops in HOPS.items():
        counted = value(rows, case, "hops")
        if counted is not None:
            out.append(check(f"hops a request of 16 simulated workers, `{case}`", hops, counted, 0))
    return out


def sealed(rows):
    """Bytes for a second of processor time, of one worker and of two; None where not measured."""
    return [value_of(rows, "sealed/chacha20_poly1305_narrow", s, "bytes_per_server_cpu_s")
            for s in ("one_worker", "two_workers")]


def sealed_lines(rows):
    """Figure 1 of Dabek and others for processors that this machine lacks, from one and two."""
    one, two = sealed(rows)
    if not one or not two:
        return []
    share = max(0.0, one / two - 1)
    c = Constants(1.0, share, (share, share), 0.0, 0, 0, 0)
    lines = ["", f"`sealed`, whose second worker adds {c.share * 100:.1f} % to the processor time"
             " of a byte, beside", "the paper's file server, by its original on one:", "",
             "| cores | times one core | the paper |", "|--:|--:|--:|"]
    said = {1: "0.95", 2: "1.62", 3: "2.18", 4: "2.55"}
    return lines + [f"| {n} | {speedup(c, n):.2f} | {said.get(n, '')} |" for n in (1, 2, 3, 4, 16)]


def value_of(rows, case, subject, metric):
    found = [r["value"] for r in rows if (f"{r['suite']}/{r['case']}", r["subject"], r["metric"])
             == (case, subject, metric)]
    return found[0] if found else None


def check(what, computed, measured, tolerance):
    """A tolerance of 0 asks for the very number."""
    holds = abs(computed - measured) <= tolerance * abs(measured)
    return what, computed, measured, tolerance, holds


def grouped(number):
    return f"{number:,.0f}"


def page(rows, head):
    """The text of docs/papers/capacity.md."""
    c = constants(rows)
    few = f"capacity/{idle_cases(rows)[0]}"
    out = ["# How far it goes", "", head, "",
           "Computed, not measured, from the constants below by `scripts/papers_model.py`:", "",
           "- `X(n) = n / (c (1 + s (n - 1)) + h m)`: requests a second on `n` cores, `m` hops"
           " between colors a request.",
           "- `M(N) = b + N (u + k)`: bytes for `N` connections that are open and silent.", "",
           "| constant | value | from |", "|---|--:|---|",
           f"| `c`, processor time of a request of 100 B | {c.request_s * 1e6:.2f} us |"
           " `capacity/workers_1` |",
           f"| `s`, what each further worker adds to it | {c.share * 100:.1f} %"
           f" ({c.share_range[0] * 100:.1f} to {c.share_range[1] * 100:.1f}) |"
           " `capacity/workers_2` by `workers_1`; in brackets by their rounds |",
           f"| `h`, a hop to another color | {c.hop_s * 1e9:.0f} ns | `capacity/hop` |",
           f"| `b`, memory before the first client | {c.base / 2**20:.1f} MiB | `{few}` |",
           f"| `u`, ours for a connection | {c.own:.0f} B | `{few}` |",
           f"| `k`, the kernel's for one end of it | {c.kernel:.0f} B | `{few}` |", ""]
    out += ["## Cores", "",
            "Requests a second of `heddle serve`, 100 B, kept alive, no hop between colors; and"
            " with two hops, as a", "program whose connections share one color of data."
            " [hops.cc](../../bench/core/hops.cc) counts both in the simulation.", "",
            "| cores | requests a second | times one core | by the range of `s` | with two hops |",
            "|--:|--:|--:|--:|--:|"]
    for cores in (1, 2, 3, 4, 8, 16):
        least, most = speedup_range(c, cores)
        out.append(f"| {cores} | {grouped(rate(c, cores))} | {speedup(c, cores):.2f} | "
                   f"{least:.2f} to {most:.2f} | "
                   f"{grouped(rate(c, cores, HOPS['hops_shared_color']))} |")
    out += sealed_lines(rows)
    out += ["", "## Connections", "",
            "| connections | memory, GiB | of that the kernel's | processes"
            " | limit reached first |",
            "|--:|--:|--:|--:|---|"]
    for count in (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000):
        limit = first_limit(count)
        out.append(f"| {grouped(count)} | {memory(c, count) / GIB:.2f} | "
                   f"{count * c.kernel / GIB:.2f} | {processes(count)} | "
                   f"{limit.name if limit else 'none'} |")
    out += ["", "## Limits", "", "| limit | value | from | what then |", "|---|--:|---|---|"]
    out += [f"| {x.name} | {grouped(x.value)} | "
            + (f"[{x.where}](../../{x.where})" if "/" in x.where else x.where)
            + f" | {x.remedy} |" for x in LIMITS]
    out += ["", "## Checks", "",
            "What the model says of figures that were measured, and are not its constants:", "",
            "| figure | computed | measured | within | |", "|---|--:|--:|--:|---|"]
    out += [f"| {what} | {computed:.4g} | {measured:.4g} | "
            f"{f'{tolerance * 100:.0f} %' if tolerance else 'exactly'} | "
            f"{'holds' if holds else '**does not hold**'} |"
            for what, computed, measured, tolerance, holds in checks(rows)]
    return "\n".join(out) + "\n"
