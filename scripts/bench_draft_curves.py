# SPDX-License-Identifier: MIT
"""Draws the graphs of Angiuli and Sullivan from suite draft, light and dark: draft.svg.

A row for each size of file; on the left requests a second, on the right the server's processor
time for a request on a logarithmic axis, both over the number of clients, also logarithmic.
"""

import html
import math

WIDTH, HEIGHT = 360, 190         # of one panel's plot area
LEFT, TOP, GAP, DOWN = 64, 96, 84, 78
# light, dark, dashes, width; the first is drawn last, above the others
LOOKS = {
    "draft_epoll": ("#b35900", "#ffa657", "", 3),
    "draft_files_epoll": ("#b35900", "#ffa657", "2 3", 2),
    "hand_epoll": ("#57606a", "#8b949e", "", 1.5),
    "tasks_epoll": ("#8250df", "#d2a8ff", "7 4", 1.5),
    "nginx": ("#0969da", "#79c0ff", "2 3", 2),
    "nginx_cached": ("#0969da", "#79c0ff", "", 1.5),
    "lighttpd": ("#1a7f37", "#56d364", "7 4", 2),
}
NAMES = {"draft_epoll": "Draft", "draft_files_epoll": "Draft, opens files",
         "hand_epoll": "C by hand, same ABI", "tasks_epoll": "C++ tasks",
         "nginx_cached": "nginx, open_file_cache"}
SIZES = {"100B": "100 bytes", "16KB": "16 KB", "128KB": "128 KB"}
# metric, what it is called, divisor, whether its axis is logarithmic
METRICS = (("requests_per_s", "thousand requests a second", 1e3, False),
           ("cpu_us", "server processor time, \N{MICRO SIGN}s a request", 1.0, True))


def curves_of(rows, size, metric, divisor):
    """{subject: [(clients, value, low, high)]}."""
    prefix = f"graph_{size}_c"
    found = {}
    for r in rows:
        if (r["suite"] == "draft" and r["case"].startswith(prefix) and r["metric"] == metric
                and r["subject"] in LOOKS):
            found.setdefault(r["subject"], []).append(
                (int(r["case"].removeprefix(prefix)), r["value"] / divisor,
                 *(v / divisor for v in r["spread"])))
    return {s: sorted(found[s]) for s in LOOKS if s in found}


def style():
    light = "".join(f".{s}{{stroke:{c[0]}}}" for s, c in LOOKS.items())
    dark = "".join(f".{s}{{stroke:{c[1]}}}" for s, c in LOOKS.items())
    return ("<style>text{font:12px sans-serif;fill:#24292f}.title{font-weight:bold}"
            ".back{fill:#ffffff}.grid{stroke:#d0d7de}.spread{stroke-width:1;opacity:.6}"
            f"polyline{{fill:none}}{light}"
            "@media (prefers-color-scheme:dark){text{fill:#e6edf3}.back{fill:#0d1117}"
            f".grid{{stroke:#30363d}}{dark}}}</style>")


def marks_up_to(most):
    """Some five round numbers from 0 to just above `most`."""
    step = 10 ** math.floor(math.log10(most))
    step = next(s for s in (step / 5, step / 2, step, 2 * step) if most / s <= 6)
    return [i * step for i in range(math.ceil(most / step) + 1)]


def marks_between(low, high):
    """1, 2 and 5 of each decade, from just below `low` to just above `high`."""
    all_of = [m * 10 ** e for e in range(-2, 7) for m in (1, 2, 5)]
    first = max(i for i, m in enumerate(all_of) if m <= low)
    last = min(i for i, m in enumerate(all_of) if m >= high)
    return all_of[first:max(last, first + 1) + 1]


