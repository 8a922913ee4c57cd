# SPDX-License-Identifier: MIT
"""Random settings for `heddle serve` and `heddle proxy`. Names and kinds of values are those of the
program's help, so that a new setting is drawn as soon as the program has it. What the help cannot
say is here: how a kind of value is written, which settings need each other, what a mistake is."""

import dataclasses
import functools
import re

from program import run

# Settings that are not drawn, each with the reason.
LEFT_OUT = {
    "net": "it needs a TUN device",
    "config": "it names the file of the test",
    "check": "the test adds it",
    "qr": "a program without libqrencode refuses it",
    "direct": "file systems in memory refuse O_DIRECT",
    "acme": "a start would ask an authority", "acme-name": "see acme", "acme-agree": "see acme",
    "acme-directory": "see acme", "acme-ca": "see acme", "acme-store": "see acme",
    "acme-account": "see acme",
    "port": "the test gives one that is free", "listen of proxy": "see port",
    "upstream": "the test gives one",
}
# What another setting must stand beside, and what it must not.
NEEDS = {"redirect-http": "tls", "tls-own-records": "tls", "page-fetch": "pages",
         "proxy-protocol": "trusted-proxy"}
EXCLUDES = {"bind": ("public",), "proxy-protocol": ("redirect-http",)}
# Of each setting above a part of the error, if the setting that it needs is missing or the one that
# it excludes is there.
CONTRADICTIONS = {"redirect-http": "redirect-http", "tls-own-records": "tls-own-records",
                  "page-fetch": "--page-fetch", "proxy-protocol": "--proxy-protocol"}
HUGE = "9223372036854775807"


@dataclasses.dataclass(frozen=True)
class Setting:
    name: str
    value: str  # the kind of the value, as in the help; empty: a switch
    help: str


@functools.cache
def table_of(verb):
    """The settings of a verb, in the order of the help."""
    found = {}
    for page in ("--help", "--help-site", "--help-limits"):
        for line in run(verb, page)[1].splitlines():
            row = re.match(r"  (?:-\w, )?--([\w-]+)(?: (\".*?\"|[A-Z][A-Z:]*(?: [A-Z]+)*(?= )"
                           r"|\[ADDRESS\]:PORT))? +(.*)", line)
            if row:
                found[row[1]] = Setting(row[1], (row[2] or "").strip('"'), row[3])
    return found


def drawn_names(verb):
    return [s.name for s in table_of(verb).values()
            if s.name not in LEFT_OUT and f"{s.name} of {verb}" not in LEFT_OUT]


@functools.cache
def range_of(verb, name):
    """(least, most) that the program names for a huge number; most is None without a limit."""
    at = ("-p", "0") if verb == "serve" else ("127.0.0.1:0", "127.0.0.1:1")
    said = run(verb, "--check", *at, f"--{name}", HUGE)[2]
    found = re.search(r"from (\d+) to (\d+)|may be (\d+) to (\d+)", said)
    if not found:
        return 1, None
    least, most = (int(n) for n in found.groups() if n)
    return least, most


def choices_of(s):
    """The words that a setting takes: plain, json, common, combined, off (default plain)."""
    text = re.sub(r"\s*\(.*?\)", "", s.help).split(": ")[-1]
    return re.split(r", | or ", text)


