# SPDX-License-Identifier: MIT
"""Suite bus: what raises cost, generic and merged by a plan, beside other ways to dispatch.

Cases short, cascade and fallback are bench/bus/chain; short_hardened and cascade_hardened the same
with retpolines. packet is bench/bus/packet: nine handlers in two files, and the same functions
called by hand (by_hand). message_from_user (the hot chain), other topics and stream are
apps/player's own handlers (bench/bus/player). rate_FPS is a second of film at that rate in
apps/player: all processor time, and that in handlers. dispatch_* compares generic dispatch with
signal libraries, each where it is installed. code is apps/player's text, and what merging at theta
0.8 adds to it. seccomm_SIZE is a push and a pop of apps/seccomm; xclient a popup and a scroll of
apps/xclient, under Xvfb.

Cases code_events and code_seccomm are the code of the programs whose speed the pages of the papers
show.

Subjects: heddle is generic, heddle_merged has a plan, by_name marshals arguments and finds topics
by name; with _gcc they are built by GCC 12, the others by Clang.
"""

import functools
import json
import os
import re
import shutil
import subprocess
import tempfile

import bench_machine as machine
from bench_machine import Failed
from bench_plan import build_folder, Measure, Plan

# case -> argument, items of one run; a run takes some 30 ms
CHAIN = {"short": ("short", 1_000_000), "cascade": ("cascade", 200_000),
         "fallback": ("fallback", 1_000_000)}
HARDENED = {"short_hardened": ("short", 200_000), "cascade_hardened": ("cascade", 50_000)}
PACKETS = 3_000_000
PLAYER = {"message_from_user": 300_000, "segment_from_user": 300_000, "segment_to_net": 300_000,
          "adapt": 300_000, "stream": 4_000_000}
RATES = (10, 15, 20, 25, 100, 400)
CODE = {"code": "bus_app_player", "code_events": "bus_player", "code_seccomm": "bus_seccomm"}
SIGNALS = ("signals2", "signals2_unlocked", "sigc2", "sigc3", "gobject", "qt5", "qt6", "poco")
OWN = {"heddle": "", "functions": ":functions", "by_name": ":by_name"}
DISPATCH = ("dispatch_short", "dispatch_cascade")
SECCOMM_SIZES = (64, 128, 256, 512, 1024, 2048)
SECCOMM = tuple(f"seccomm_{size}" for size in SECCOMM_SIZES)
CASES = (*CHAIN, *HARDENED, "packet", *PLAYER, *(f"rate_{fps}" for fps in RATES), *SECCOMM,
         "xclient", *DISPATCH, *CODE)


def print_value(program, *arguments):
    """(metric, value, unit) of a program that prints one JSON line."""
    r = json.loads(machine.run([program, *arguments]))
    return [(r["metric"], r["value"], r["unit"])]


def merged_value(program, case, count):
    """The same, for a program that must have run merged, unless nothing fits."""
    r = json.loads(machine.run([program, case, count]))
    if (r["merged"] == 0) != (case == "fallback"):
        raise Failed(f"{program.name} {case}: {r['merged']} handlers are merged")
    return [(r["metric"], r["value"], r["unit"])]


def dispatch_value(program, case, suffix, seconds):
    """One case of bench/bus/dispatch.cc, a Google Benchmark program."""
    name = f"bus/{case.removeprefix('dispatch_')}{suffix}"
    text = machine.run([program, f"--benchmark_filter=^{re.escape(name)}$",
                        "--benchmark_format=json", f"--benchmark_min_time={seconds}"])
    found = [b for b in json.loads(text)["benchmarks"] if b["name"] == name]
    if not found:
        raise Failed(f"{program.name} knows no {name}")
    return [("cpu_ns", 1e9 / found[0]["items_per_second"], "ns")]


def values_of(program, names, *arguments, env=None):
    """The named values of a program that prints one JSON line."""
    r = json.loads(machine.run([program, *arguments], env=env))
    return [(name, r[name], "ns") for name in names]


