# SPDX-License-Identifier: MIT
"""Suite nfs: what a call of NFS version 3 costs a file server, as root.

One connection with 16 calls under way (4 for those of 1 MiB), made by libnfs' raw calls
(bench/rivals/nfs/load.cc), each reply checked. The server has core 0, the client core 1; both are
in a network namespace with a /run of its own, because the rival needs rpcbind and port 2049. Writes
are unstable. create is CREATE and REMOVE in turn, each an operation; directories are on the disk
before the reply (`heddle_async_*` leaves that out, as NFS-Ganesha does).

Subjects: apps/nfs with both fast drivers; `ganesha`, Debian's nfs-ganesha with its FSAL VFS, for
version 3.
"""

import json
import os
import pathlib
import random
import signal
import subprocess
import time

import bench_machine as machine
import bench_servers as servers
from bench_machine import Failed
from bench_plan import build_folder, Measure

ROUNDS = (5, 2)                          # whole, brief
PORT, MOUNT_PORT = 2049, 20048
FILE_BYTES = 16 << 20                    # as bench/rivals/nfs/load.cc has it
MIB = 1 << 20
# case -> kind of the load client, bytes, calls under way
CASES = {"getattr": ("getattr", 0, 16), "lookup": ("lookup", 0, 16),
         "read_4k": ("read", 4096, 16), "read_1m": ("read", MIB, 4),
         "write_4k": ("write", 4096, 16), "write_1m": ("write", MIB, 4),
         "create": ("create", 0, 16)}
DRIVERS = {"epoll": "epoll", "uring": "io_uring"}
SPACE = ("mount -t tmpfs tmpfs /run && mkdir -p /run/ganesha /run/rpcbind && ip link set lo up && "
         "{ rpcbind -f & } && echo up && exec cat")
GANESHA = """
NFS_CORE_PARAM {{
  Protocols = 3; NFS_Port = {port}; MNT_Port = {mount_port};
  Enable_NLM = false; Enable_RQUOTA = false;
}}
NFSv4 {{ Graceless = true; RecoveryRoot = {home}; }}
LOG {{ Default_Log_Level = WARN; }}
EXPORT {{
  Export_Id = 1; Path = {files}; Pseudo = /files; Protocols = 3; Transports = TCP;
  Access_Type = RW; Squash = No_Root_Squash; SecType = sys; FSAL {{ Name = VFS; }}
}}
"""


class Space:
    """A network namespace and a /run, with rpcbind where it is installed, until close()."""

    def __init__(self):
        self.holder = subprocess.Popen(["unshare", "-n", "-m", "sh", "-c", SPACE], text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL)
        if self.holder.stdout.readline() != "up\n":
            self.close()
            raise Failed("no network namespace can be made")

    def enter(self, command):
        return ["nsenter", "-t", self.holder.pid, "-n", "-m", "--", *command]

    def close(self):
        for pid in machine.family(self.holder.pid)[1:]:   # rpcbind
            os.kill(pid, signal.SIGTERM)
        self.holder.stdin.close()
        self.holder.wait(5)
        self.holder.stdout.close()


class Server(servers.Server):
    """A server in a space of its own, at port 2049."""

    def __init__(self, name, command, client, words, missing=None, env=None):
        super().__init__(name, command, missing, env)
        self.client, self.words = client, words   # the load client, and how it finds the server
        self.space = None

    def start(self):
        if self.space is None and not self.failure:
            self.space = Space()
        super().start()
        self.port = PORT

    def enter(self, command):
        return self.space.enter(command)

    def wait(self):
        """Until a file can be looked up."""
        end = time.monotonic() + 20
        words = [self.client, *self.words, "--seconds", 0, "--warmup", 0]
        while True:
            if self.process.poll() is not None:
                raise Failed(f"ended at once with exit status {self.process.returncode}")
            try:
                machine.run(self.enter(words), core=machine.CLIENT_CORE)
                return
            except Failed:
                if time.monotonic() > end:
                    raise
            time.sleep(0.1)

    def stop(self):
        super().stop()
        if self.space is not None:
            self.space.close()
            self.space = None


