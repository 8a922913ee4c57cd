# SPDX-License-Identifier: MIT
"""Public functions that give an awaitable, read from the headers by Clang.

functions() gives each of them with a parameter that may be a temporary with members that have
destructors: a callable, an aggregate, a list, or a value whose type the caller chooses."""

import functools
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLANG = "clang++-19"
SCOPES = ("NamespaceDecl", "CXXRecordDecl", "ClassTemplateSpecializationDecl",
          "ClassTemplatePartialSpecializationDecl")
FUNCTIONS = ("FunctionDecl", "CXXMethodDecl")
# What is made inside a co_await expression, for a function that gives an awaitable.
ARGUMENTS = {"branch", "outgoing", "page_part", "blocking_call", "atomic_call", "push_awaiter"}
# Functions that give no awaitable, though their results have types that are deduced.
OTHERS = {"runtime::run", "await", "make_reusable", "make_reusable_at", "http::mkevent_in",
          "mkevent_in", "bus::raise", "bind", "map"}
# Rooms whose public headers are for generated code and for tools, not for a program's text.
NOT_WRITTEN = ("draft", "draft.hh", "optimizer")


def headers():
    include = ROOT / "include"
    return sorted(str(p.relative_to(include)) for p in (include / "heddle").rglob("*.hh")
                  if p.relative_to(include).parts[1] not in NOT_WRITTEN)


def tree_lines():
    text = "".join(f"#include <{name}>\n" for name in headers())
    done = subprocess.run(
        [CLANG, "-std=c++23", f"-I{ROOT / 'include'}", "-fsyntax-only", "-Xclang", "-ast-dump",
         "-Xclang", "-ast-dump-filter=heddle", "-x", "c++", "-"],
        input=text, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(done.stderr)
    for line in done.stdout.splitlines():
        found = re.match(r"([ |`-]*)([A-Za-z]\w*)(.*)", line)
        if found:
            yield len(found[1]), found[2], found[3]


class Node:
    def __init__(self, depth, kind, rest):
        self.depth, self.kind, self.rest = depth, kind, rest
        self.name, self.access, self.types, self.parameters = "", "public", [], []
        self.aggregate = self.ends = self.awaitable = self.template_seen = False

    def read_name(self):
        if self.kind == "NamespaceDecl":
            words = [w for w in self.rest.split() if w not in ("nested", "inline")]
            self.name = words[-1] if words and words[-1].isidentifier() else ""
        elif self.kind in SCOPES:
            found = re.search(r"\b(class|struct|union) (\w+)", self.rest)
            self.name = found[2] if found else ""
            self.access = "private" if found and found[1] == "class" else "public"
        elif self.kind in FUNCTIONS:
            found = re.search(r" (\w+|operator[^']*?) '([^']*)'", self.rest)
            self.name, self.type = (found[1], found[2]) if found else ("", "")


@functools.cache
def scanned():
    """(functions, aggregates that have a destructor, classes that can be awaited)."""
    stack, functions, aggregates, awaitables = [], [], set(), set()
    for depth, kind, rest in tree_lines():
        while stack and stack[-1].depth >= depth:
            stack.pop()
        if kind == "Dumping":
            stack = []
            continue
        above = stack[-1] if stack else None
        node = Node(depth, kind, rest)
        node.read_name()
        if kind == "AccessSpecDecl" and above:
            above.access = re.search(r"public|private|protected", rest)[0]
        elif kind == "TemplateTypeParmDecl" and above:
            found = re.search(r"depth \d+ index \d+ (?:\.\.\. )?(\w+)", rest)
            if found:
                above.types.append(found[1])
        elif kind == "ParmVarDecl" and above:
            found = re.search(r"'([^']*)'(?::'([^']*)')?", rest)
            above.parameters.append((found[1], found[2] or found[1]))
        elif kind == "DefinitionData" and above:
            above.aggregate = bool(re.search(r"\baggregate\b", rest))
        elif kind == "Destructor" and len(stack) > 1 and above.kind == "DefinitionData":
            record = stack[-2]
            if record.aggregate and re.search(r"\bnon_trivial\b", rest):
                aggregates.add(record.name)
        elif kind in FUNCTIONS:
            record = next((n for n in reversed(stack) if n.kind in SCOPES[1:]), None)
            if node.name in ("await_ready", "operator co_await") and record:
                awaitables.add(record.name)
            inside = any(n.kind in FUNCTIONS for n in stack)
            special = any(n.kind.startswith("ClassTemplate") and n.kind != "ClassTemplateDecl"
                          for n in stack)
            hidden = any(n.kind in SCOPES[1:] and n.access != "public" for n in stack)
            instance = bool(above and above.kind == "FunctionTemplateDecl" and above.template_seen)
            if above and above.kind == "FunctionTemplateDecl":
                above.template_seen = True
            scope = [n.name for n in stack if n.kind in SCOPES]
            if not (inside or special or hidden or instance or " implicit " in rest or
                    rest.endswith(" delete") or "detail" in scope or "heddle" not in scope[:1] or
                    any(name.endswith("_awaiter") for name in scope)):
                node.types = [t for n in stack if n.kind in ("FunctionTemplateDecl",
                                                             "ClassTemplateDecl") for t in n.types]
                node.scope = [name for name in scope[1:] if name]
                functions.append(node)
        stack.append(node)
    return functions, aggregates, awaitables


def kind_of(parameter, types, aggregates):
    """Why an argument for this parameter may be a temporary that GCC 12 gets wrong; or None."""
    written, meant = parameter
    plain = re.sub(r"\bconst\b|[&\s]|\.\.\.", "", written)
    if "function<" in meant:
        return "callable"
    if re.search(r"initializer_list|vector<|span<const (std::)?(basic_)?string|text_list", meant):
        return "list"
    if re.sub(r"\bconst\b|[&\s]", "", meant).split("::")[-1] in aggregates:
        return None if re.fullmatch(r"[\w:]+ &", meant) else "aggregate"
    if plain in types:
        return None if re.fullmatch(r"\w+ &", written) else "any"
    return None


def functions():
    """{name: set of kinds}."""
    found = {}
    all_of_them, aggregates, awaitables = scanned()
    for f in all_of_them:
        gives = f.type.split("(")[0].strip()
        last = f.type.rsplit("->", 1)[-1] if "->" in f.type else gives
        named = set(re.findall(r"\w+", last))
        if not ("task" in named or named & (awaitables | ARGUMENTS) or
                last.startswith(("auto", "decltype"))):
            continue
        name = "::".join(f.scope + [f.name])
        if name in OTHERS or f.name.startswith("operator"):
            continue
        kinds = {kind_of(p, f.types, aggregates) for p in f.parameters} - {None}
        if kinds:
            found.setdefault(name, set()).update(kinds)
    return found


def braced_defaults():
    """Parameters with the default argument {} whose type is an aggregate with a destructor."""
    _, aggregates, _ = scanned()
    found = []
    for name in headers():
        text = (ROOT / "include" / name).read_text("utf-8")
        for type_name, parameter in re.findall(r"([\w:]+)&? (\w+) = \{\}[,)]", text):
            if type_name.split("::")[-1] in aggregates:
                found.append(f"{name}: {type_name} {parameter}")
    return found
