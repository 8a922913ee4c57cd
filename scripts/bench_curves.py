# SPDX-License-Identifier: MIT
"""Pictures of figures: one curve for each subject over a number that grows, as SVG text."""

import math

from bench_svg import INK, PALE, WIDTH, frame, number, text

HEIGHT = 400
LEFT, RIGHT, TOP, BOTTOM = 76, 170, 60, 52
# Told apart also without color: by dashes and by the shape of their points.
STYLES = (("#1f6feb", ""), ("#cf222e", "6 3"), ("#6e7781", "2 3"), ("#2da44e", "9 3 2 3"),
          ("#8250df", "4 2"), ("#bf8700", "1 2"))


def steps(most):
    """Round numbers from 0 to at least `most`, four to eight of them."""
    size = 10 ** math.floor(math.log10(most))
    size = next(s for s in (size / 5, size / 2, size, size * 2) if most / s <= 7)
    return [i * size for i in range(math.ceil(most / size) + 1)]


def curves(title, x_unit, y_unit, series):
    """`series` is {name: [(x, y)]}; x is drawn by its logarithm, with 0 at the left end."""
    points = [p for line in series.values() for p in line]
    if not points:
        raise ValueError(f"{title}: nothing to draw")
    xs = sorted({x for x, _ in points})
    marks = steps(max(y for _, y in points) or 1)
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place(x):
        return math.log2(x) if x >= 1 else math.log2(min((v for v in xs if v >= 1), default=1)) - 1

    first, last = place(xs[0]), place(xs[-1])

    def at(x, y):
        share = (place(x) - first) / (last - first) if last > first else 0.5
        return LEFT + share * wide, TOP + high - y / marks[-1] * high

    parts = []
    for y in marks:
        _, level = at(xs[0], y)
        parts.append(f'<path d="M{LEFT} {level:.1f}h{wide}" stroke="#d8dee4" fill="none"/>')
        parts.append(text(LEFT - 8, level + 4, number(y), 12, anchor="end"))
    for x in xs:
        across, _ = at(x, 0)
        parts.append(f'<path d="M{across:.1f} {TOP + high}v5" stroke="{INK}"/>')
        parts.append(text(across, TOP + high + 19, f"{x:,}", 12, anchor="middle"))
    parts.append(text(LEFT + wide / 2, HEIGHT - 12, x_unit, 12, PALE, "middle"))
    parts.append(text(14, TOP - 16, y_unit, 11, PALE))
    # Names stand at the ends of their curves, but not on each other.
    ends = sorted((at(*line[-1])[1], name) for name, line in series.items() if line)
    levels = {}
    for level, name in ends:
        levels[name] = max(level, max(levels.values(), default=-99) + 16)
    for i, (name, line) in enumerate(series.items()):
        if not line:
            continue
        color, dashes = STYLES[i % len(STYLES)]
        path = "L".join("{:.1f} {:.1f}".format(*at(x, y)) for x, y in sorted(line))
        parts.append(f'<path d="M{path}" stroke="{color}" stroke-width="2" fill="none"'
                     + (f' stroke-dasharray="{dashes}"' if dashes else "") + "/>")
        for x, y in line:
            across, level = at(x, y)
            parts.append(f'<circle cx="{across:.1f}" cy="{level:.1f}" r="3" fill="{color}"/>')
        across, _ = at(*max(line))
        parts.append(text(across + 9, levels[name] + 4, name, 12, color))
    return frame(WIDTH, HEIGHT, title, parts)
