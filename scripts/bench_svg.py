# SPDX-License-Identifier: MIT
"""Pictures of figures: bars, one for each subject, as SVG text. bench_curves draws curves."""

from xml.sax.saxutils import escape

WIDTH = 720
LEFT, RIGHT, TOP, ROW = 220, 110, 44, 26
FONT = 'font-family="DejaVu Sans, Helvetica, Arial, sans-serif"'
INK, PALE = "#24292f", "#6e7781"
COLORS = {"ours": "#1f6feb", "rival": "#8c959f", "said": "#d4a72c"}


def number(value):
    """Three significant digits, with a letter for thousands and more: 28.5k."""
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g}{letter}"
    return f"{value:.3g}"


def text(x, y, words, size=13, color=INK, anchor="start", more=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" {FONT} font-size="{size:.3g}" fill="{color}" '
            f'text-anchor="{anchor}"{more}>{escape(words)}</text>')


def frame(width, height, title, parts):
    """A whole picture; the title is also what a screen reader says."""
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        text(14, 24, title, min(15, width * 1.5 / len(title)), more=' font-weight="bold"'),
        *parts, "</svg>", ""])


def bars(title, unit, entries):
    """`entries` are (name, value, kind, spread or None); kind is ours, rival or said."""
    if not entries:
        raise ValueError(f"{title}: nothing to draw")
    most = max(max(e[1], e[3][1] if e[3] else 0) for e in entries) or 1
    room = WIDTH - LEFT - RIGHT
    parts = []
    for i, (name, value, kind, spread) in enumerate(entries):
        y = TOP + i * ROW
        parts.append(text(LEFT - 8, y + 16, name, anchor="end"))
        parts.append(f'<rect x="{LEFT}" y="{y + 4}" width="{max(1.0, value / most * room):.1f}" '
                     f'height="{ROW - 9}" fill="{COLORS[kind]}"/>')
        end = value
        if spread and spread[1] > spread[0]:
            low, high = (LEFT + s / most * room for s in spread)
            parts.append(f'<path d="M{low:.1f} {y + 12.5}H{high:.1f}M{low:.1f} {y + 9}v7'
                         f'M{high:.1f} {y + 9}v7" stroke="{INK}" fill="none"/>')
            end = max(value, spread[1])
        parts.append(text(LEFT + end / most * room + 6, y + 16, number(value), 12))
    y = TOP + len(entries) * ROW + 18
    parts.append(text(LEFT, y, f"{unit}; lines: lowest to highest round", 11, PALE))
    return frame(WIDTH, y + 14, title, parts)
