# SPDX-License-Identifier: MIT
"""Draws suite overload as curves over the offered load: goodput and p99, light and dark."""

import html
import math

WIDTH, HEIGHT = 330, 230         # of one panel's plot area
LEFT, TOP, GAP = 64, 58, 92
LOOKS = {                        # light, dark, dashes
    "heddle": ("#b35900", "#ffa657", ""),
    "heddle_unbounded": ("#8250df", "#d2a8ff", "6 4"),
    "nginx": ("#0969da", "#79c0ff", "2 3"),
}
NAMES = {"heddle": "heddle serve --queue-delay 5ms",
         "heddle_unbounded": "heddle serve --queue-delay 0"}


def curves_of(rows, metric):
    """{subject: [(load, value)]} of one metric."""
    found = {}
    for r in rows:
        if r["suite"] == "overload" and r["metric"] == metric and r["subject"] in LOOKS:
            load = int(r["case"].removeprefix("load_"))
            found.setdefault(r["subject"], []).append((load, r["value"]))
    return {subject: sorted(points) for subject, points in sorted(found.items())}


def style():
    light = "".join(f".{s}{{stroke:{c[0]};fill:{c[0]}}}" for s, c in LOOKS.items())
    dark = "".join(f".{s}{{stroke:{c[1]};fill:{c[1]}}}" for s, c in LOOKS.items())
    return ("<style>text{font:12px sans-serif;fill:#24292f}.back{fill:#ffffff}"
            ".grid{stroke:#d0d7de}polyline{fill:none!important;stroke-width:2}"
            f".key{{stroke:none!important}}{light}"
            "@media (prefers-color-scheme:dark){text{fill:#e6edf3}.back{fill:#0d1117}"
            f".grid{{stroke:#30363d}}{dark}}}</style>")


def panel(left, title, curves, marks, to_y, label):
    """One plot: a grid line for each mark, the loads below, the curves."""
    loads = [x for points in curves.values() for x, _ in points]
    most = max(loads)

    def at_x(load):
        return left + WIDTH * load / most

    out = [f'<text x="{left}" y="{TOP - 14}" font-weight="bold">{html.escape(title)}</text>']
    for mark in marks:
        y = to_y(mark)
        out += [f'<line class="grid" x1="{left}" x2="{left + WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>',
                f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{label(mark)}</text>']
    for load in range(0, most + 1, 50):
        out.append(f'<text x="{at_x(load):.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle">'
                   f'{load} %</text>')
    for subject, points in curves.items():
        path = " ".join(f"{at_x(x):.1f},{to_y(y):.1f}" for x, y in points)
        dashes = f' stroke-dasharray="{LOOKS[subject][2]}"' if LOOKS[subject][2] else ""
        out.append(f'<polyline class="{subject}" points="{path}"{dashes}/>')
        out += [f'<circle class="{subject}" cx="{at_x(x):.1f}" cy="{to_y(y):.1f}" r="2.5"/>'
                for x, y in points]
    return out


def time_label(us):
    return f"{us / 1e6:g} s" if us >= 1e6 else f"{us / 1e3:g} ms"


def plot(rows):
    """The picture as text; None when there is nothing to draw."""
    goodput, p99 = curves_of(rows, "goodput_share"), curves_of(rows, "p99")
    if not goodput or not p99:
        return None
    values = [max(y, 1.0) for points in p99.values() for _, y in points]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)
    top = max(1.2, max(y for points in goodput.values() for _, y in points))
    second = LEFT + WIDTH + GAP
    width, height = second + WIDTH + 30, TOP + HEIGHT + 64

    def share_y(share):
        return TOP + HEIGHT * (1 - share / top)

    def time_y(us):
        return TOP + HEIGHT * (1 - (math.log10(max(us, 1.0)) - low) / (high - low))

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
           f'viewBox="0 0 {width} {height}" role="img" '
           'aria-label="Answers in time, and p99, by offered load">', style(),
           f'<rect class="back" width="{width}" height="{height}"/>']
    x = LEFT
    for subject in goodput:
        name = NAMES.get(subject, subject)
        out += [f'<line class="{subject}" x1="{x}" x2="{x + 22}" y1="16" y2="16" stroke-width="2" '
                f'stroke-dasharray="{LOOKS[subject][2] or "none"}"/>',
                f'<text x="{x + 28}" y="20">{html.escape(name)}</text>']
        x += 48 + 7 * len(name)
    shares = [i / 5 for i in range(int(top * 5) + 1)]
    out += panel(LEFT, "answers in time, as a share of the peak", goodput, shares, share_y,
                 lambda v: f"{v:.1f}")
    out += panel(second, "p99 of what was answered with 200", p99,
                 [10 ** e for e in range(low, high + 1)], time_y, time_label)
    for left in (LEFT, second):
        out.append(f'<text x="{left + WIDTH / 2}" y="{TOP + HEIGHT + 40}" text-anchor="middle">'
                   'offered load, as a share of what the server can answer</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


def draw(rows, folder):
    """Writes overload.svg where there are such rows; gives the number of pictures."""
    text = plot(rows)
    if text is None:
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "overload.svg").write_text(text)
    return 1