class Draw:
    """Values of one run, from one source of random numbers. `world` has the folders and files."""

    def __init__(self, random, verb, world):
        self.random, self.verb, self.world, self.count = random, verb, world, 0

    def number(self):
        self.count += 1
        return self.count

    def whole(self, s):
        least, most = range_of(self.verb, s.name)
        if most is None or most > 10**6:  # small, because some are allocated at once
            most = max(least * 16, 10**6)
        return str(self.random.choice([least, most, self.random.randint(least, most)]))

    def size(self, s):
        least, most = range_of(self.verb, s.name)
        if s.name == "address-space":
            return self.random.choice(["1G", "2048M", "64G", str(2**31 + 4096)])
        at = [f"{n}{u}" for n in (1, 4, 64, 512) for u, by in
              (("K", 2**10), ("M", 2**20), ("m", 2**20), ("k", 2**10), ("", 1))
              if least <= n * by <= (most or 2**62)]
        return self.random.choice([*at, str(max(least, 1))])

    def value(self, s):
        """A value of this kind; the program may not refuse it."""
        r, n = self.random, self.number()
        by_name = {
            "driver": lambda: r.choice(choices_of(s)),
            "via": lambda: r.choice(["off", f"proxy{n}", "a-b.c"]),
            "workers": lambda: r.choice(["1", "2", "3", "auto"]),
            "redirect-http": lambda: "0",
            "log-file": lambda: str(self.world.root / f"log{n}"),
            "bind": lambda: r.choice(["127.0.0.1", "127.0.0.2"]),
            "trusted-proxy": lambda: f"10.{n % 250}.0.0/16",
            "upload": lambda: r.choice(["/inbox/*", "/inbox/a*"]),
            "health": lambda: f"/health{n}",
            "queue-delay": lambda: r.choice(["0", "10s"]),
        }
        by_kind = {
            "": lambda: r.choice(["", "on", "true", "yes", "1"]),
            "COUNT": lambda: self.whole(s),
            "VERSION": lambda: self.whole(s),
            "SIZE": lambda: self.size(s),
            "TIME": lambda: f"{r.randint(1, 90)}{r.choice(['s', 'm', 'h', '', 'd'])}",
            "FORM": lambda: r.choice(choices_of(s)),
            "HOW": lambda: r.choice(choices_of(s)),
            "WHICH": lambda: r.choice(choices_of(s)),
            "FIELD": lambda: r.choice(choices_of(s)),
            "USER:PASSWORD": lambda: f"user{n}:pass:word {n}",
            "CERT KEY": lambda: r.choice(self.world.pairs),
            "SOCKET": lambda: str(self.world.root / f"handover{n}"),
            "PLACE": lambda: r.choice([f"unix:{self.world.root}/s{n}",
                                       f"127.{r.randint(2, 250)}.{r.randint(1, 250)}.7:"
                                       f"{r.randint(20000, 30000)}"]),
            "NETWORK": lambda: r.choice([f"192.0.2.{n % 250}", f"10.{n % 250}.0.0/16",
                                         f"2001:db8:{n}::/48"]),
            "ORIGIN": lambda: f"http://127.0.0.1:{7000 + n}",
            "NAME: VALUE": lambda: f"X-Drawn-{n}: {r.choice(['a', 'a = b', '#1', 'x: y'])} {n}",
            "PATH NAME: VALUE": lambda: f"{r.choice(['/*', '*.html', '/'])} X-Path-{n}: of {n}",
            "COUNT/s PATH": lambda: f"{r.randint(1000, 10**6)}/{r.choice('smh')}"
                                    f"{r.choice(['', f' /r{n}', f'  /r{n}/*'])}",
            "FROM TO": lambda: f"/moved{n} /there{n}{r.choice(['', ' 301', ' 308'])}",
            "NAME DIR": lambda: f"site{n}.example {self.world.other_site}",
        }
        draw = by_name.get(s.name) or by_kind.get(s.value)
        if draw is None:
            raise AssertionError(f"tests/cli/settings_draw.py cannot draw --{s.name} {s.value}: "
                                 "add its kind of value there")
        return draw()

    def wrong(self, s):
        """A value of this kind that the program must refuse; None if every text is a value."""
        r = self.random
        numbers = ["", "x", "-1", "1.5", "0x10", "1 2", "18446744073709551616"]
        by_name = {
            "workers": [*numbers, "0", "65", "all"], "log-file": None, "driver": ["", "kqueue"],
            "via": ["", "a b", "a,b"], "health": ["", "health", "/a b"],
            "connections": [*numbers, "0"], "write-timeout": ["0", "0s", "10 s", "x", ""],
        }
        by_kind = {
            "": ["maybe", "2", "onn", "ON", "off on"],
            "COUNT": numbers, "VERSION": [*numbers, "0", "3"], "PORT": [*numbers, "65536"],
            "SIZE": ["", "x", "-1", "1T", "K", "1KK", "1 K", "9999999999999999999G"],
            "TIME": ["", "x", "-1s", "1w", "s", "1 s", "1.5s", "3651d", "99999999999999999999"],
            "FORM": ["", "Plain", "xml"], "HOW": ["", "any"], "WHICH": ["", "none"],
            "FIELD": ["", "x-real-ip"], "USER:PASSWORD": ["", "user", ":password"],
            "CERT KEY": ["one.pem"], "PLACE": ["", "80", "unix:", "127.0.0.1", "127.0.0.1:0"],
            "ADDRESS": ["", "x", "127.0.0.1:80", "300.0.0.1"],
            "NETWORK": ["", "x", "10.0.0.0/33", "10.0.0.0/", "300.1.1.1"],
            "ORIGIN": ["", "x", "ftp://127.0.0.1", "http://", "http://a/b"],
            "NAME: VALUE": ["", "x", ": y", "a b: c"],
            "PATH NAME: VALUE": ["", "/x", "x X-A: b", "/x : y"],
            "COUNT/s PATH": ["", "5", "5/d", "0/s", "x/s", "1/s x", "1/s /a /b"],
            "FROM TO": ["", "/a", "/a b", "/a /b 200", "/a /b/*", "a /b", "/a /b 301 x"],
            "NAME DIR": ["", "a.example", "a/b /srv", "a.example /srv /b"],
            "SOCKET": None, "PATH": ["", "x", "a*b", "/a*b"],
        }
        wrong = by_name[s.name] if s.name in by_name else by_kind.get(s.value, ["missing kind"])
        if wrong == ["missing kind"]:
            raise AssertionError(f"tests/cli/settings_draw.py knows no mistake for --{s.name} "
                                 f"{s.value}: add its kind of value there")
        if wrong is None:
            return None
        if s.value in ("COUNT", "SIZE"):
            least, most = range_of(self.verb, s.name)
            more = [str(most + 1)] if most is not None else []
            if least > 0 and most is not None:
                more.append(str(least - 1))
            if more and r.random() < 0.5:
                return r.choice(more)
        return r.choice(wrong)


