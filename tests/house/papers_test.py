# SPDX-License-Identifier: MIT
"""docs/papers.md has a row for each section of each paper, and what its rows name exists; the rows
of scripts/papers_rows.toml are sound, and pages, pictures and the model say what figures say."""

import pathlib
import re
import sys
import threading
import tomllib
import unittest
import unittest.mock
import xml.dom.minidom

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

import bench_calls
import bench_capacity
import bench_curves
import bench_knot
import bench_lines
import bench_machine as machine
import bench_nfs
import bench_rolling
import bench_servers
import bench_svg
import papers_model
import papers_pages

PAGE = ROOT / "docs" / "papers.md"
PAGES = ROOT / "docs" / "papers"
SECTIONS = tomllib.loads((ROOT / "scripts" / "papers_sections.toml").read_text())["paper"]
ROWS = papers_pages.load_rows(ROOT / "scripts" / "papers_rows.toml")
TEST = re.compile(r'(?:HEDDLE|DRIVER)_TEST\((\w+),\s*"((?:[^"\\]|\\.)*)"')
STATE = re.compile(r"works|(?:part|differs) \(.+\)")


def known_tests():
    return [f"{suite}.{sentence}" for source in (ROOT / "tests").glob("*/*_test.cc")
            for suite, sentence in TEST.findall(source.read_text())]


def known_suites():
    return set(re.findall(r'"(\w+)": bench_\w+', (ROOT / "scripts" / "bench").read_text()))


def anchors(page):
    return {papers_pages.anchor(h) for h in re.findall(r"^#+ (.*)$", page.read_text(), re.M)}


def rows_of(text):
    """{paper: [(section, says, where, shown by, state)]}."""
    out = {}
    for part in re.split(r"^### ", text, flags=re.M)[1:]:
        short, _, body = part.partition("\n")
        cells = [[c.strip() for c in line.strip("|").split(" | ")]
                 for line in body.splitlines() if line.startswith("| ")]
        out[short] = [c for c in cells if c[0] != "section"]
    return out


def broken_links(text, page=PAGE):
    for target in re.findall(r"\]\(([^)]+)\)", text):
        path, _, part = target.partition("#")
        to = (page.parent / path).resolve() if path else page
        if not to.exists():
            yield f"{target}: there is no such file"
        elif part and part not in anchors(to):
            yield f"{target}: there is no such heading"


def unknown(name, tests, suites):
    """Why `name`, a word in backticks of the column "shown by", shows nothing; or None."""
    words = name.split()
    if words[0] == "scripts/bench":
        return None if words[1] in suites else f"{name}: no suite {words[1]}"
    if words[0] == "scripts/papers":
        return None if words[2] in {p["key"] for p in SECTIONS} else f"{name}: no such paper"
    if "/" in words[0]:
        return None if (ROOT / words[0]).exists() else f"{name}: there is no such file"
    return None if any(t.startswith(name) for t in tests) else f"{name}: no test begins so"


def wrong_rows(text, tests, suites):
    """All that is wrong with the map."""
    found = rows_of(text)
    for paper in SECTIONS:
        rows = found.get(paper["short"], [])
        if [r[0] for r in rows] != paper["sections"]:
            yield f"{paper['short']}: the sections are not those of papers_sections.toml"
        for row in rows:
            at = f"{paper['short']}, {row[0]}"
            if len(row) != 5:
                yield f"{at}: {len(row)} cells instead of 5"
                continue
            _, _, where, shown, state = row
            if not STATE.fullmatch(state):
                yield f"{at}: the state is {state!r}"
            names = re.findall(r"`([^`]+)`", shown)
            if state == "works" and not (names or "](" in shown or shown == "the rows above"):
                yield f"{at}: works, and nothing shows it"
            if state == "works" and "](" not in where:
                yield f"{at}: works, and it is nowhere"
            for name in names:
                why = unknown(name, tests, suites)
                if why:
                    yield f"{at}: {why}"
    yield from broken_links(text)


