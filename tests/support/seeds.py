# SPDX-License-Identifier: MIT
"""Generated tests in Python: the same variables and the same lines as heddle/sim/seeds.hh, so that
one program can hunt with both. A body gets a seed; the first seed that fails ends the run."""

import mmap
import os
import re
import secrets
import shlex
import sys
import time

SEED_MOST = 2**64 - 1


class Refused(AssertionError):
    """The environment names no seed, or no time."""


class SeedFile:
    """Eight bytes with the number of the running seed (HEDDLE_HUNT_AT). The mapping outlives a
    crash of this process."""

    def __init__(self, path):
        self.map = None
        if not path:
            return
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError:
            print(f"heddle: HEDDLE_HUNT_AT: cannot write {path}", file=sys.stderr)
            return
        os.ftruncate(fd, 8)
        self.map = mmap.mmap(fd, 8)
        os.close(fd)

    def put(self, seed):
        if self.map:
            self.map[:] = seed.to_bytes(8, sys.byteorder)


def range_of(text):
    """(first, last) of "7" or "7-20"."""
    found = re.fullmatch(r"([0-9]+)(?:-([0-9]+))?", text)
    first = int(found[1]) if found else 0
    last = int(found[2] or found[1]) if found else 0
    if not found or last < first or last > SEED_MOST:
        raise Refused(f"heddle: HEDDLE_SEED={text} is no seed and no range: say 7 or 7-20")
    return first, last


def seconds_of(text):
    found = re.fullmatch(r"[0-9]*\.?[0-9]+|[0-9]+\.", text)
    if not found or not float(text) > 0:
        raise Refused(f"heddle: HEDDLE_HUNT_S={text} is no number of seconds: say 60")
    return float(text)


def command_of(test):
    """How to run one unittest again: its file is a program that takes the test's name."""
    kind = type(test)
    file = os.path.relpath(sys.modules[kind.__module__].__file__)
    given = [f"{name}={shlex.quote(os.environ[name])} " for name in ("HEDDLE",)
             if name in os.environ]
    return "".join(given) + f"python3 -B {file} {kind.__name__}.{test._testMethodName}"


def for_seeds(count, body, command=None, first=1):
    """Runs body(seed) for `count` seeds, or for those that the environment chooses, until it
    raises. Returns how many ran."""
    chosen, seconds = os.environ.get("HEDDLE_SEED"), os.environ.get("HEDDLE_HUNT_S")
    last = first + count - 1
    if chosen:
        first, last = range_of(chosen)
    if seconds:
        limit_s = seconds_of(seconds)
        if not chosen:
            first = secrets.randbits(32) * 1_000_000 + 1  # below 2^53: any tool can hold it
        last = SEED_MOST
    watched = SeedFile(os.environ.get("HEDDLE_HUNT_AT"))
    began, ran = time.monotonic(), 0
    try:
        for seed in range(first, last + 1):
            watched.put(seed)
            try:
                body(seed)
            except BaseException:
                again = command or shlex.join(["python3", *sys.argv])
                print(f"heddle: seed {seed} failed; again: HEDDLE_SEED={seed} {again}",
                      file=sys.stderr)
                raise
            ran += 1
            if seconds and time.monotonic() - began >= limit_s:
                break
    finally:
        if seconds:
            print(f"heddle: hunted {ran} seeds from {first} on in "
                  f"{time.monotonic() - began:.1f} s", file=sys.stderr)
    if not ran:
        raise AssertionError("no seed ran")
    return ran


def judges_totals(ran, least):
    """Whether what all seeds did together can be judged: see support/seeds.hh."""
    others = "HEDDLE_SEED" in os.environ or "HEDDLE_HUNT_S" in os.environ
    return ran >= least * (10 if others else 1)
