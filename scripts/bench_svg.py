# SPDX-License-Identifier: MIT
"""Draws figures as bars, with spread and target, for light and dark screens.

One file for each suite, case and metric; and for suite http one sheet of all its cases, http.svg.
Every subject that was measured is in the picture, the shortest bar first.
"""

import html
import math

BAR, GAP = 16, 6
LEFT, WIDTH, RIGHT = 130, 360, 130
HEAD = 34                    # of a panel, above its first bar
MARGIN = 12
# role: light and dark
COLORS = {"own": ("#b35900", "#ffa657"), "ceiling": ("#0969da", "#79c0ff"),
          "peer": ("#afb8c1", "#6e7681")}
LEGEND = {"own": "Heddle", "ceiling": "hand-written loops, which know one answer",
          "peer": "others"}
STYLE = ("<style>text{font:12px sans-serif;fill:#24292f}.title{font-weight:bold}"
         ".back{fill:#ffffff}.spread{stroke:#24292f}.target{stroke:#1a7f37;stroke-width:2}"
         + "".join(f".{role}{{fill:{light}}}" for role, (light, _) in COLORS.items())
         + "@media (prefers-color-scheme:dark){text{fill:#e6edf3}.back{fill:#0d1117}"
           ".spread{stroke:#e6edf3}.target{stroke:#3fb950}"
         + "".join(f".{role}{{fill:{dark}}}" for role, (_, dark) in COLORS.items()) + "}</style>")
# What the sheet of suite http shows of a case: the first of these that was measured.
SHEET_METRICS = ("burst_cpu_us", "cpu_us", "conn_bytes")


def draw(rows, folder):
    """Draws all groups of at least two subjects, and the sheet; gives the number of files."""
    groups = {}
    for r in rows:
        if not r["metric"].endswith("_ratio"):
            groups.setdefault((r["suite"], r["case"], r["metric"]), []).append(r)
    groups = {k: v for k, v in groups.items() if len(v) > 1}
    folder.mkdir(parents=True, exist_ok=True)
    for key, group in groups.items():
        (folder / f"{'_'.join(key)}.svg").write_text(sheet([(key, group)], 1))
    shown = sheet_groups(groups)
    if shown:
        (folder / "http.svg").write_text(sheet(shown, 2))
    return len(groups) + bool(shown)


def sheet_groups(groups):
    """Of suite http one group for each case."""
    found = []
    for case in dict.fromkeys(case for suite, case, _ in groups if suite == "http"):
        keys = [("http", case, metric) for metric in SHEET_METRICS]
        found += [(key, groups[key]) for key in keys if key in groups][:1]
    return found


def scale(group):
    """A function from value to pixels: logarithmic where linear bars would vanish."""
    low = min([r["value"] for r in group if r["value"] > 0] or [1])
    high = max([r["spread"][1] for r in group] + [low])
    if high / low <= 100:
        return lambda v: WIDTH * max(v, 0) / high, ""
    floor = math.log10(low) - 0.5
    return (lambda v: WIDTH * max(0.0, (math.log10(max(v, low / 10)) - floor))
            / (math.log10(high) - floor)), ", logarithmic"


def role(subject):
    return next((r for word, r in (("heddle", "own"), ("ceiling", "ceiling"))
                 if subject.startswith(word)), "peer")


def height_of(group):
    return HEAD + len(group) * (BAR + GAP) + 10


def sheet(groups, columns):
    """Panels, `columns` in a row, beneath a legend of the colors that occur."""
    panel_width = LEFT + WIDTH + RIGHT
    roles = {role(r["subject"]) for _, group in groups for r in group}
    out, x = [], MARGIN
    for name, words in LEGEND.items():
        if name in roles:
            out += [f'<rect class="{name}" x="{x}" y="10" width="12" height="12"/>',
                    f'<text x="{x + 18}" y="20">{words}</text>']
            x += 40 + 7 * len(words)
    top = 30
    for i in range(0, len(groups), columns):
        row = groups[i:i + columns]
        for j, (key, group) in enumerate(row):
            out.append(f'<g transform="translate({j * panel_width},{top})">')
            out += [*panel(key, group), "</g>"]
        top += max(height_of(group) for _, group in row)
    width = panel_width * min(columns, len(groups))
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top}" '
        f'viewBox="0 0 {width} {top}" role="img">', STYLE,
        f'<rect class="back" width="{width}" height="{top}"/>', *out, "</svg>"]) + "\n"


def panel(key, group):
    suite, case, metric = key
    to_x, kind = scale(group)
    out = [f'<text class="title" x="{MARGIN}" y="20">{html.escape(suite)}: {html.escape(case)}, '
           f'{html.escape(metric)} ({html.escape(group[0]["unit"])}{kind})</text>']
    for i, r in enumerate(sorted(group, key=lambda r: r["value"])):
        y = HEAD + i * (BAR + GAP)
        x = LEFT + to_x(r["value"])
        low, high = (LEFT + to_x(v) for v in r["spread"])
        missed = f' (misses {html.escape(r["target"])})' if r.get("ok") is False else ""
        out += [f'<text x="{LEFT - 8}" y="{y + 12}" text-anchor="end">'
                f'{html.escape(r["subject"])}</text>',
                f'<rect class="{role(r["subject"])}" x="{LEFT}" y="{y}" '
                f'width="{x - LEFT:.1f}" height="{BAR}"/>',
                f'<line class="spread" x1="{low:.1f}" x2="{high:.1f}" y1="{y + BAR / 2}" '
                f'y2="{y + BAR / 2}"/>',
                f'<text x="{max(x, high) + 6:.1f}" y="{y + 12}">{r["value"]:g}{missed}</text>']
        if "target" in r:
            t = min(LEFT + to_x(float(r["target"].split()[1])), LEFT + WIDTH)
            out.append(f'<line class="target" x1="{t:.1f}" x2="{t:.1f}" y1="{y - 3}" '
                       f'y2="{y + BAR + 3}"/>')
    return out