class Map(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = PAGE.read_text()
        cls.tests, cls.suites = known_tests(), known_suites()

    def wrong(self, old, new):
        self.assertIn(old, self.text)
        return "\n".join(wrong_rows(self.text.replace(old, new, 1), self.tests, self.suites))

    def test_each_section_has_a_row_and_what_rows_name_exists(self):
        self.assertEqual([], list(wrong_rows(self.text, self.tests, self.suites)))
        self.assertGreater(sum(len(r) for r in rows_of(self.text).values()), 80)

    def test_a_section_that_is_left_out_is_found(self):
        line = next(x for x in self.text.splitlines() if x.startswith("| 3.3 Typing"))
        self.assertIn("the sections are not", self.wrong(line + "\n", ""))

    def test_a_test_that_does_not_exist_is_found(self):
        self.assertIn("no test begins so", self.wrong("`adapt.A1`", "`adapt.A99`"))

    def test_a_suite_a_file_and_a_paper_that_do_not_exist_are_found(self):
        self.assertIn("no suite knott", self.wrong("`scripts/bench knot`", "`scripts/bench knott`"))
        self.assertIn("there is no such file",
                      self.wrong("`examples/tame_knot.tcc`", "`examples/knot.tcc`"))
        self.assertIn("no such paper", self.wrong("--paper krohn", "--paper crone"))

    def test_a_broken_link_and_a_missing_heading_are_found(self):
        self.assertIn("no such file", self.wrong("(reference/rules.md)", "(reference/rule.md)"))
        self.assertIn("no such heading", self.wrong("krohn.md#figure-7)", "krohn.md#figure-70)"))

    def test_a_state_without_a_reason_and_a_claim_without_proof_are_found(self):
        state = re.search(r"\| differs \([^|]*\) \|$", self.text, re.M)[0]
        self.assertIn("the state is 'differs'", self.wrong(state, "| differs |"))
        line = next(x for x in self.text.splitlines() if x.startswith("| 7.2 An event"))
        shown = line.split(" | ")[3]
        self.assertIn("nothing shows it", self.wrong(line, line.replace(shown, "none")))
        self.assertIn("nowhere", self.wrong(line, line.replace(line.split(" | ")[2], "none")))


class Rows(unittest.TestCase):
    def test_each_row_is_of_a_paper_and_of_a_suite_that_exist(self):
        papers = {p["key"] for p in SECTIONS}
        self.assertEqual([r["name"] for r in ROWS if r["paper"] not in papers], [])
        self.assertEqual(set(papers_pages.suites_of(ROWS)) - known_suites(), set())

    def test_each_page_has_its_rows_its_pictures_and_no_others(self):
        for paper in SECTIONS:
            page = PAGES / f"{paper['key']}.md"
            text = page.read_text()
            mine = [r for r in ROWS if r["paper"] == paper["key"]]
            self.assertEqual(re.findall(r"^### (.*)$", text, re.M), [r["title"] for r in mine])
            self.assertEqual(list(broken_links(text, page)), [])
            self.assertNotIn("Nothing says how", text)
        drawn = {p.stem for p in PAGES.glob("*.svg")}
        self.assertEqual(drawn, {r["name"] for r in ROWS if r["plot"] != "none"} & drawn)
        self.assertEqual(list(broken_links((PAGES / "capacity.md").read_text(),
                                           PAGES / "capacity.md")), [])

    def test_each_place_is_a_section_that_the_map_links(self):
        text = PAGE.read_text()
        for row in ROWS:
            self.assertIn(f"papers/{row['paper']}.md#{papers_pages.anchor(row['place'])}", text)

    def test_a_row_with_a_mistake_is_refused(self):
        good = (ROOT / "scripts" / "papers_rows.toml").read_text()
        for old, new, why in (('better = "more"', 'better = "most"', "better is"),
                              ('plot = "bars"', 'plot = "curve"', "a curve has"),
                              ('name = "knot"', 'name = "calls"', "is taken"),
                              ('metric = ', 'metrik = ', "lacks")):
            class Text:
                name = "rows.toml"

                @staticmethod
                def read_text(changed=good.replace(old, new, 1)):
                    return changed
            with self.assertRaisesRegex(papers_pages.Wrong, why):
                papers_pages.load_rows(Text)


def figure(case, subject, value, spread=None, metric="m", suite="s"):
    return {"suite": suite, "case": case, "subject": subject, "metric": metric, "value": value,
            "unit": "x", "n": 3, "spread": spread or [value, value]}


ROW = {"paper": "krohn", "place": "Figure 1", "name": "one", "title": "A <title>",
       "said": [["it", 5]],
       "case": "s/c_*", "metric": "m", "unit": "things", "better": "less", "ours": ["heddle"],
       "wanted": ["go", "pth"], "plot": "curve", "text": "Words."}


class Pages(unittest.TestCase):
    def setUp(self):
        self.figures = [figure("c_10", "heddle", 3.0, [2.0, 4.0]), figure("c_2", "heddle", 1.0),
                        figure("c_2", "go", 2.0), figure("c_10", "go", 2.0),
                        figure("c_10", "heddle/go", 1.5)]

    def test_a_row_says_what_was_said_what_is_today_and_where_we_are_behind(self):
        lines, _ = papers_pages.section(ROW, self.figures, [("s", "pth, c_2", "no compiler")])
        text = "\n".join(lines)
        self.assertIn("The paper: it 5 (things).", text)
        self.assertIn("| c_10 | `heddle` | 3 | 2 to 4 | 1.50 of `go` |", text)
        self.assertIn("behind: 1.50 (`go`, c_10)", text)
        self.assertNotIn("(`go`, c_2)", text)
        self.assertIn("`pth` is missing: no compiler.", text)
        self.assertNotIn("`go` is missing", text)
        self.assertLess(text.index("| c_2 |"), text.index("| c_10 |"))

    def test_more_is_better_turns_the_judgement_round(self):
        row = {**ROW, "better": "more"}
        self.assertEqual(papers_pages.behind(row, self.figures[:4]), [("c_2", "go", 2.0)])

    def test_a_row_without_figures_says_so(self):
        lines, drawn = papers_pages.section(ROW, [], [])
        self.assertIn("Not measured in this run.", lines)
        self.assertIsNone(drawn)

    def test_spreads_that_do_not_touch_are_told_and_others_are_not(self):
        new = [figure("c_10", "heddle", 4.5, [4.0, 5.0]), figure("c_2", "heddle", 1.1)]
        self.assertEqual([k for k, _, _ in papers_pages.apart(self.figures, new)],
                         ["s/c_2/heddle/m"])

    def test_pictures_are_XML_with_each_subject_and_title(self):
        drawn = papers_pages.picture(ROW, self.figures[:4])
        bars = papers_pages.picture({**ROW, "plot": "bars"}, self.figures[:4])
        for svg in (drawn, bars, *(p.read_text() for p in PAGES.glob("*.svg"))):
            xml.dom.minidom.parseString(svg)
        self.assertIn("A &lt;title&gt;", drawn)
        self.assertEqual(drawn.count("<circle"), 4)
        self.assertEqual(bars.count("<rect"), 5)
        with self.assertRaisesRegex(ValueError, "nothing to draw"):
            bench_curves.curves("t", "x", "y", {})
        with self.assertRaisesRegex(ValueError, "nothing to draw"):
            bench_svg.bars("t", "y", [])

    def test_marks_of_an_axis_are_round_and_reach_beyond_the_most(self):
        for most in (0.03, 1, 7.2, 99, 1234, 4.1e9):
            marks = bench_curves.steps(most)
            self.assertGreaterEqual(marks[-1], most)
            self.assertIn(len(marks), range(3, 10))

    def test_numbers_have_a_letter_for_thousands(self):
        self.assertEqual([bench_svg.number(v) for v in (28457, 3.9e9, 0.5, 1e6)],
                         ["28.5k", "3.9G", "0.5", "1M"])


def measured(**changed):
    values = {("workers_1", "cpu_us"): 10.0, ("workers_2", "cpu_us"): 11.0,
              ("hop", "cpu_ns"): 100.0, ("idle_10000", "base_bytes"): 1000.0,
              ("idle_10000", "conn_bytes"): 300.0, ("idle_10000", "kernel_conn_bytes"): 2000.0,
              ("idle_100000", "conn_bytes"): 303.0, ("tasks_100000", "bytes"): 50.0,
              ("tasks_1000000", "bytes"): 60.0, **changed.get("more", {})}
    return [figure(case, "heddle_epoll", v, metric=metric, suite="capacity")
            for (case, metric), v in values.items() if case not in changed.get("without", ())]


class Model(unittest.TestCase):
    def test_rates_grow_with_cores_and_fall_with_hops(self):
        c = papers_model.constants(measured())
        self.assertAlmostEqual(papers_model.rate(c, 1), 1e5)
        self.assertAlmostEqual(papers_model.rate(c, 2), 2e5 / 1.1)
        self.assertAlmostEqual(papers_model.rate(c, 16), 16e5 / 2.5)
        self.assertAlmostEqual(papers_model.rate(c, 1, 10), 1e5 / 1.1)
        self.assertAlmostEqual(papers_model.memory(c, 1000), 1000 + 2300e3)

    def test_the_rounds_give_a_range_for_many_cores(self):
        rows = measured()
        for row, spread in zip(rows, ([9.0, 11.0], [10.0, 12.1])):
            row["spread"] = spread
        c = papers_model.constants(rows)
        least, most = papers_model.speedup_range(c, 16)
        self.assertAlmostEqual(most, 16)
        self.assertAlmostEqual(least, 16 / (1 + 15 * (12.1 / 9 - 1)))
        self.assertIn(f"{least:.2f} to 16.00", papers_model.page(rows, "Head."))

    def test_a_second_worker_that_costs_nothing_is_no_gain(self):
        c = papers_model.constants(measured(more={("workers_2", "cpu_us"): 9.0}))
        self.assertEqual(c.share, 0)

    def test_what_was_not_measured_is_named(self):
        with self.assertRaisesRegex(LookupError, "capacity/hop/cpu_ns"):
            papers_model.constants(measured(without=("hop",)))

    def test_checks_hold_within_their_tolerance_only(self):
        held = {what: holds for what, *_, holds in papers_model.checks(measured())}
        self.assertTrue(held["bytes a connection, ours, idle_100000 from idle_10000"])
        self.assertFalse(held["bytes a task at 1,000,000, from 100,000"])
        page = papers_model.page(measured(), "Head.")
        self.assertIn("**does not hold**", page)
        self.assertIn("| 16 | 640,000 | 6.40 |", page)

    def test_hops_must_be_counted_as_the_model_has_them(self):
        what = "hops a request of 16 simulated workers, `hops_{}_color`"
        for own, shared, holds in ((0.0, 2.0, True), (0.01, 2.02, False)):
            rows = measured(more={("hops_own_color", "hops"): own,
                                  ("hops_shared_color", "hops"): shared})
            held = {what: holds for what, *_, holds in papers_model.checks(rows)}
            self.assertEqual([held[what.format(kind)] for kind in ("own", "shared")], [holds] * 2)
            self.assertIn("| exactly |", papers_model.page(rows, "Head."))

    def test_sealed_on_more_cores_is_computed_from_one_and_two(self):
        rows = [figure("chacha20_poly1305_narrow", s, v, metric="bytes_per_server_cpu_s",
                       suite="sealed") for s, v in (("one_worker", 110.0), ("two_workers", 100.0))]
        self.assertIn("| 4 | 3.08 | 2.55 |", papers_model.sealed_lines(rows))
        self.assertEqual(papers_model.sealed_lines(rows[:1]), [])

    def test_limits_are_those_of_the_sources(self):
        by_name = {limit.name: limit for limit in papers_model.LIMITS}
        epochs = by_name["descriptors, with several workers"]
        bits = re.search(r"numbers = std::size_t\{1\}\s*<< (\d+)",
                         (ROOT / epochs.where).read_text())
        self.assertEqual(epochs.value, 1 << int(bits[1]))
        colors = by_name["places of colors"]
        self.assertIn(f"color_places = {colors.value};", (ROOT / colors.where).read_text())
        self.assertIsNone(papers_model.first_limit(64_512))
        self.assertEqual(papers_model.first_limit(64_513).value, 64_512)
        self.assertEqual(papers_model.processes(10**8), 24)


class Suites(unittest.TestCase):
    def test_a_line_of_paper_calls_becomes_metrics(self):
        self.assertEqual(bench_calls.values_of('{"case":"call","min":4,"median":5,"mean":6.5}'),
                         [("cycles_min", 4, "cycles"), ("cycles_median", 5, "cycles"),
                          ("cycles", 6.5, "cycles")])

    def test_the_status_of_a_process_becomes_metrics(self):
        text = "Name:\tx\nVmSize:\t  20 kB\nVmRSS:\t   3 kB\nThreads:\t7\n"
        self.assertEqual([v for _, v, _ in bench_knot.process_values(text)], [7, 3072, 20480])
        with self.assertRaises(machine.Failed):
            bench_knot.process_values("Name:\tx\nState:\tZ\n")
        self.assertEqual(bench_knot.rates([("cpu_us", 20.0, "us"), ("p50", 1, "us")]),
                         [("requests_per_core_s", 50000.0, "1/s")])

    def test_calls_of_NFS_become_rates_and_none_is_no_figure(self):
        found = bench_nfs.values('{"operations": 300, "seconds": 2.0, "server_s": 1.5}')
        self.assertEqual([v for _, v, _ in found], [200.0, 5000.0, 150.0, 0.75])
        with self.assertRaisesRegex(machine.Failed, "nothing was measured"):
            bench_nfs.values('{"operations": 0, "seconds": 2.0, "server_s": 1.5}')

    def test_a_client_of_a_rolling_restart_finds_each_wrong_answer(self):
        for status, data, wrong in ((200, b"good", 0), (200, b"goo", 1), (503, b"good", 1)):
            over = threading.Event()
            reader = bench_rolling.Reader(0, 1, over, {"/a": b"good"})
            reader.ask = lambda *_, s=status, d=data: (over.set(), (s, d))[1]
            reader.run()
            self.assertEqual((reader.asked, reader.answered, len(reader.wrong)), (1, 1, wrong))

    def test_a_suite_checks_a_server_once_and_ends_it(self):
        stopped, checked = [], []
        server = unittest.mock.Mock(name="one", port=1)
        server.pids.return_value = []
        server.enter.side_effect = lambda command: ["echo", *command]
        server.stop.side_effect = lambda: stopped.append(server)
        suite = bench_servers.Suite(None, "test")
        suite.client, suite.warmup = "client", 0
        suite.started.append(server)
        for _ in range(2):
            said = suite.load("a", server, ["--seconds", 1], lambda: checked.append(1), str.strip)
        self.assertEqual(said, "client --port 1 --warmup 0 --seconds 1")
        suite.plan.close()
        self.assertEqual((checked, stopped), ([1], [server]))

    def test_slabs_are_added_up_and_none_is_no_figure(self):
        text = ("# name\nTCP {} 90 2000 1 1\nsock_inode_cache {} 9 800 1 1\nfilp {} 9 200 1 1\n"
                "dentry {} 9 100 1 1\neventpoll_epi {} 9 128 1 1\n")
        before, after = (bench_capacity.slabs_of(text.format(*n))
                         for n in ((10, 10, 50, 50, 5), (30, 30, 999, 7, 15)))
        self.assertEqual(bench_capacity.kernel_bytes(before, after, 10),
                         2000 + 800 + 200 + 100 + 128)
        with self.assertRaises(machine.Failed):
            bench_capacity.slabs_of("other 5 5 5 5 5\n")

    def test_waits_of_a_plan_are_counted_and_none_is_no_figure(self):
        self.assertEqual(bench_lines.waits("f: thread\n  wait 1, read_3: 8 B\n  wait 2, x\n"), 2)
        with self.assertRaises(machine.Failed):
            bench_lines.waits("f: thread\n")

    def test_files_whose_lines_are_counted_exist(self):
        for _, _, paths in bench_lines.FILES:
            self.assertGreater(bench_lines.lines_of(ROOT, paths), 5)


if __name__ == "__main__":
    unittest.main()
