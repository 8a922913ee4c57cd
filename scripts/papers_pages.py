# SPDX-License-Identifier: MIT
"""The pages docs/papers/*.md: what a paper measured, what we measure today, and the pictures.

A row of scripts/papers_rows.toml and the rows of figures.json become a table: subject, value,
spread, and ours by the best rival. A row of ours that is worse than the best rival says
`behind: 1.12`.
"""

import fnmatch
import re
import tomllib

import bench_curves
import bench_svg
from papers_model import grouped

PLOTS = ("bars", "curve", "none")
FIELDS = {"paper", "place", "name", "title", "case", "metric", "unit", "better", "ours", "plot",
          "text", "said"}
OPTIONAL = {"said_unit", "rivals", "wanted", "x"}


class Wrong(Exception):
    """A mistake in scripts/papers_rows.toml, and where."""


def load_rows(path):
    rows = tomllib.loads(path.read_text())["row"]
    names = set()
    for row in rows:
        where = f"{path.name}: row {row.get('name', '?')}"
        lacking, unknown = FIELDS - row.keys(), row.keys() - FIELDS - OPTIONAL
        if lacking or unknown:
            raise Wrong(f"{where}: lacks {sorted(lacking)}, does not know {sorted(unknown)}")
        if row["plot"] not in PLOTS or row["better"] not in ("less", "more"):
            raise Wrong(f"{where}: plot is one of {PLOTS}, better is less or more")
        if (row["plot"] == "curve") != (isinstance(row["case"], str) and "*" in row["case"]):
            raise Wrong(f"{where}: a curve has one case with a *, and no other row has")
        if row["name"] in names:
            raise Wrong(f"{where}: the name is taken")
        names.add(row["name"])
    return rows


def anchor(place):
    """The part of a link behind # for a heading, as GitHub makes it."""
    return re.sub(r"[^\w -]", "", place.lower()).replace(" ", "-")


def suites_of(rows):
    cases = [c for row in rows for c in as_list(row["case"])]
    return list(dict.fromkeys(c.partition("/")[0] for c in cases))


def as_list(value):
    return [value] if isinstance(value, str) else list(value)


