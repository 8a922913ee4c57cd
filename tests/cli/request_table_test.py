# SPDX-License-Identifier: MIT
"""request_table.txt: what `heddle serve` answers, seen through clients that are not ours: Python,
curl, httpx and Go over HTTP/1.1; curl, httpx, Go and nghttp over HTTP/2 with TLS.

Python always runs. Another client that is not there is skipped, with the reason. httpx comes from
PyPI, into a folder beside the built program that later runs use again. The table is read and the
clients are driven by tests/web/agreement/agree, which does the same for the library's own server.

    HEDDLE=build/release/bin/heddle python3 tests/cli/request_table_test.py

With REQUEST_TABLE_CLIENT=NAME only this client asks. REQUEST_TABLE_RECORD=1 writes the hashes of
bodies (=sha) into the table as Python sees them, for a page whose look was changed on purpose.
"""

import functools
import gzip
import hashlib
import http.client
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import re
import shlex
import shutil
import ssl
import subprocess
import sys
import tarfile
import unittest
import zipfile
import zlib
from concurrent.futures import ThreadPoolExecutor

import program

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE / "request_table.txt"
BESIDE = pathlib.Path(program.HEDDLE).resolve().parent.parent / "request_table"
MODIFIED = 1_700_000_000  # Tue, 14 Nov 2023 22:13:20 GMT
CLIENT_LIMIT_S = 100
ONLY = os.environ.get("REQUEST_TABLE_CLIENT")
RECORD = "REQUEST_TABLE_RECORD" in os.environ


def load_agree():
    path = HERE.parent / "web/agreement/agree"
    loader = importlib.machinery.SourceFileLoader("agree", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("agree", loader))
    loader.exec_module(module)
    return module


agree = load_agree()


