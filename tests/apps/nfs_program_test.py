# SPDX-License-Identifier: MIT
"""apps/nfs as its users run it, with clients that are not ours: libnfs and its tools. $NFS is the
program, $NFS_CLIENT is tests/apps/nfs_client.c. As root, for files are opened by their handles."""

import hashlib
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

PROGRAM = os.path.abspath(os.environ.get("NFS", "build/release/apps/nfs"))
CLIENT = os.environ.get("NFS_CLIENT", "")
CLIENTS = 50
FILES = 200
KILLS = 5
LIMIT_S = 180  # of one client, or one tool


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def handles_work(folder):
    """Why files of this folder cannot be opened by handle, or ''."""
    with subprocess.Popen([PROGRAM, "--check", "--export", str(folder), "--state",
                           str(folder) + ".state"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as check:
        said = check.communicate(timeout=30)[1]
        return said.strip() if check.returncode else ""


class World(unittest.TestCase):
    """A folder that is exported, and a server for it."""

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("not root")
        if not CLIENT:
            raise unittest.SkipTest("libnfs-dev is not installed")

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="heddle-nfs-")
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        self.served = self.home / "served"
        self.mount_here()
        os.chmod(self.served, 0o777)
        self.port = free_port()
        self.url = (f"nfs://127.0.0.1{self.served}?nfsport={self.port}&mountport={self.port}"
                    "&uid=0&gid=0")
        reason = handles_work(self.served)
        if reason:
            self.skipTest(reason)

    def mount_here(self):
        """A tmpfs, whose files can be opened by handle wherever the tests run."""
        self.served.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1g", "heddle-nfs", self.served],
                       check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.served], check=True)

    def start(self, *options, export=None):
        """A server, once it says that it listens."""
        server = subprocess.Popen(
            [PROGRAM, "--listen", f"127.0.0.1:{self.port}", "--state", self.home / "state",
             "--export", export or f"{self.served} -rw 127.0.0.0/8 no_root_squash", *options],
            stderr=subprocess.PIPE, text=True)

        def end():
            server.kill()
            server.wait()
            server.stderr.close()
        self.addCleanup(end)
        said = server.stderr.readline()
        self.assertIn(f"127.0.0.1:{self.port}", said)
        return server

    def client(self, *words, url=None):
        return subprocess.run([CLIENT, url or self.url, *map(str, words)], capture_output=True,
                              text=True, timeout=LIMIT_S)

    def good(self, *words):
        done = self.client(*words)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stderr}")
        return done.stdout


class Tools(World):
    def test_files_are_copied_listed_read_written_renamed_and_linked(self):
        self.start("--workers", "2")
        data = random.Random(1).randbytes(3_000_017)
        (self.home / "data").write_bytes(data)
        self.good("mkdir", "/a")
        self.good("put", self.home / "data", "/a/one")
        self.assertEqual((self.served / "a/one").read_bytes(), data)
        self.good("rename", "/a/one", "/a/two")
        self.good("link", "/a/two", "/a/three")
        self.good("symlink", "two", "/a/four")
        self.assertEqual(self.good("readlink", "/a/four"), "two\n")
        self.good("chmod", "640", "/a/two")
        self.assertIn("links 2 ", self.good("stat", "/a/three"))
        self.good("get", "/a/three", self.home / "back")
        self.assertEqual((self.home / "back").read_bytes(), data)
        self.good("truncate", "1000", "/a/two")
        self.assertEqual((self.served / "a/two").read_bytes(), data[:1000])
        names = {line.split()[0] for line in self.good("list", "/a").splitlines()}
        self.assertEqual(names, {".", "..", "two", "three", "four"})
        self.assertEqual(self.client("rmdir", "/a").returncode, 1)  # it is not empty
        for name in ("two", "three", "four"):
            self.good("unlink", f"/a/{name}")
        self.good("rmdir", "/a")
        self.assertEqual(os.listdir(self.served), [])

    @unittest.skipUnless(shutil.which("nfs-cp"), "libnfs-utils is not installed")
    def test_the_tools_of_libnfs_copy_list_and_print(self):
        self.start()
        (self.home / "data").write_text("as it was written\n")
        file = self.url.replace("?", "/copied?", 1)

        def tool(*words):
            done = subprocess.run([str(w) for w in words], capture_output=True, text=True,
                                  timeout=LIMIT_S)
            self.assertEqual(done.returncode, 0, f"{words}: {done.stderr}{done.stdout}")
            return done.stdout
        tool("nfs-cp", self.home / "data", file)
        self.assertIn("copied", tool("nfs-ls", self.url))
        self.assertEqual(tool("nfs-cat", file), "as it was written\n")

    def test_ctrl_c_ends_it_and_says_what_was_done(self):
        server = self.start()
        self.good("mkdir", "/a")
        server.send_signal(signal.SIGINT)
        said = server.communicate(timeout=30)[1]
        self.assertEqual(server.returncode, 0, said)
        self.assertRegex(said, r"\d+ connections, \d+ calls, \d+ refused")