def sort_key(case):
    """Numbers inside a case by their value."""
    return [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", case)]


def found(row, figures):
    """The figures of a row: in the order of its cases, ours before the rivals."""
    out = []
    for pattern in as_list(row["case"]):
        here = [f for f in figures if f["metric"] == row["metric"] and "/" not in f["subject"]
                and fnmatch.fnmatchcase(f"{f['suite']}/{f['case']}", pattern)
                and wanted(row, f["subject"])]
        here.sort(key=lambda f: (sort_key(f["case"]), f["subject"] not in row["ours"]))
        out += here
    return out


def wanted(row, subject):
    return subject in row["ours"] or "rivals" not in row or subject in row["rivals"]


def best(figures, better):
    pick = min if better == "less" else max
    return pick(figures, key=lambda f: f["value"]) if figures else None


def worse_by(ours, rival, better):
    """Above 1 when ours is the worse one."""
    if not ours["value"] or not rival["value"]:
        return 1.0
    ratio = ours["value"] / rival["value"]
    return ratio if better == "less" else 1 / ratio


def judged(row, figures):
    """[(figure, best rival of its case or None)]."""
    out = []
    for f in figures:
        rivals = [r for r in figures if r["case"] == f["case"] and r["subject"] not in row["ours"]]
        out.append((f, best(rivals, row["better"]) if f["subject"] in row["ours"] else None))
    return out


def behind(row, figures):
    """[(case, by how much our best is worse than the best rival)], only where it is."""
    out = []
    for case in dict.fromkeys(f["case"] for f in figures):
        here = [f for f in figures if f["case"] == case]
        ours = best([f for f in here if f["subject"] in row["ours"]], row["better"])
        rival = best([f for f in here if f["subject"] not in row["ours"]], row["better"])
        if ours and rival and worse_by(ours, rival, row["better"]) > 1.005:
            out.append((case, rival["subject"], worse_by(ours, rival, row["better"])))
    return out


def plain(value):
    """Thousands with commas, small values with three digits."""
    return grouped(value) if abs(value) >= 1000 else f"{value:.3g}"


def said_line(row):
    if not row["said"]:
        return []
    unit = row.get("said_unit", row["unit"])
    values = "; ".join(f"{name} {plain(value)}" for name, value in row["said"])
    return [f"The paper: {values} ({unit}).", ""]


def table(row, figures):
    several = len({f["case"] for f in figures}) > 1
    head = ["subject", "today", "lowest to highest", "by the best rival"]
    lines = ["| " + " | ".join((["case"] if several else []) + head) + " |",
             "|" + "---|" * several + "---|--:|--:|--:|"]
    for f, rival in judged(row, figures):
        low, high = f["spread"]
        name = f"`{f['subject']}`" + ("" if f["subject"] in row["ours"] else ", rival")
        ratio = "" if rival is None or not rival["value"] else (
            f"{f['value'] / rival['value']:.2f} of `{rival['subject']}`")
        cells = ([f["case"]] if several else []) + [
            name, plain(f["value"]), f"{plain(low)} to {plain(high)}", ratio]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def missing(row, figures, absent):
    """A sentence for each rival that should be there and is not; `absent` is (suite, who, why)."""
    suite = as_list(row["case"])[0].partition("/")[0]
    have = {f["subject"] for f in figures}
    for name in row.get("wanted", []):
        if name not in have:
            why = [w for s, who, w in absent if s == suite and re.split(r"[, ]", who)[0] == name]
            yield f"`{name}` is missing: {why[0] if why else 'this run did not measure it'}."


def picture(row, figures):
    """The SVG of a row, or None."""
    if row["plot"] == "none" or not figures:
        return None
    if row["plot"] == "curve":
        pattern = re.escape(as_list(row["case"])[0].partition("/")[2]).replace(r"\*", r"(\d+)")
        series = {}
        for f in figures:
            at = int(re.fullmatch(pattern, f["case"])[1])
            series.setdefault(f["subject"], []).append((at, f["value"]))
        return bench_curves.curves(row["title"], row.get("x", ""), row["unit"], series)
    several = len({f["case"] for f in figures}) > 1
    entries = [(f["case"] if several else f["subject"], f["value"],
                "ours" if f["subject"] in row["ours"] else "rival", f["spread"]) for f in figures]
    return bench_svg.bars(row["title"], row["unit"], entries)


def section(row, figures, absent):
    """Lines of one row, and its SVG or None."""
    here = found(row, figures)
    lines = [f"### {row['title']}", "", *said_line(row)]
    if not here:
        return [*lines, "Not measured in this run.", "", *prose(row)], None
    lines += [f"Today, {row['unit']}, {row['better']} is better:", "", *table(row, here), ""]
    for case, rival, factor in behind(row, here):
        lines += [f"behind: {factor:.2f} (`{rival}`, {case})", ""]
    for sentence in missing(row, here, absent):
        lines += [sentence, ""]
    drawn = picture(row, here)
    if drawn:
        lines += [f"![{row['title']}]({row['name']}.svg)", ""]
    cases = ", ".join(f"`{c}`" for c in as_list(row["case"]))
    lines += [*prose(row), f"Figure: metric `{row['metric']}` of {cases}.", ""]
    return lines, drawn


def prose(row):
    words = row["text"].strip()
    return [words, ""] if words else []


def page(paper, short, rows, figures, absent, head):
    """(text, {name: SVG}) of a paper's page."""
    lines = [f"# Figures of {short}", "", head, ""]
    pictures = {}
    mine = [r for r in rows if r["paper"] == paper]
    for place in dict.fromkeys(r["place"] for r in mine):
        lines += [f"## {place}", ""]
        for row in (r for r in mine if r["place"] == place):
            more, drawn = section(row, figures, absent)
            lines += more
            if drawn:
                pictures[row["name"]] = drawn
    return "\n".join(lines).rstrip() + "\n", pictures


def apart(old, new):
    """[(key, old row, new row)] of figures whose spreads do not touch."""
    before = {(r["suite"], r["case"], r["subject"], r["metric"]): r for r in old}
    out = []
    for r in new:
        key = (r["suite"], r["case"], r["subject"], r["metric"])
        was = before.get(key)
        if was and (r["spread"][0] > was["spread"][1] or r["spread"][1] < was["spread"][0]):
            out.append(("/".join(key), was, r))
    return out