def letters(size):
    return (b"abcdefghijklmnopqrstuvwxyz" * (size // 26 + 1))[:size]


TEXT = b"".join(b"<p>paragraph %d of a text that packs well\n" % i for i in range(200))
SCRIPT = b"// a script\n" + b"let x = 1;\n" * 50
FILES = {
    "index.html": b"<!doctype html><title>index</title>\n", "404.html": b"<!doctype html>lost?\n",
    "about.html": b"<p>about\n", "both.html": b"<p>page\n", "both/index.html": b"<p>folder\n",
    "sub/index.html": b"<p>sub\n", "page.html": TEXT, "hello.txt": b"Hello, world!\n",
    "letters.txt": letters(1000), "big.bin": letters(300_000), "empty.txt": b"",
    "data.json": b'{"answer": 42}\n', "drawing.svg": b"<svg/>\n", "photo.jpg": letters(2000),
    "noext": b"no type\n", "font.woff2": letters(600), "video.mp4": letters(700),
    "doc.pdf": b"%PDF-1.4\n", "module.wasm": b"\0asm", "feed.xml": b"<feed/>\n",
    "notes.md": b"# notes\n", "app.js": SCRIPT, "app.js.gz": gzip.compress(SCRIPT, mtime=0),
    "app.js.br": b"the br form\n", "app.js.zst": b"the zstd form\n", "stale.js": b"new\n",
    "stale.js.gz": gzip.compress(b"old\n", mtime=0), "style.css": b"p{}\n",
    "pack.tar.gz": gzip.compress(b"x", mtime=0), "UPPER.PNG": b"png\n",
    "with space.txt": b"space\n", "ünï.txt": b"umlauts\n", "a+b.txt": b"plus\n",
    "percent%41.txt": b"percent\n", "semi;colon.txt": b"semicolon\n", 
    "question?.txt": b"question\n",
    "hash#.txt": b"hash\n", "back\\slash.txt": b"backslash\n", ".hidden": b"secret\n",
    ".git/config": b"secret\n", ".well-known/security.txt": b"Contact: mailto:a@example.org\n",
    "list/a.txt": b"a", "list/b.txt": b"bb", "list/file2.txt": b"", 
    "list/file10.txt": letters(5000),
    "list/below/x": b"x", 'list/strange "names"/<b>': b"", "tree/root.txt": b"root\n",
    "tree/deep/leaf.txt": b"leaf\n", "tree/.secret": b"secret\n",
}


class Row(agree.Case):
    """A line of the table, with the bodies that only this table has."""

    def __init__(self, number, line, site, client, tags):
        def tag_of(match):
            return tags(match[1], match[2])
        line = re.sub(r"\{etag (\S+?)(?: (\w+))?\}", tag_of, line.replace("$C", client))
        super().__init__(number, line)
        self.site = site

    def complaint(self, status, headers, body):
        if body and (self.method == "HEAD" or status == 304):
            return f"{len(body)} bytes of body behind {status} to {self.method}"
        parts = [f for f in self.wanted if ": ~" in f]
        for name, _, part in (f.partition(": ~") for f in parts):
            if part not in headers.get(name.lower(), ""):
                return f"{name} is {headers.get(name.lower())!r}, without {part!r}"
        self.wanted = [f for f in self.wanted if f not in parts]
        found = super().complaint(status, headers, body)
        return found or self.body_of_kind(headers.get("content-encoding", ""), body)

    def body_complaint(self, body):
        return "" if self.answer.startswith("=") else super().body_complaint(body)

    def body_of_kind(self, coding, body):
        kind, _, rest = self.answer.partition(" ")
        if kind == "=file":
            name, part = re.fullmatch(r"(.*?)(?: (\d+-\d+))?", rest).groups()
            wanted, body = (self.site / name).read_bytes(), unpacked(coding, body)
            if part:
                first, last = map(int, part.split("-"))
                wanted = wanted[first:last + 1]
            if body is not None and body != wanted:
                return f"body {body[:60]!r} of {len(body)} bytes, not {rest}"
        elif kind == "=sha" and (seen := hashlib.sha256(body).hexdigest()[:16]) != rest:
            if RECORD:
                record(self.number, rest, seen)
            else:
                return f"body with the hash {seen}, not {rest}: {body[-300:]!r}"
        elif kind == "=has" and rest.encode() not in body:
            return f"body without {rest!r}: {body[:200]!r}"
        elif kind == "=names" and (seen := names_in(body)) != sorted(filter(None, rest.split(","))):
            return f"archive of {seen}"
        return ""


def record(number, before, now):
    lines = TABLE.read_text().splitlines()
    lines[number - 1] = lines[number - 1].replace(f"=sha {before}", f"=sha {now}")
    TABLE.write_text("\n".join(lines) + "\n")


def unpacked(coding, body):
    """Some clients unpack by themselves. None: there is no tool that could."""
    if coding == "gzip" and body[:2] == b"\x1f\x8b":
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)  # also takes what is not whole
        return unpacker.decompress(body)
    tool = {"br": "brotli", "zstd": "zstd"}.get(coding)
    if not tool:
        return body
    if not shutil.which(tool):
        return None
    return subprocess.run([tool, "-dc"], input=body, capture_output=True, timeout=20).stdout


def names_in(body):
    if body[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(body)) as z:
            return sorted(z.namelist())
    with tarfile.open(fileobj=io.BytesIO(body)) as t:
        return sorted(m.name + ("/" if m.isdir() else "") for m in t.getmembers())


def build_site(root):
    site, docs = root / "site", root / "docs"
    for name, data in FILES.items():
        path = site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    docs.mkdir()
    (docs / "index.html").write_bytes(b"docs")
    (site / "list/none").mkdir()
    for client in CLIENTS:
        (site / "inbox" / client).mkdir(parents=True)
    (site / "link-in.txt").symlink_to("hello.txt")
    (site / "link-out").symlink_to("/etc/passwd")
    (site / "link-hidden").symlink_to(".hidden")
    os.mkfifo(site / "pipe")
    for folder, _, files in os.walk(site, topdown=False):
        for name in files:
            os.utime(os.path.join(folder, name), (MODIFIED, MODIFIED), follow_symlinks=False)
        os.utime(folder, (MODIFIED, MODIFIED))
    for age_s, name in enumerate(("a.txt", "b.txt", "file2.txt", "file10.txt")):
        os.utime(site / "list" / name, (MODIFIED, MODIFIED - 86400 * age_s))
    os.utime(site / "stale.js.gz", (MODIFIED, MODIFIED - 60))
    return site, docs


# Each client takes the rows, the address of the server, a folder to work in, and the authority's
# certificate; it gives pairs of a row and what was seen, as the functions of agree do.

def over_tls(function, **variables):
    """Calls with the authority where OpenSSL, curl and Go look for one."""
    @functools.wraps(function)
    def call(rows, base, work, authority):
        set_now = {"SSL_CERT_FILE": str(authority), "CURL_CA_BUNDLE": str(authority)}
        before = {name: os.environ.get(name) for name in set_now}
        os.environ.update(set_now)
        try:
            return list(function(rows, base, work))
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})
    return call


def ask_go(rows, base, work):
    BESIDE.mkdir(exist_ok=True)
    return agree.ask_go(rows, base, work, BESIDE / "agree_go")


