# SPDX-License-Identifier: MIT
"""Draws figures 17 and 18 of suite io as curves over the number of threads, light and dark.

The numbers of threads are on a logarithmic axis, with a place of its own for none at all.
"""

import html
import math

from bench_curves import HEIGHT, LEFT, TOP

WIDTH = 560
# light, dark, dashes: ours drawn through, rivals broken
LOOKS = {
    "heddle_epoll": ("#b35900", "#ffa657", ""),
    "heddle_uring": ("#cf222e", "#ff7b72", ""),
    "ceiling_epoll": ("#57606a", "#8b949e", "2 3"),
    "plain_io_uring": ("#57606a", "#8b949e", "2 3"),
    "pthread": ("#0969da", "#79c0ff", "6 4"),
    "go": ("#8250df", "#d2a8ff", "6 4"),
    "tokio": ("#1a7f37", "#56d364", "6 4"),
}
NAMES = {"heddle_epoll": "heddle, epoll", "heddle_uring": "heddle, io_uring",
         "ceiling_epoll": "bare epoll loop", "plain_io_uring": "plain io_uring loop",
         "pthread": "NPTL"}
# file -> title, prefix of its cases, metric, divisor and name of the axis, name of the other axis
FIGURES = {
    "figure_17": ("random reads of 4 KB past the page cache", "direct_reads_", "reads_per_s", 1e3,
                  "thousand reads/s", "threads that read at once"),
    "figure_18": ("128 pairs over pipes of 4 KB, messages of 32 KB", "pipes_idle_",
                  "bytes_per_cpu_s", 1e6, "MB for each second of the processor",
                  "threads that wait besides"),
}


def curves_of(rows, prefix, metric):
    """{subject: [(threads, value)]}, ours first."""
    found = {}
    for r in rows:
        if (r["suite"] == "io" and r["case"].startswith(prefix) and r["metric"] == metric
                and r["subject"] in LOOKS):
            point = (int(r["case"].removeprefix(prefix)), r["value"])
            found.setdefault(r["subject"], []).append(point)
    return {s: sorted(found[s]) for s in LOOKS if s in found}


def style(subjects):
    light = "".join(f".{s}{{stroke:{LOOKS[s][0]};fill:{LOOKS[s][0]}}}" for s in subjects)
    dark = "".join(f".{s}{{stroke:{LOOKS[s][1]};fill:{LOOKS[s][1]}}}" for s in subjects)
    return ("<style>text{font:12px sans-serif;fill:#24292f}.back{fill:#ffffff}"
            ".grid{stroke:#d0d7de}polyline{fill:none!important;stroke-width:2}"
            f"{light}@media (prefers-color-scheme:dark){{text{{fill:#e6edf3}}"
            f".back{{fill:#0d1117}}.grid{{stroke:#30363d}}{dark}}}</style>")


def marks_up_to(most):
    """Some five round numbers from 0 to just above `most`."""
    step = 10 ** math.floor(math.log10(most))
    step = next(s for s in (step / 5, step / 2, step, 2 * step) if most / s <= 6)
    return [i * step for i in range(math.ceil(most / step) + 1)]


def axis(counts):
    """From a number of threads to pixels: a decade is as wide as from none to the first."""
    least = min(c for c in counts if c > 0)
    first = math.log10(least)
    zero = 1.0 if 0 in counts else 0.0
    span = math.log10(max(counts)) - first + zero or 1.0
    return lambda n: LEFT + WIDTH * (0 if n == 0 else math.log10(n) - first + zero) / span


def plot(rows, title, prefix, metric, divisor, y_name, x_name):
    """The picture as text; None when there are no two points to connect."""
    curves = {s: [(n, v / divisor) for n, v in points]
              for s, points in curves_of(rows, prefix, metric).items()}
    counts = sorted({n for points in curves.values() for n, _ in points})
    if len(counts) < 2:
        return None
    marks = marks_up_to(max(v for points in curves.values() for _, v in points))
    at_x = axis(counts)
    width, bottom = LEFT + WIDTH + 30, TOP + HEIGHT

    def at_y(value):
        return bottom - HEIGHT * value / marks[-1]

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{bottom + 54}" '
           f'viewBox="0 0 {width} {bottom + 54}" role="img" '
           f'aria-label="{html.escape(title)}">', style(curves),
           f'<rect class="back" width="{width}" height="{bottom + 54}"/>',
           f'<text x="{LEFT}" y="{TOP - 14}" font-weight="bold">{html.escape(title)}: '
           f'{html.escape(y_name)}</text>']
    x = LEFT
    for subject in curves:
        name = NAMES.get(subject, subject)
        out += [f'<line class="{subject}" x1="{x}" x2="{x + 22}" y1="16" y2="16" stroke-width="2" '
                f'stroke-dasharray="{LOOKS[subject][2] or "none"}"/>',
                f'<text x="{x + 28}" y="20">{html.escape(name)}</text>']
        x += 44 + 7 * len(name)
    for mark in marks:
        out += [f'<line class="grid" x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{at_y(mark):.1f}" '
                f'y2="{at_y(mark):.1f}"/>',
                f'<text x="{LEFT - 6}" y="{at_y(mark) + 4:.1f}" text-anchor="end">{mark:g}</text>']
    last = -math.inf
    for n in counts:
        if at_x(n) - last > 44:      # two numbers that touch say less than one
            last = at_x(n)
            out.append(f'<text x="{last:.1f}" y="{bottom + 18}" text-anchor="middle">{n:,}</text>')
    out.append(f'<text x="{LEFT + WIDTH / 2}" y="{bottom + 40}" text-anchor="middle">'
               f'{html.escape(x_name)}</text>')
    for subject, points in curves.items():
        path = " ".join(f"{at_x(n):.1f},{at_y(v):.1f}" for n, v in points)
        dashes = f' stroke-dasharray="{LOOKS[subject][2]}"' if LOOKS[subject][2] else ""
        out.append(f'<polyline class="{subject}" points="{path}"{dashes}/>')
        out += [f'<circle class="{subject}" cx="{at_x(n):.1f}" cy="{at_y(v):.1f}" r="2.5"/>'
                for n, v in points]
    return "\n".join(out + ["</svg>"]) + "\n"


def draw(rows, folder):
    """Writes figure_17.svg and figure_18.svg where there are rows for them; gives their number."""
    count = 0
    for name, figure in FIGURES.items():
        text = plot(rows, *figure)
        if text is not None:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.svg").write_text(text)
            count += 1
    return count