class Rules(World):
    def test_an_export_for_reading_refuses_changes(self):
        (self.served / "file").write_text("here")
        self.start(export=f"{self.served} -ro 127.0.0.0/8")
        self.good("get", "/file", self.home / "back")
        refused = self.client("mkdir", "/a")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("ROFS", refused.stderr)

    def test_other_networks_are_refused(self):
        self.start(export=f"{self.served} -rw 192.0.2.0/24")
        refused = self.client("list", "/")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("ACCES", refused.stderr)

    def test_root_is_squashed_unless_the_export_says_otherwise(self):
        self.start(export=f"{self.served} -rw 127.0.0.0/8")
        (self.home / "data").write_text("x")
        self.good("put", self.home / "data", "/mine")
        self.assertEqual((self.served / "mine").stat().st_uid, 65534)
        os.chmod(self.served / "mine", 0o600)
        os.chown(self.served / "mine", 1, 1)
        self.assertEqual(self.client("get", "/mine", self.home / "back").returncode, 1)


class Start(World):
    def test_check_says_what_can_be_served_and_keeps_nothing(self):
        done = subprocess.run([PROGRAM, "--check", "--export", self.served, "--state",
                               self.home / "unused"], capture_output=True, text=True, timeout=30)
        self.assertEqual((done.returncode, done.stdout), (0, "1 exports can be served\n"))
        self.assertFalse((self.home / "unused").exists())

    def test_two_servers_cannot_use_one_state(self):
        self.start()
        second = subprocess.run([PROGRAM, "--listen", "127.0.0.1:0", "--state",
                                 self.home / "state", "--export", self.served],
                                capture_output=True, text=True, timeout=30)
        self.assertEqual(second.returncode, 1)
        self.assertIn("another server uses this --state", second.stderr)

    def test_few_descriptors_mean_fewer_connections_which_is_said(self):
        server = subprocess.Popen(
            ["prlimit", "--nofile=512:512", PROGRAM, "--listen", f"127.0.0.1:{self.port}",
             "--state", self.home / "state", "--export", f"{self.served} -rw 127.0.0.0/8"],
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.assertIn("connections for each worker, not 4096", server.stderr.readline())
        self.assertIn("serving", server.stderr.readline())
        # More silent connections than it has descriptors for: another client is served.
        (self.served / "file").write_text("here")
        silent = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(200)]
        self.addCleanup(lambda: [s.close() for s in silent])
        self.good("get", "/file", self.home / "back")


    def test_one_address_does_not_get_all_connections(self):
        self.start("--connections", "8", "--connections-per-address", "2")

        def served(source):
            """Whether a call of procedure 0 is answered on a new connection, which stays open."""
            s = socket.create_connection(("127.0.0.1", self.port), timeout=LIMIT_S,
                                         source_address=(source, 0))
            self.addCleanup(s.close)
            call = struct.pack(">10I", 7, 0, 2, 100003, 3, 0, 0, 0, 0, 0)
            try:
                s.sendall(struct.pack(">I", 0x80000000 | len(call)) + call)
                return len(s.recv(100)) == 28
            except ConnectionError:
                return False
        self.assertEqual([served("127.0.0.1") for _ in range(3)], [True, True, False])
        self.assertTrue(served("127.0.0.2"))

    def test_blocks_that_are_reserved_for_root_stay_so(self):
        def effective(pid):
            text = pathlib.Path(f"/proc/{pid}/status").read_text()
            return int(re.search(r"^CapEff:\s*(\w+)", text, re.MULTILINE)[1], 16)
        reserves = 1 << 24               # CAP_SYS_RESOURCE
        if not effective("self") & reserves:
            self.skipTest("this process has no CAP_SYS_RESOURCE either")
        server = self.start()
        (self.home / "some").write_text("text")
        self.good("put", self.home / "some", "/some")
        threads = os.listdir(f"/proc/{server.pid}/task")
        self.assertGreater(len(threads), 1)   # one of the pool, too
        for thread in threads:
            have = effective(f"{server.pid}/task/{thread}")
            self.assertTrue(have)
            self.assertFalse(have & reserves, f"{have:x}")