def plain(function):
    return lambda rows, base, work, authority: list(function(rows, base, work))


def ask_httpx(rows, base, work, authority):
    done = subprocess.run([sys.executable, "-B", "-c", HTTPX, base, str(authority)], text=True,
                          input=json.dumps(agree.as_json(rows)), capture_output=True,
                          timeout=CLIENT_LIMIT_S, env=os.environ | {"PYTHONPATH": str(BESIDE)})
    if done.returncode != 0:
        raise AssertionError(f"httpx ended: {done.stderr[-500:]}")
    yield from agree.from_json(rows, json.loads(done.stdout))


HTTPX = r"""
import json, ssl, sys
import httpx
base, authority = sys.argv[1:]
secure = base.startswith("https")
verify = ssl.create_default_context(cafile=authority) if secure else False
client = httpx.Client(headers={"Accept-Encoding": "identity"}, http1=not secure, http2=secure,
                      verify=verify, timeout=20, trust_env=False)
answers = []
for each in json.load(sys.stdin):
    request = client.build_request(
        each["method"], base, headers=each["headers"], content=each["body"],
        extensions={"target": each["target"].encode(), "timeout": httpx.Timeout(20).as_dict()})
    try:
        answer = client.send(request, stream=True)
        body = b"".join(answer.iter_raw())
        if answer.http_version != ("HTTP/2" if secure else "HTTP/1.1"):
            raise RuntimeError("spoke " + answer.http_version)
        answers.append({"status": answer.status_code, "body": body.hex(),
                        "headers": list(answer.headers.multi_items())})
    except Exception as why:
        answers.append({"error": f"{type(why).__name__}: {why}"})
json.dump(answers, sys.stdout)
"""


def nghttp_one(i, row, base, work):
    har, sent = work / f"{i}.har", work / f"{i}.send"
    command = ["nghttp", "--no-dep", "--timeout=20", f"--har={har}", f"-H:method: {row.method}",
               f"-H:path: {row.target}"]
    fields = {name.lower(): value for name, value in row.headers}
    fields.setdefault("accept-encoding", "identity")
    if "host" in fields:
        fields[":authority"] = fields.pop("host")
    command += [f"-H{name}: {value}" for name, value in fields.items()]
    if row.body is not None:
        sent.write_bytes(row.body)
        command.append(f"--data={sent}")
    done = subprocess.run([*command, base + "/"], capture_output=True, timeout=60)
    if not har.exists() or not (entries := json.loads(har.read_text())["log"]["entries"]):
        return row, f"nghttp got nothing (exit status {done.returncode}): {done.stderr[-200:]!r}"
    seen = entries[0]["response"]
    fields = agree.fields(f"{f['name']}: {f['value']}" for f in seen["headers"])
    return row, (seen["status"], fields, done.stdout)


def ask_nghttp(rows, base, work, _authority):
    """One process a request, several at once; requests about uploads keep their order."""
    numbered = list(enumerate(rows))
    ordered = [(i, row) for i, row in numbered if row.target.startswith("/inbox/")]
    others = [(i, row) for i, row in numbered if not row.target.startswith("/inbox/")]
    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(nghttp_one, i, row, base, work) for i, row in others]
        in_order = pool.submit(lambda: [nghttp_one(i, row, base, work) for i, row in ordered])
        return [job.result() for job in jobs] + in_order.result()


@functools.cache
def no_httpx():
    """Why httpx is not here; "" if it is."""
    find = [sys.executable, "-c", "import httpx, h2"]
    there = os.environ | {"PYTHONPATH": str(BESIDE)}
    if subprocess.run(find, env=there, capture_output=True).returncode == 0:
        return ""
    try:
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--target", str(BESIDE),
                        "--disable-pip-version-check", "--retries", "0", "httpx[http2]"],
                       capture_output=True, timeout=60, check=True)
        subprocess.run(find, env=there, capture_output=True, check=True)
    except (OSError, subprocess.SubprocessError) as why:
        return f"httpx cannot be installed: {why}"
    return ""


def needs(tool):
    return lambda: "" if shutil.which(tool) else f"{tool} is not installed"


def never():
    return ""


class Client:
    def __init__(self, ask, tls, missing, kind):
        self.ask, self.tls, self.why_missing, self.kind = ask, tls, missing, kind

    def missing(self):
        """Why it does not ask; "" if it does."""
        if program.SANITIZED and self.kind not in ("python", "curl"):
            return f"{self.kind} asks no program with sanitizers, because that takes long"
        return self.why_missing()