def rate_values(program, fps):
    """One second of film at this rate: processor time in handlers, and all of it."""
    with tempfile.NamedTemporaryFile() as film:
        film.write(bytes(8192 * fps))
        film.flush()
        return values_of(program, ("handler_ns", "total_ns"), film.name, "--json", "--times",
                         "--fps", fps)


class Screen:
    """An X server of our own without a screen, where Xvfb is installed."""

    def __init__(self):
        self.process = None
        self.env = None

    def open(self):
        if not shutil.which("Xvfb"):
            return False
        out, into = os.pipe()
        self.process = subprocess.Popen(
            ["Xvfb", "-displayfd", str(into), "-screen", "0", "640x480x24", "-nolisten", "tcp"],
            pass_fds=[into], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(into)
        with os.fdopen(out) as said:
            self.env = {**os.environ, "DISPLAY": f":{said.readline().strip()}"}
        return True

    def close(self):
        if self.process:
            machine.stop(self.process)


def code_values(program):
    """The size of a program's code and constants, as `size` counts them, and its instructions, as
    Rajagopalan and others count them: the lines of `objdump -d`."""
    lines = machine.run(["size", program]).splitlines()
    listed = machine.run(["objdump", "-d", "--no-show-raw-insn", program])
    return [("text_bytes", float(lines[1].split()[0]), "B"),
            ("objdump_lines", listed.count("\n"), "1")]


def build_with_gcc(context):
    """Builds suite bus by GCC; gives the folder of the programs, or why there is none."""
    if context.brief:
        return None, "a brief run has the programs of one compiler"
    if not shutil.which("g++-12"):
        return None, "g++-12 is not installed (scripts/setup test installs it)"
    build = context.root / "build" / "bench" / "gcc"
    context.say("building suite bus with GCC")
    for command in (["cmake", "--preset", "gcc", "-B", build, "-DHEDDLE_BENCH=ON",
                     "-DHEDDLE_TESTS=OFF", "-DHEDDLE_EXAMPLES=OFF"],
                    ["cmake", "--build", build, "--target", "bus_benches"]):
        done = subprocess.run([str(c) for c in command], cwd=context.root, capture_output=True,
                              text=True)
        if done.returncode != 0:
            said = (done.stderr + done.stdout).strip().splitlines()[-1:] or ["no message"]
            return None, f"could not be built: {said[0]}"
    return build / "bench", None


def add_compiler(out, folder, tail, brief, screen):
    """The programs of one compiler."""
    part = 5 if brief else 1

    def add(case, subject, program, run, seconds=0.2, rounds=None):
        if not (folder / program).exists():
            entry = (subject + tail, f"{program} is not built (make bench builds it)")
            if entry not in out.skipped:
                out.skip(*entry)
            return
        out.add(Measure(case, subject + tail, seconds, functools.partial(run, folder / program),
                        rounds_max=rounds))

    for cases, name in ((CHAIN, "bus_chain"), (HARDENED, "bus_chain_hardened")):
        for case, (argument, count) in cases.items():
            add(case, "heddle", name, lambda p, a=argument, n=count: print_value(p, a, n // part))
            add(case, "heddle_merged", name + "_merged",
                lambda p, a=argument, n=count: merged_value(p, a, n // part))
            if cases is CHAIN:
                add(case, "by_name", name + "_by_name",
                    lambda p, a=argument, n=count: print_value(p, a, n // part))
    for subject, program, run, how in (
            ("heddle", "bus_packet", print_value, "raise"),
            ("heddle_merged", "bus_packet_merged", merged_value, "raise"),
            ("by_hand", "bus_packet_merged", print_value, "by_hand")):
        add("packet", subject, program, lambda p, r=run, h=how: r(p, h, PACKETS // part))
    for case, count in PLAYER.items():
        for subject, program in (("heddle", "bus_player"), ("heddle_merged", "bus_player_merged"),
                                 ("by_name", "bus_player_by_name")):
            add(case, subject, program, lambda p, c=case, n=count: print_value(p, c, n // part))
    for subject, end in (("heddle", ""), ("heddle_merged", "_merged"), ("by_name", "_by_name")):
        for size in SECCOMM_SIZES:
            add(f"seccomm_{size}", subject, "bus_seccomm" + end,
                lambda p, s=size: values_of(p, ("push_ns", "pop_ns"), "--json", "--sizes", s,
                                            "--count", 25600 // part))
        if screen.env:
            add("xclient", subject, "bus_xclient" + end,
                lambda p: values_of(p, ("popup_ns", "scroll_ns"), "--json", "--measure",
                                    25000 // part, env=screen.env))
    for case, program in CODE.items():
        for subject, end in (("heddle", ""), ("heddle_merged", "_merged"), ("by_name", "_by_name")):
            add(case, subject, program + end, code_values, 1.0, 1)
    for subject, program in (("heddle", "bus_app_player"),
                             ("heddle_merged", "bus_app_player_merged"),
                             ("by_name", "bus_app_player_by_name")):
        for fps in RATES:
            add(f"rate_{fps}", subject, program, lambda p, f=fps: rate_values(p, f), 1.3,
                1 if brief else None)


def add_dispatch(out, context, seconds):
    """Generic dispatch, beside what else there is."""
    program = build_folder(context.root) / "bench" / "bus_dispatch"
    for case in DISPATCH:
        if program.exists():
            for subject, suffix in OWN.items():
                out.add(Measure(case, subject, seconds + 0.1,
                                lambda c=case, s=suffix: dispatch_value(program, c, s, seconds)))
        count = 1_000_000 if case == "dispatch_short" else 200_000
        for name in SIGNALS:
            rival = context.rivals.path("signals", name)
            if rival is not None:
                out.add(Measure(case, name, 0.5, lambda r=rival, c=case, n=count: print_value(
                    r, c.removeprefix("dispatch_"), n // (10 if context.brief else 4))))
    if not program.exists():
        out.skip("heddle", "bus_dispatch is not built (make bench builds it)")
    for name in SIGNALS:
        if context.rivals.path("signals", name) is None:
            out.skip(name, "its library was not found (scripts/setup peers installs it)")


def plan(context):
    context.rivals.build_cpp()
    out = Plan(CASES)
    screen = Screen()
    out.close = screen.close
    if not screen.open():
        out.skip("xclient", "no Xvfb (scripts/setup test installs it)")
    add_compiler(out, build_folder(context.root) / "bench", "", context.brief, screen)
    gcc, why = build_with_gcc(context)
    if gcc is None:
        out.skip("*_gcc", why)
    else:
        add_compiler(out, gcc, "_gcc", context.brief, screen)
    add_dispatch(out, context, 0.05 if context.brief else 0.2)
    for tail in ("", "_gcc"):
        out.pairs += [(f"heddle{tail}", f"heddle_merged{tail}", "cpu_ns"),
                      (f"heddle_merged{tail}", f"heddle{tail}", "cpu_ns"),
                      (f"heddle_merged{tail}", f"by_name{tail}", "cpu_ns"),
                      (f"heddle_merged{tail}", f"by_hand{tail}", "cpu_ns"),
                      *((f"heddle_merged{tail}", f"heddle{tail}", metric) for metric in (
                          "push_ns", "pop_ns", "popup_ns", "scroll_ns", "text_bytes",
                          "objdump_lines",
                          "handler_ns", "total_ns")),
                      *((f"heddle_merged{tail}", f"by_name{tail}", metric) for metric in (
                          "push_ns", "pop_ns", "popup_ns", "scroll_ns", "handler_ns",
                          "total_ns"))]
    out.pairs += [(name, "heddle", "cpu_ns") for name in (*SIGNALS, "functions", "by_name")]
    return out
