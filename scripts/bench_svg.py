# SPDX-License-Identifier: MIT
"""Draws figures as bars: one SVG file for each suite, case and metric, with spread and target."""

import html
import math

BAR = 18
GAP = 8
LEFT = 150
WIDTH = 420
RIGHT = 130
INK = "#24292f"


def draw(rows, folder):
    """Draws all groups of at least two subjects; gives their number."""
    groups = {}
    for r in rows:
        if not r["metric"].endswith("_ratio"):
            groups.setdefault((r["suite"], r["case"], r["metric"]), []).append(r)
    groups = {k: v for k, v in groups.items() if len(v) > 1}
    folder.mkdir(parents=True, exist_ok=True)
    for key, group in groups.items():
        (folder / f"{'_'.join(key)}.svg").write_text(plot(key, group))
    return len(groups)


def scale(group):
    """A function from value to pixels: logarithmic where linear bars would vanish."""
    low = min(r["value"] for r in group if r["value"] > 0) if any(
        r["value"] > 0 for r in group) else 1
    high = max([r["spread"][1] for r in group] + [low])
    if high / low <= 50:
        return lambda v: WIDTH * max(v, 0) / high, "linear"
    floor = math.log10(low) - 0.5
    return (lambda v: WIDTH * max(0.0, (math.log10(max(v, low / 10)) - floor))
            / (math.log10(high) - floor)), "logarithmic"


def plot(key, group):
    suite, case, metric = key
    unit = group[0]["unit"]
    group = sorted(group, key=lambda r: r["value"])
    to_x, kind = scale(group)
    height = 44 + len(group) * (BAR + GAP) + 12
    total = LEFT + WIDTH + RIGHT
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{height}" '
           f'viewBox="0 0 {total} {height}" font-family="sans-serif" font-size="12">',
           f'<rect width="{total}" height="{height}" fill="#ffffff"/>',
           f'<text x="10" y="22" font-size="14" fill="{INK}">{html.escape(suite)}: '
           f'{html.escape(case)}, {html.escape(metric)} ({html.escape(unit)}, {kind})</text>']
    for i, r in enumerate(group):
        y = 40 + i * (BAR + GAP)
        own = r["subject"].startswith("heddle")
        fill = "#b35900" if own else "#8c959f"
        x = LEFT + to_x(r["value"])
        low, high = (LEFT + to_x(v) for v in r["spread"])
        middle = y + BAR / 2
        out += [f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end" fill="{INK}">'
                f'{html.escape(r["subject"])}</text>',
                f'<rect x="{LEFT}" y="{y}" width="{x - LEFT:.1f}" height="{BAR}" fill="{fill}"/>',
                f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}" '
                f'stroke="{INK}"/>',
                f'<text x="{max(x, high) + 6:.1f}" y="{y + 13}" fill="{INK}">{r["value"]:g}'
                f'{" (misses " + html.escape(r["target"]) + ")" if r.get("ok") is False else ""}'
                '</text>']
        if "target" in r:
            t = min(LEFT + to_x(float(r["target"].split()[1])), LEFT + WIDTH)
            out.append(f'<line x1="{t:.1f}" x2="{t:.1f}" y1="{y - 3}" y2="{y + BAR + 3}" '
                       'stroke="#1a7f37" stroke-width="2"/>')
    return "\n".join(out + ["</svg>"]) + "\n"
