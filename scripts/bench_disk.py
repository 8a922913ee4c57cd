# SPDX-License-Identifier: MIT
"""Suite disk: a folder that is larger than memory (Li and Zdancewic, 2007, figure 19).

131,072 files of 16 KiB (brief: 8,192), drawn evenly by N clients with keep-alive (wrk). Each server
is in a control group of 512 MiB (brief: 64 MiB), in which its page cache counts. Subjects:
`heddle`, with TCP in the program and --direct, and a cache of 100 MiB (brief: 12); `heddle_kernel`,
the same over the kernel's TCP; `heddle_cached`, that without --direct; nginx with `aio threads`;
Apache's event MPM. As root, because of the groups and the network namespace.
"""

import os
import pathlib
import re
import shutil
import subprocess
import time

import bench_http_peers
import bench_machine as machine
import bench_net
import bench_servers as servers
from bench_machine import Failed
from bench_plan import build_folder, Measure, Plan

FILE_BYTES = 16 * 1024
FILES, FILES_BRIEF = 131_072, 8_192
FOLDER_FILES = 512               # files of one folder
GROUP_BYTES, GROUP_BYTES_BRIEF = 512 << 20, 64 << 20
CACHE_MIB, CACHE_MIB_BRIEF = 100, 12
CLIENTS, CLIENTS_BRIEF = (1, 4, 16, 64, 256, 1024), (1, 64)
MEMORY = (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max"))
TUN_ADDRESS = "10.9.0.2"

DRAW = """
local files = tonumber(os.getenv("HEDDLE_DISK_FILES"))
math.randomseed(tonumber(os.getenv("HEDDLE_DISK_SEED")))
request = function()
  local n = math.random(0, files - 1)
  return string.format("GET /%%03d/%%06d.bin HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n",
                       math.floor(n / %d), n)
end
""" % FOLDER_FILES


def make_site(site, count):
    """The files, once: the same bytes do for all, but no two files share blocks of a disk."""
    done = site / f"done-{count}"
    if done.exists():
        return
    shutil.rmtree(site, ignore_errors=True)
    for folder in range(0, count, FOLDER_FILES):
        (site / f"{folder // FOLDER_FILES:03d}").mkdir(parents=True, exist_ok=True)
        for n in range(folder, min(folder + FOLDER_FILES, count)):
            text = f"{n:06d}\n".encode() * (FILE_BYTES // 7 + 1)
            (site / f"{n // FOLDER_FILES:03d}" / f"{n:06d}.bin").write_bytes(text[:FILE_BYTES])
    os.sync()
    done.write_text("")


def drop_from_page_cache(site):
    """Without it, files that were read before would be served from other groups' memory."""
    for path in site.glob("*/*.bin"):
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


class MemoryGroup:
    """A control group with so much memory, page cache included."""

    def __init__(self, limit):
        self.path = None
        for base, name in MEMORY:
            path = pathlib.Path(base) / f"heddle_disk_{os.getpid()}"
            if not (pathlib.Path(base) / "cgroup.procs").exists():
                continue
            try:
                path.mkdir(exist_ok=True)
                (path / name).write_text(str(limit))
                self.path = path
                return
            except OSError:
                if path.exists():
                    path.rmdir()
        raise Failed("no control group for memory can be made")

    def enter(self):
        (self.path / "cgroup.procs").write_text("0")

    def close(self):
        for _ in range(50):
            try:
                self.path.rmdir()
                return
            except OSError:
                time.sleep(0.1)   # its last process has not quite ended


def read_bytes(pids):
    """What these processes have caused to be read from disks."""
    total = 0
    for pid in pids:
        try:
            text = pathlib.Path(f"/proc/{pid}/io").read_text()
        except OSError:
            continue
        total += int(re.search(r"^read_bytes: (\d+)", text, re.M)[1])
    return total


def values(text, disk_bytes, cpu_s):
    """(metric, value, unit) from what wrk says and the server has read."""
    count = int(re.search(r"(\d+) requests in", text)[1])
    errors = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+)", text)
    if not count or "Non-2xx" in text or (errors and any(int(n) for n in errors.groups())):
        raise Failed("wrk got wrong answers")
    return [("requests_per_s", float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1]), "1/s"),
            ("disk_bytes", disk_bytes / count, "B"),
            ("cpu_us", cpu_s / count * 1e6, "us")]