REPEATED = ("PLACE", "NETWORK", "ORIGIN", "NAME: VALUE", "PATH NAME: VALUE", "COUNT/s PATH",
            "FROM TO", "NAME DIR", "PATH", "CERT KEY", "URL")
REPEATED_NOT = ("health", "acme-directory", "net")


def is_repeated(s):
    return s.value in REPEATED and s.name not in REPEATED_NOT


@dataclasses.dataclass
class Case:
    """The settings of one run of the program: lines of its file, variables, flags.

    values  by name, what each setting is after all lines, variables and flags were read
    kind    the mistake in the settings, "good" for none
    says    a text that the error message contains; empty if `kind` is "good"
    """
    verb: str
    lines: list = dataclasses.field(default_factory=list)
    variables: dict = dataclasses.field(default_factory=dict)
    flags: list = dataclasses.field(default_factory=list)
    values: dict = dataclasses.field(default_factory=dict)
    kind: str = "good"
    says: str = ""

    def variable(self, name):
        return f"HEDDLE_{self.verb.upper()}_{name.upper().replace('-', '_')}"

    def write(self, path):
        path.write_text("\n".join(self.lines) + ("\n" if len(self.lines) % 2 else ""))


def line_of(r, name, value, is_switch):
    if is_switch and value == "":
        return r.choice([name, f"  {name}", f"{name}\t"])
    return r.choice([f"{name} = {value}", f"{name}={value}", f"  {name}  =\t{value}  ",
                     f"{name} = {value}\r"])


def add(case, r, s, value, source):
    """Writes a setting where `source` says, and gives the name of the place."""
    is_switch = s.value == ""
    if source == "file":
        case.lines.append(line_of(r, s.name, value, is_switch))
        return f":{len(case.lines)}: "
    if source == "variable":
        name = case.variable(s.name)
        before = case.variables.get(name)
        case.variables[name] = value if before is None else f"{before}\n{value}"
        return f"{name}: "
    if is_switch:
        case.flags.append(f"--{s.name}")
    elif s.value == "CERT KEY":
        case.flags += [f"--{s.name}", *value.split(" ")]
    else:
        case.flags += r.choice([[f"--{s.name}", value], [f"--{s.name}={value}"]])
    return f"--{s.name}: "


def typing_error(r, name, known):
    """The name with a letter too many, too few, or another one; no name of a setting."""
    while True:
        at = r.randrange(len(name))
        wrong = r.choice([name[:at] + name[at + 1:], name[:at] + "x" + name[at:],
                          name[:at] + "x" + name[at + 1:], name + "s", name.upper(),
                          name.replace("-", "_")])
        if wrong and wrong not in known:
            return wrong