class Lives(World):
    def test_50_clients_go_on_while_the_server_is_killed_and_started_again(self):
        random_bytes = random.Random(7)
        source = self.home / "source"
        source.mkdir()
        for i in range(FILES):
            size = random_bytes.choice((0, 1, 100, 4096, 20_000, 70_001))
            (source / str(i)).write_bytes(random_bytes.randbytes(size))
        server = self.start("--workers", "2")
        clients = [subprocess.Popen([CLIENT, self.url, "copy", source, f"/c{n}", str(FILES)],
                                    stderr=subprocess.PIPE, text=True) for n in range(CLIENTS)]
        said = [""] * CLIENTS

        def wait(n):
            try:
                said[n] = clients[n].communicate(timeout=LIMIT_S)[1]
            except subprocess.TimeoutExpired:
                clients[n].kill()
                said[n] = "it did not end; " + clients[n].communicate()[1]
        waiting = [threading.Thread(target=wait, args=(n,)) for n in range(CLIENTS)]
        for t in waiting:
            t.start()
        # It is killed whenever a further sixth of the files is there.
        for kill in range(1, KILLS + 1):
            while (self.copied() < CLIENTS * FILES * kill // (KILLS + 1)
                   and any(c.poll() is None for c in clients)):
                threading.Event().wait(0.05)
            self.assertTrue(any(c.poll() is None for c in clients), f"all ended before kill {kill}")
            server.send_signal(signal.SIGKILL)
            server.wait()
            server = self.start("--workers", "2")
        for t in waiting:
            t.join()
        self.assertEqual([(n, s) for n, s in enumerate(said) if clients[n].returncode], [])
        wanted = {str(i): hashlib.sha256((source / str(i)).read_bytes()).digest()
                  for i in range(FILES)}
        for n in range(CLIENTS):
            found = {p.name: hashlib.sha256(p.read_bytes()).digest()
                     for p in (self.served / f"c{n}").iterdir()}
            self.assertEqual(found, wanted, f"client {n}")

    def copied(self):
        return sum(len(os.listdir(p)) for p in self.served.iterdir())


class Errors(World):
    def test_errors_say_what_where_and_what_to_do(self):
        for said, words in (
                ("no absolute path", ("--export", "srv")),
                ("is no network", ("--export", "/srv -rw nowhere")),
                ("exported twice", ("--export", "/srv", "--export", "/srv/")),
                ("no such", ("--export", "/there/is/none")),
                ("--export", ()),
                ("is no address", ("--export", "/srv", "--listen", "here")),
                ("--workers", ("--export", "/srv", "--workers", "65")),
                ("--idle", ("--export", "/srv", "--idle", "inf")),
                ("--connections", ("--export", "/srv", "--connections", "0")),
                ("beside another word", ("--export", "/srv all_squash no_root_squash")),
                ("is in the export", ("--export", self.home)),
                ("as a file of exports", ("--exports", self.home))):
            done = subprocess.run([PROGRAM, "--state", self.home / "state", *words],
                                  capture_output=True, text=True, timeout=30)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertIn(said.lower(), done.stderr.lower(), words)


if __name__ == "__main__":
    sys.exit(unittest.main())
