# SPDX-License-Identifier: MIT
"""Suite lines: how long the papers' programs are here, and how many states they have.

A line counts where it holds code (bench_draft_compiler.code_lines). States of a program are the
places where it waits: of compiled Draft, the waits that `heddle draft --emit plan` lists; of C by
hand, the labels of its switch.
"""

import pathlib
import re

import bench_draft_compiler as compiler
import bench_machine as machine
from bench_machine import Failed
from bench_plan import build_folder, Measure, Plan

ROUNDS = (1, 1)
# (case, subject, files)
FILES = (
    ("echo", "heddle_draft", ("examples/draft/paper_echo.draft",)),
    ("echo", "hand", ("bench/draft/echo_hand.c",)),
    ("echo", "heddle_task", ("examples/echo.cc",)),
    ("http", "heddle_draft", ("examples/draft/paper_http.draft",)),
    ("http", "c_beside", ("examples/draft/paper_request.c",)),
    ("web_server", "heddle_example", ("examples/httpd.cc",)),
    ("web_server", "heddle_tame_knot", ("examples/tame_knot.tcc",)),
    ("page", "heddle", ("examples/front_page.cc",)),
)
# CREATE, WRITE and READDIRPLUS of apps/nfs straight down: these functions of its sources, and its
# header without the answers of the other procedures. By callbacks they have files of their own.
NFS = pathlib.PurePath("apps/nfs")
NFS_THREE = ("CREATE", "WRITE", "READDIRPLUS")
NFS_FUNCTIONS = (
    ("answers.cc", (*(rf"procedures::answer\(v3::{p}," for p in NFS_THREE), r"take_made\(",
                    r"new_entry_status\(")),
    ("procedures.cc", (r"turn_into_failure\(", r"procedures::attributes_after\(",
                       r"procedures::run_inside\(", r"procedures::run\(", r"procedures::serve\(",
                       r"procedures::serve_once\(")),
)
FOLDERS = (("scheduler", "heddle", "src/sched"),)


def lines_of(root, paths):
    return sum(compiler.code_lines((root / p).read_text()) for p in paths)


def function_text(text, name):
    """The text of the function whose first lines match `name`, as clang-format lays it out."""
    found = re.search(rf"^(?:template <[^\n]*>\n)?(?=\S)[^\n]*{name}.*?^}}\n", text, re.M | re.S)
    if not found:
        raise Failed(f"no function {name}")
    return found[0]


def nfs_straight_lines(root):
    """Lines of (sources, headers) of the three procedures, written straight down."""
    texts = [function_text((root / NFS / file).read_text(), name)
             for file, names in NFS_FUNCTIONS for name in names]
    header = (root / NFS / "procedures.hh").read_text()
    others = re.compile(rf"^  task<nfsstat3> answer\(v3::(?!(?:{'|'.join(NFS_THREE)}),).*?;\n",
                        re.M | re.S)
    return sum(map(compiler.code_lines, texts)), compiler.code_lines(others.sub("", header))


def nfs_callback_lines(root):
    """The same, by callbacks."""
    folder = root / NFS / "callbacks"
    return tuple(compiler.code_lines((folder / f"callback_procedures{end}").read_text())
                 for end in (".cc", ".hh"))


def waits(plan_text):
    """How many waits a plan lists."""
    found = len(re.findall(r"^ +wait \d+", plan_text, re.M))
    if not found:
        raise Failed("--emit plan lists no wait")
    return found


def plan(context):
    root = context.root
    out = Plan(("echo", "http", "web_server", "scheduler", "page", "nfs"))

    def add(case, subject, metric, count):
        out.add(Measure(case, subject, 0.1, lambda: [(metric, count(), "1")], rounds_max=1))

    for case, subject, paths in FILES:
        add(case, subject, "lines", lambda p=paths: lines_of(root, p))
    for case, subject, folder in FOLDERS:
        paths = [p.relative_to(root) for p in sorted((root / folder).iterdir())
                 if p.suffix in (".cc", ".hh")]
        add(case, subject, "lines", lambda p=paths: lines_of(root, p))
    for subject, counted in (("heddle_straight", nfs_straight_lines),
                             ("heddle_callbacks", nfs_callback_lines)):
        add("nfs", subject, "source_lines", lambda c=counted: c(root)[0])
        add("nfs", subject, "header_lines", lambda c=counted: c(root)[1])
    heddle = build_folder(root) / "bin" / "heddle"
    if not heddle.exists():
        out.skip("heddle_draft, states and generated lines", "bin/heddle is not built")
        return out
    for case in ("echo", "http"):
        source = root / "examples" / "draft" / f"paper_{case}.draft"
        add(case, "heddle_draft", "states", lambda s=source: waits(
            machine.run([heddle, "draft", s, "--emit", "plan"])))
        add(case, "heddle_draft", "c_lines", lambda s=source: compiler.code_lines(
            machine.run([heddle, "draft", s, "--no-line"])))
    add("echo", "hand", "states", lambda: len(re.findall(
        r"^\s*case \w+:", (root / "bench/draft/echo_hand.c").read_text(), re.M)))
    return out