CLIENTS = {  # the name in the table and in the site: how to ask, with TLS, why it is missing
    "python": Client(plain(agree.ask_python), False, never, "python"),
    "curl1": Client(plain(agree.ask_curl), False, needs("curl"), "curl"),
    "httpx1": Client(ask_httpx, False, no_httpx, "httpx"),
    "go1": Client(plain(ask_go), False, needs("go"), "go"),
    "curl2": Client(over_tls(agree.ask_curl), True, needs("curl"), "curl"),
    "httpx2": Client(ask_httpx, True, no_httpx, "httpx"),
    "go2": Client(over_tls(ask_go), True, needs("go"), "go"),
    "nghttp": Client(ask_nghttp, True, needs("nghttp"), "nghttp"),
}


def sections():
    """(name, flags, [(number, line)]) of each server of the table."""
    found = []
    for number, line in enumerate(TABLE.read_text().splitlines(), 1):
        if line.startswith("@server "):
            name, *flags = shlex.split(line)[1:]
            found.append((name, flags, []))
        elif line and not line.startswith("#"):
            found[-1][2].append((number, line))
    return found


class RequestTable(program.SiteTest):
    def setUp(self):
        super().setUp()
        shutil.rmtree(self.site)
        self.site, self.docs = build_site(self.root)
        self.home = {"HOME": str(self.root), "XDG_DATA_HOME": str(self.root / "data")}
        made = program.run("cert", "-o", str(self.root), **self.home)
        self.with_tls = "without TLS" not in made[2]

    def serve(self, flags, tls):
        flags = [f.replace("DOCS", str(self.docs)) for f in flags]
        if tls:
            flags += ["--tls", str(self.root / "localhost.pem"), str(self.root / "localhost.key")]
        return program.Server(str(self.site), "--log", "off", *flags)

    def tag_finder(self, server):
        authority = self.root / "data/heddle/authority.pem"
        known = {}

        def tag(target, coding):
            if (target, coding) not in known:
                connection = server.connect() if server.scheme == "http" else (
                    http.client.HTTPSConnection("localhost", server.port, timeout=program.LIMIT_S,
                        context=ssl.create_default_context(cafile=str(authority))))
                connection.request("GET", target, headers=server.login |
                                   {"Accept-Encoding": coding or "identity"})
                answer = connection.getresponse()
                answer.read()
                connection.close()
                known[target, coding] = answer.headers["ETag"]
            return known[target, coding]
        return tag

    def check(self, name, flags, lines, tls):
        wrong, asked = [], {}
        with self.serve(flags, tls) as server:
            server.scheme, server.login = "https" if tls else "http", {}
            tags = self.tag_finder(server)
            host = "localhost" if tls else server.host
            for label, client in CLIENTS.items():
                if client.tls != tls or client.missing() or (ONLY or label) != label:
                    continue
                rows = [Row(number, line, self.site, label, tags) for number, line in lines]
                rows = [r for r in rows if not {label, client.kind} & set(r.excluded)]
                work = self.root / "work" / f"{name}-{label}"
                work.mkdir(parents=True)
                for row, seen in client.ask(rows, f"{server.scheme}://{host}:{server.port}", work,
                                            self.root / "data/heddle/authority.pem"):
                    asked[label] = asked.get(label, 0) + 1
                    if why := seen if isinstance(seen, str) else row.complaint(*seen):
                        wrong.append(f"{TABLE.name}:{row.number}: {label}: {row.method} "
                                     f"{row.target[:60]}: {why}")
        self.assertTrue(asked or tls, "Python asked nothing")
        self.assertFalse(wrong, "\n" + "\n".join(wrong))
        return asked

    def run_table(self, tls):
        total, missing = {}, {}
        for label, client in CLIENTS.items():
            if client.tls == tls and client.missing():
                missing[label] = client.missing()
        for name, flags, lines in sections():
            with self.subTest(server=name):
                for label, count in self.check(name, flags, lines, tls).items():
                    total[label] = total.get(label, 0) + count
        for label, why in missing.items():
            with self.subTest(client=label):
                self.skipTest(why)
        if "-v" in sys.argv:
            print(total, file=sys.stderr)

    def test_over_http_1_1(self):
        self.run_table(tls=False)

    def test_over_http_2_with_tls(self):
        if not self.with_tls:
            self.skipTest("built without TLS")
        self.run_table(tls=True)

    def test_the_table_is_large_enough(self):
        self.assertGreaterEqual(sum(len(lines) for _, _, lines in sections()), 300)


if __name__ == "__main__":
    unittest.main()