class Suite:
    def __init__(self, context):
        self.brief = context.brief
        self.files = FILES_BRIEF if self.brief else FILES
        self.limit = GROUP_BYTES_BRIEF if self.brief else GROUP_BYTES
        self.seconds = 2 if self.brief else 10
        clients = CLIENTS_BRIEF if self.brief else CLIENTS
        self.plan = Plan([f"c{n}" for n in clients])
        self.home = context.root / "build" / "bench" / "disk"
        self.site = self.home / f"site-{self.files}"
        self.seed = 0
        missing = "not root" if os.geteuid() != 0 else "" if shutil.which("wrk") else "no wrk"
        if missing:
            self.plan.skip("everything", missing)
            return
        try:
            MemoryGroup(self.limit).close()
        except Failed as why:
            self.plan.skip("everything", str(why))
            return
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "draw.lua").write_text(DRAW)
        context.say(f"suite disk: {self.files} files in {self.site.relative_to(context.root)}")
        make_site(self.site, self.files)
        program = build_folder(context.root) / "bin" / "heddle"
        for name, words, why in self.subjects(program):
            if why:
                self.plan.skip(name, why)
                continue
            for n in clients:
                self.plan.add(Measure(f"c{n}", name, self.seconds + 6,
                                      lambda s=name, w=words, n=n: self.measure(s, w, n),
                                      rounds_max=1 if self.brief else 3))
        self.plan.pairs += [("heddle", "nginx", "requests_per_s"),
                            ("heddle", "apache", "requests_per_s"),
                            ("heddle_kernel", "heddle_cached", "requests_per_s"),
                            ("heddle_kernel", "nginx", "requests_per_s"),
                            ("heddle_kernel", "apache", "requests_per_s")]

    def subjects(self, program):
        """(name, port -> words, why it is missing)"""
        cache = f"{CACHE_MIB_BRIEF if self.brief else CACHE_MIB}M"
        not_built = None if program.exists() else f"{program} is not built"
        serve = [program, "serve", self.site, "--log", "off", "--queue-delay", "0",
                 "--connections", "4096", "--cache", cache]
        tun = None if os.path.exists("/dev/net/tun") else "no /dev/net/tun"
        yield "heddle", lambda port: [*serve, "-p", port, "--direct", "--net",
                                      f"user:tun0,{TUN_ADDRESS}/24"], not_built or tun
        yield "heddle_kernel", lambda port: [*serve, "-p", port, "--direct"], not_built
        yield "heddle_cached", lambda port: [*serve, "-p", port], not_built
        nginx = servers.nginx(self.home, self.site, "nginx", "aio threads;")
        yield "nginx", lambda port: (nginx.prepare(port), nginx.command(port))[1], nginx.missing
        apache = bench_http_peers.apache(self.home, self.site)
        yield "apache", lambda port: (apache.prepare(port), apache.command(port))[1], apache.missing

    def measure(self, name, words, clients):
        drop_from_page_cache(self.site)
        group = MemoryGroup(self.limit)
        space = bench_net.Namespace() if name == "heddle" else None
        process = None
        try:
            port = bench_net.PORT if space else machine.free_port()
            command = [str(w) for w in words(port)]
            pin = machine.pin_to(machine.SERVER_CORE, group)
            if space:
                process = subprocess.Popen(space.enter(command), stdout=subprocess.DEVNULL,
                                           stderr=subprocess.PIPE, text=True, preexec_fn=pin)
                if not any("here " in line for line in process.stderr):
                    raise Failed("heddle serve said no address")
            else:
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                           preexec_fn=pin)
                machine.wait_for_port(process, port)
            return self.ask(process, space, port, clients)
        finally:
            if process is not None:
                machine.stop(process)
                if process.stderr:
                    process.stderr.close()
            if space:
                space.close()
            group.close()

    def ask(self, process, space, port, clients):
        self.seed += 1
        host = TUN_ADDRESS if space else "127.0.0.1"
        env = {**os.environ, "HEDDLE_DISK_FILES": str(self.files)}

        def load(seconds, seed):
            command = ["wrk", "-t1", f"-c{clients}", f"-d{seconds}s", "--timeout", "30s", "-s",
                       self.home / "draw.lua", f"http://{host}:{port}/"]
            return machine.run(space.enter(command) if space else command,
                               core=machine.CLIENT_CORE,
                               env={**env, "HEDDLE_DISK_SEED": str(seed)})

        load(1 if self.brief else 4, 1000 + self.seed)   # fills the caches
        pids = machine.family(process.pid)
        disk, cpu = read_bytes(pids), machine.cpu_seconds(pids)
        text = load(self.seconds, self.seed)
        pids = machine.family(process.pid)
        return values(text, read_bytes(pids) - disk, machine.cpu_seconds(pids) - cpu)


def plan(context):
    return Suite(context).plan