def draw_names(r, verb):
    """Half of the settings of each run are off; a few of the others are drawn."""
    names = [n for n in drawn_names(verb) if r.random() < 0.5]
    names = r.sample(names, min(len(names), r.randint(1, 12)))
    for name in list(names):
        if NEEDS.get(name) in table_of(verb) and NEEDS[name] not in names:
            names.append(NEEDS[name])
    for name, others in EXCLUDES.items():
        if name in names:
            names = [n for n in names if n not in others]
    return names


def draw_case(r, verb, world):
    table, case, draw = table_of(verb), Case(verb), Draw(r, verb, world)
    for name in draw_names(r, verb):
        s = table[name]
        for _ in range(r.randint(1, 3) if is_repeated(s) and s.value != "CERT KEY" else 1):
            while r.random() < 0.2:
                case.lines.append(r.choice(["", "# a note", "   ", "#spa = maybe", "\t# x = y"]))
            value = draw.value(s)
            source = r.choice(["file"] * 4 + ["variable", "flag"])
            # A value of a higher source overrides the lower one.
            if source != "file" and not is_repeated(s) and r.random() < 0.4:
                add(case, r, s, draw.value(s), "file")
            add(case, r, s, value, source)
            case.values.setdefault(name, []).append(value)
    if r.random() < 0.25:
        add_mistake(case, r, draw)
    return case


def add_mistake(case, r, draw):
    table = table_of(case.verb)
    case.kind = r.choice(["value", "value", "value", "name", "variable", "flag", "twice",
                          "no value", "config", "alone"])
    free = [s for n, s in table.items() if n not in case.values and n in drawn_names(case.verb)]
    s = r.choice(free)
    where = ""
    if case.kind == "value":
        source = r.choice(["file", "file", "variable", "flag"])
        value = draw.wrong(s)
        # A variable without text sets nothing of a setting that is repeated, a switch has no value
        # as a flag, and the parser of flags counts the words of a pair.
        if value is None or (source == "variable" and value == "" and is_repeated(s)) or (
                source == "flag" and s.value in ("", "CERT KEY")):
            case.kind, source, value = "name", "", ""
        else:
            where = add(case, r, s, value, source)
            if source == "flag" and value == "" and case.flags[-1].endswith("="):
                where = f"--{s.name} needs a value"
    if case.kind == "name":
        wrong = typing_error(r, s.name, table)
        case.lines.append(f"{wrong} = 1")
        where = f":{len(case.lines)}: there is no setting '{wrong}'"
    elif case.kind == "variable":
        wrong = typing_error(r, case.variable(s.name).removeprefix("HEDDLE_"), [
            case.variable(n).removeprefix("HEDDLE_") for n in table])
        if not wrong.startswith(f"{case.verb.upper()}_"):
            wrong = f"{case.verb.upper()}_X"
        case.variables[f"HEDDLE_{wrong}"] = "1"
        where = f"there is no variable HEDDLE_{wrong}"
    elif case.kind == "flag":
        wrong = typing_error(r, s.name, [*table, "help", "help-site", "help-limits", "directory"])
        case.flags.append(f"--{wrong}")
        where = f"heddle {case.verb} has no option --{wrong}"
    elif case.kind == "twice":
        s = r.choice([s for s in free if not is_repeated(s)])
        at = [add(case, r, s, draw.value(s), "file")]
        while r.random() < 0.5:
            case.lines.append("")
        at.append(add(case, r, s, draw.value(s), "file"))
        where = f"{at[1]}{s.name} has a value already, in line {at[0].strip(': ')};"
    elif case.kind == "no value":
        s = r.choice([s for s in free if s.value])
        case.lines.append(r.choice([s.name, f" {s.name} "]))
        where = f":{len(case.lines)}: write {s.name} = "
    elif case.kind == "config":
        case.lines.append("config = other.conf")
        where = f":{len(case.lines)}: there is no setting 'config'"
    elif case.kind == "alone":
        alone = [n for n in CONTRADICTIONS if n in table and n not in case.values and
                 NEEDS[n] not in case.values]
        if not alone:
            case.lines.append("= 1")
            where = f":{len(case.lines)}: there is no setting ''"
        else:
            name = r.choice(alone)
            add(case, r, table[name], draw.value(table[name]), r.choice(["file", "flag"]))
            where = CONTRADICTIONS[name]
    case.says = where
    # The mistake may be anywhere, and lines before it do not move.
    while r.random() < 0.3:
        case.lines.append("# the end")
