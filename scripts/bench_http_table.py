# SPDX-License-Identifier: MIT
"""What a person reads of suite http: subjects down, cases across, one block for each metric; then
every figure with a target. All rows are in figures.json, and printed with --all.
"""

import bench_figures as figures

# metric, its name for people, how a value is written
BLOCKS = (
    ("burst_cpu_us", "server processor time, us a request, asked in bursts", "{:.2f}"),
    ("cpu_us", "server processor time, us a request, in a closed loop", "{:.2f}"),
    ("requests_per_s", "requests a second, closed loop", "{:.0f}"),
    ("p50", "p50, us", "{:.0f}"),
    ("p99", "p99, us", "{:.0f}"),
    ("p999", "p99.9, us", "{:.0f}"),
    ("anonymous", "memory of the server for itself, KiB", "KiB"),
    ("conn_bytes", "memory for each of 10,000 idle connections, bytes", "{:.0f}"),
    ("base_bytes", "memory before them, KiB", "KiB"),
    ("base_resident_bytes", "the same with code and files, KiB", "KiB"),
)


def block(rows, metric, title, form):
    """One metric as a matrix; nothing where no subject has it."""
    found = {(r["subject"], r["case"]): r["value"] for r in rows if r["metric"] == metric}
    if not found:
        return []
    subjects = list(dict.fromkeys(s for s, _ in found))
    cases = list(dict.fromkeys(c for _, c in found))
    heads = [c.removeprefix("http_") for c in cases]
    first = max(len(s) for s in subjects)
    lines = ["", title, "  " + " " * first + "".join("  " + h.rjust(8) for h in heads)]
    for subject in subjects:
        cells = []
        for case, head in zip(cases, heads):
            value = found.get((subject, case))
            text = "" if value is None else (
                f"{value / 1024:.0f}" if form == "KiB" else form.format(value))
            cells.append(text.rjust(max(8, len(head)) + 2))
        lines.append("  " + subject.ljust(first) + "".join(cells))
    return lines


def lines(rows):
    out = []
    for metric, title, form in BLOCKS:
        out += block(rows, metric, title, form)
    judged = [r for r in rows if "target" in r]
    return out + (["", "targets"] + figures.table(judged) if judged else [])
