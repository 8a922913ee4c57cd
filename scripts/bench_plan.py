# SPDX-License-Identifier: MIT
"""What a suite hands to scripts/bench: measurements, the pairs to compare, and what is skipped.

The runner takes subjects in turn within a case (A B C A B C), so that whatever slows the machine
for a while slows all of them, and a per-round ratio stays meaningful.
"""

import dataclasses
import os
import pathlib
import sys
import time
from typing import Callable, Optional

from bench_figures import Sample
from bench_machine import Failed


def build_folder(root):
    """The build whose programs are measured: $HEDDLE_BENCH_PRESET, or preset dist, or what a brief
    run has built instead."""
    asked = os.environ.get("HEDDLE_BENCH_PRESET")
    if asked is None:
        built = [name for name in ("dist", "release") if (root / "build" / name / "bench").exists()]
        asked = built[0] if built else "dist"
    return root / "build" / asked


@dataclasses.dataclass
class Measure:
    case: str
    subject: str
    seconds: float                       # about how long one run takes
    run: Callable                        # gives [(metric, value, unit)]; may raise Failed
    rounds_max: Optional[int] = None


@dataclasses.dataclass
class Context:
    root: pathlib.Path
    brief: bool
    rivals: object
    say: Callable


class Plan:
    def __init__(self, cases):
        self.order = list(cases)         # cases not named here follow, in the order added
        self.measures = []
        self.pairs = []
        self.skipped = []                # (subject, reason): could not be built, is not installed
        self.failed = []                 # the same: was run, and broke
        self.close = lambda: None

    def add(self, measure):
        self.measures.append(measure)

    def skip(self, subject, reason):
        self.skipped.append((subject, reason))

    def select(self, only):
        """Keeps what `only` names: part of a case or of a subject."""
        if only:
            self.measures = [m for m in self.measures if only in m.case or only in m.subject]

    def by_case(self):
        cases = {}
        for m in self.measures:
            cases.setdefault(m.case, []).append(m)
        rank = {case: i for i, case in enumerate(self.order)}
        return sorted(cases.items(), key=lambda item: rank.get(item[0], len(rank)))

    def seconds(self, rounds):
        return sum(m.seconds * min(rounds, m.rounds_max or rounds) for m in self.measures)


class Progress:
    """One line that says what runs and how much is left; plain lines where there is no terminal."""

    def __init__(self, total_s):
        self.total_s = total_s
        self.done_s = 0.0
        self.begin = time.monotonic()
        self.live = sys.stderr.isatty()
        self.last_case = None

    def step(self, suite, case, subject, round_number, rounds):
        # Overheads differ from machine to machine: learn the pace from what has passed.
        passed = time.monotonic() - self.begin
        pace = passed / self.done_s if self.done_s > 1 else 1.0
        left = (self.total_s - self.done_s) * pace
        if self.live:
            text = f"{suite} {case} {subject}, round {round_number} of {rounds}, {left:.0f} s left"
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        elif case != self.last_case:
            print(f"bench: {suite} {case}, about {left:.0f} s left", file=sys.stderr, flush=True)
        self.last_case = case

    def end(self):
        if self.live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def measure(suite, plan, rounds, progress):
    """All samples of a plan. A subject that fails is left out of that case from then on."""
    samples = []
    for case, measures in plan.by_case():
        failed = set()
        for r in range(rounds):
            for m in measures:
                if m.subject in failed or (m.rounds_max is not None and r >= m.rounds_max):
                    continue
                progress.step(suite, case, m.subject, r + 1, rounds)
                try:
                    found = m.run()
                except Failed as why:
                    failed.add(m.subject)
                    plan.failed.append((f"{m.subject}, {case}", str(why)))
                else:
                    samples += [Sample(case, m.subject, metric, unit, r, value)
                                for metric, value, unit in found]
                progress.done_s += m.seconds
    return samples