def panel(left, top, title, curves, logarithmic):
    counts = sorted({p[0] for points in curves.values() for p in points})
    span = math.log10(counts[-1] / counts[0]) or 1.0
    values = [p[1] for points in curves.values() for p in points]
    marks = marks_between(min(values), max(values)) if logarithmic else marks_up_to(max(values))
    bottom = top + HEIGHT

    def at_x(n):
        return left + WIDTH * math.log10(n / counts[0]) / span

    def at_y(value):
        if logarithmic:
            share = math.log(value / marks[0]) / math.log(marks[-1] / marks[0])
        else:
            share = value / marks[-1]
        return min(max(bottom - HEIGHT * share, top - 8), bottom)

    out = [f'<text class="title" x="{left}" y="{top - 14}">{html.escape(title)}</text>']
    for mark in marks:
        out += [f'<line class="grid" x1="{left}" x2="{left + WIDTH}" y1="{at_y(mark):.1f}" '
                f'y2="{at_y(mark):.1f}"/>',
                f'<text x="{left - 6}" y="{at_y(mark) + 4:.1f}" text-anchor="end">{mark:g}</text>']
    for n in counts:
        out.append(f'<text x="{at_x(n):.1f}" y="{bottom + 18}" text-anchor="middle">{n:,}</text>')
    out.append(f'<text x="{left + WIDTH / 2}" y="{bottom + 36}" text-anchor="middle">'
               'clients</text>')
    for subject, points in reversed(curves.items()):
        _, _, dashes, width = LOOKS[subject]
        path = " ".join(f"{at_x(n):.1f},{at_y(v):.1f}" for n, v, _, _ in points)
        out.append(f'<polyline class="{subject}" points="{path}" stroke-width="{width}"'
                   + (f' stroke-dasharray="{dashes}"' if dashes else "") + "/>")
        out += [f'<line class="{subject} spread" x1="{at_x(n):.1f}" x2="{at_x(n):.1f}" '
                f'y1="{at_y(low):.1f}" y2="{at_y(high):.1f}"/>' for n, _, low, high in points]
    return out


def legend(subjects):
    out, x, y = [], LEFT, 18
    for subject in subjects:
        name = NAMES.get(subject, subject)
        if x + 50 + 7 * len(name) > LEFT + 2 * WIDTH + GAP:
            x, y = LEFT, y + 22
        _, _, dashes, width = LOOKS[subject]
        out += [f'<line class="{subject}" x1="{x}" x2="{x + 26}" y1="{y - 4}" y2="{y - 4}" '
                f'stroke-width="{width}"'
                + (f' stroke-dasharray="{dashes}"' if dashes else "") + "/>",
                f'<text x="{x + 32}" y="{y}">{html.escape(name)}</text>']
        x += 56 + 7 * len(name)
    return out


def plot(rows):
    """The picture as text; None when there are no two points to connect."""
    panels, subjects = [], []
    for i, (size, size_name) in enumerate(SIZES.items()):
        for j, (metric, metric_name, divisor, logarithmic) in enumerate(METRICS):
            curves = curves_of(rows, size, metric, divisor)
            if not any(len(points) > 1 for points in curves.values()):
                continue
            subjects = subjects or list(curves)
            panels += panel(LEFT + j * (WIDTH + GAP), TOP + i * (HEIGHT + DOWN),
                            f"{size_name}: {metric_name}", curves, logarithmic)
    if not panels:
        return None
    width = LEFT + 2 * WIDTH + GAP + 24
    height = TOP + len(SIZES) * (HEIGHT + DOWN) - 24
    return "\n".join(
        [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
         f'viewBox="0 0 {width} {height}" role="img" aria-label="Web servers by clients: requests '
         'a second, and processor time for a request">', style(),
         f'<rect class="back" width="{width}" height="{height}"/>', *legend(subjects), *panels,
         "</svg>"]) + "\n"


def draw(rows, folder):
    """Writes draft.svg where there are rows for it; gives the number of pictures."""
    text = plot(rows)
    if text is None:
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "draft.svg").write_text(text)
    return 1