def values(text):
    r = json.loads(text)
    if not r["operations"] or r["server_s"] <= 0:
        raise Failed("nothing was measured")
    return [("ops_per_cpu_s", r["operations"] / r["server_s"], "1/s"),
            ("cpu_us", r["server_s"] / r["operations"] * 1e6, "us"),
            ("ops_per_s", r["operations"] / r["seconds"], "1/s"),
            ("server_core", r["server_s"] / r["seconds"], "1")]


class Suite(servers.Suite):
    def __init__(self, context):
        super().__init__(context, "nfs", CASES)
        self.seconds, self.warmup = (0.4, 0.1) if context.brief else (2.0, 0.3)
        context.rivals.build_cpp(("rival_nfs_load",))
        self.client = context.rivals.path("nfs", "load")
        if os.geteuid() != 0:
            self.plan.skip("everything", "only root can make namespaces, and open files by handle")
            return
        if self.client is None:
            self.plan.skip("everything", f"the load client: {context.rivals.missing['nfs']} "
                                         "(scripts/setup bench installs libnfs-dev)")
            return
        self.home = context.root / "build" / "bench" / "nfs"
        self.files = self.home / "files"
        self.files.mkdir(parents=True, exist_ok=True)
        (self.files / "data.bin").write_bytes(random.Random(3).randbytes(FILE_BYTES))
        both = [*self.own("heddle"), self.ganesha()]
        for server in both:
            if server.missing:
                self.plan.skip(server.name, server.missing)
        for case in CASES:
            self.add(case, both + [*self.own("heddle_async", "--async")] * (case == "create"))
        for driver in DRIVERS:
            self.plan.pairs += [(f"heddle_{driver}", "ganesha", "ops_per_cpu_s"),
                                (f"heddle_async_{driver}", "ganesha", "ops_per_cpu_s")]

    def own(self, name, *words):
        path = build_folder(self.context.root) / "apps" / "nfs"
        missing = None if path.exists() else f"{path.relative_to(self.context.root)} is not built"
        for driver, value in DRIVERS.items():
            subject = f"{name}_{driver}"
            command = [path, "--listen", f"127.0.0.1:{PORT}", "--state", self.home / subject,
                       "--export", f"{self.files} -rw 127.0.0.0/8 no_root_squash", *words]
            (self.home / subject).mkdir(exist_ok=True)
            yield Server(subject, lambda _, c=command: c, self.client, self.words(PORT), missing,
                         env={"HEDDLE_DRIVER": value, "HEDDLE_WORKERS": "1"})

    def ganesha(self):
        path, missing = servers.program("ganesha.nfsd"), None
        if path is None or servers.program("rpcbind") is None:
            missing = "no ganesha.nfsd, or no rpcbind (scripts/setup bench installs them)"
        elif not [*pathlib.Path("/usr/lib").glob("**/ganesha/libfsalvfs.so")]:
            missing = "no FSAL VFS (scripts/setup bench installs nfs-ganesha-vfs)"
        config = self.home / "ganesha.conf"
        config.write_text(GANESHA.format(port=PORT, mount_port=MOUNT_PORT, home=self.home,
                                         files=self.files))
        command = [path, "-F", "-f", config, "-L", self.home / "ganesha.log", "-p",
                   "/run/ganesha/pid"]
        return Server("ganesha", lambda _: command, self.client, self.words(MOUNT_PORT),
                      missing)

    def words(self, mount_port):
        return ["--path", self.files, "--mount-port", mount_port]

    def add(self, case, subjects):
        kind, count, depth = CASES[case]
        for server in subjects:
            if server.missing:
                continue
            self.started.append(server)
            words = [*server.words, "--kind", kind, "--depth", depth, "--seconds", self.seconds]
            words += ["--bytes", count] if count else []
            self.plan.add(Measure(case, server.name, self.seconds + self.warmup + 0.1,
                                  lambda s=server, w=words:
                                  self.load(case, s, w, None, values)))


plan = Suite.plan_of
