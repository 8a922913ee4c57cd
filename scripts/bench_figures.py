# SPDX-License-Identifier: MIT
"""Figures: from the values of rounds to the rows of build/bench/figures.json, and to a table.

A suite hands over `Sample`s. A row is the median of one metric of one subject in one case; a
comparison is the median of per-round ratios. docs/reference/figures.md gives the format.
"""

import collections
import json
import operator
import pathlib
import statistics

Sample = collections.namedtuple("Sample", "case subject metric unit round value")

COMPARE = {"<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt}


def load_targets(path):
    """{"suite/case/metric": "<= 3"}, or by subject: {"suite/case/metric": {"a/b": "<= 1.15"}}."""
    targets = json.loads(pathlib.Path(path).read_text())
    for key, target in targets.items():
        for text in (target.values() if isinstance(target, dict) else [target]):
            sign, _, number = text.partition(" ")
            if key.count("/") != 2 or sign not in COMPARE:
                raise ValueError(f"{path}: {key}: {text!r} is not like 'suite/case/metric: <= 3'")
            float(number)
    return targets


def target_of(targets, suite, case, metric, subject):
    """The target of a row, or None. A plain one is for Heddle alone, never for a peer."""
    target = targets.get(f"{suite}/{case}/{metric}")
    if isinstance(target, dict):
        return target.get(subject)
    return target if subject.startswith("heddle") and "/" not in subject else None


def meets(value, target):
    sign, _, number = target.partition(" ")
    return COMPARE[sign](value, float(number))


def rounded(value):
    """Four significant digits: more would claim what the machine cannot repeat."""
    return float(f"{value:.4g}")


def row(targets, suite, case, subject, metric, unit, values):
    value = rounded(statistics.median(values))
    out = {"suite": suite, "case": case, "subject": subject, "metric": metric,
           "value": value, "unit": unit}
    target = target_of(targets, suite, case, metric, subject)
    if target:
        out["target"] = target
        out["ok"] = meets(value, target)
    out["n"] = len(values)
    out["spread"] = [rounded(min(values)), rounded(max(values))]
    return out


def rows_of(suite, samples, pairs, targets):
    """Rows of every metric, then of every comparison: (numerator, denominator, metric).

    A denominator may be a list: then it is the one with the lowest median in that case, the row's
    subject is `A/best_peer`, and field `best` names it.
    """
    values = collections.OrderedDict()
    units = {}
    for s in samples:
        values.setdefault((s.case, s.subject, s.metric), {})[s.round] = s.value
        units[s.case, s.subject, s.metric] = s.unit
    rows = [row(targets, suite, *key, units[key], list(by_round.values()))
            for key, by_round in values.items()]
    for case in dict.fromkeys(key[0] for key in values):
        for upper, lower, metric in pairs:
            best = None if isinstance(lower, str) else best_of(values, case, lower, metric)
            a = values.get((case, upper, metric), {})
            b = values.get((case, best, metric) if best else (case, str(lower), metric), {})
            ratios = [a[r] / b[r] for r in a if b.get(r)]
            if ratios:
                name = f"{upper}/{'best_peer' if best else lower}"
                rows.append(row(targets, suite, case, name, metric + "_ratio", "x", ratios))
                if best:
                    rows[-1]["best"] = best
    return rows


def best_of(values, case, subjects, metric):
    """Of the subjects the one with the lowest median, or None where none was measured."""
    medians = {s: statistics.median(values[case, s, metric].values())
               for s in subjects if values.get((case, s, metric))}
    return min(medians, key=medians.get) if medians else None


def key_of(r):
    return r["suite"], r["case"], r["subject"], r["metric"]


def merge(old, new, suites, whole):
    """The rows to keep of an earlier file, then the new ones.

    A whole run replaces its suites; a run of a part replaces only the rows measured again.
    """
    fresh = {key_of(r) for r in new}
    kept = [r for r in old if key_of(r) not in fresh and not (whole and r["suite"] in suites)]
    return kept + new


def read(path):
    try:
        return json.loads(pathlib.Path(path).read_text())
    except FileNotFoundError:
        return []


def write(path, rows):
    """One row a line, so that two files can be compared line by line."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n"
    partial = path.with_suffix(".partial")
    partial.write_text(text)
    partial.replace(path)


def table(rows):
    """Lines for people, grouped by suite and case."""
    head = ("subject", "metric", "median", "unit", "lowest .. highest", "n", "target", "")
    lines = []

    def subject(r):
        return r["subject"] + (f" ({r['best']})" if "best" in r else "")

    cells = {id(r): (subject(r), r["metric"], f"{r['value']:g}", r["unit"],
                     f"{r['spread'][0]:g} .. {r['spread'][1]:g}", str(r["n"]),
                     r.get("target", ""), {True: "ok", False: "MISS"}.get(r.get("ok"), ""))
             for r in rows}
    width = [max([len(h)] + [len(c[i]) for c in cells.values()]) for i, h in enumerate(head)]

    def line(c):
        return "  " + "  ".join(
            c[i].rjust(width[i]) if i in (2, 5) else c[i].ljust(width[i])
            for i in range(len(head))).rstrip()

    for suite, case in dict.fromkeys((r["suite"], r["case"]) for r in rows):
        lines += ["", f"{suite} / {case}", line(head)]
        lines += [line(cells[id(r)]) for r in rows if (r["suite"], r["case"]) == (suite, case)]
    return lines
