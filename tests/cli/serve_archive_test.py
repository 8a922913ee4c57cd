# SPDX-License-Identifier: MIT
"""--archives: a folder with all that is below it as one zip or tar, read by Python's modules."""

import http.client
import io
import os
import re
import tarfile
import unittest
import zipfile

from program import SiteTest, wait_until


class Archives(SiteTest):
    def setUp(self):
        super().setUp()
        self.files = {"index.html": b"<p>index", "a b/ü.txt": b"umlaut", "a b/empty": b"",
                      "a b/deep/run.sh": b"#!/bin/sh\n", "big.bin": os.urandom(300_001),
                      "/".join(["long" * 20] * 3) + ".txt": b"a long path"}
        for name, data in self.files.items():
            self.put(name, data)
        os.chmod(self.site / "a b/deep/run.sh", 0o755)
        os.utime(self.site / "big.bin", (1_600_000_000, 1_600_000_000))
        self.put(".git/config", "secret")
        (self.site / "leads-out").symlink_to(self.root)
        (self.site / "circle").symlink_to(self.site)
        (self.site / "link").symlink_to("index.html")

    def test_a_zip_has_all_files(self):
        with self.serve("--archives") as server:
            status, headers, body = server.ask("/?archive=zip")
            self.assertEqual((status, headers["Content-Type"]), (200, "application/zip"))
            self.assertIn('filename="archive.zip"', headers["Content-Disposition"])
            with zipfile.ZipFile(io.BytesIO(body)) as z:
                self.assertIsNone(z.testzip())
                files = {n: z.read(n) for n in z.namelist() if not n.endswith("/")}
                self.assertEqual(files, self.files | {"link": b"<p>index"})
                self.assertEqual(z.getinfo("big.bin").date_time, (2020, 9, 13, 12, 26, 40))
                self.assertTrue(z.getinfo("a b/deep/run.sh").external_attr >> 16 & 0o111)
                self.assertIn("a b/deep/", z.namelist())

    def test_a_tar_has_all_files(self):
        with self.serve("--archives") as server:
            status, headers, body = server.ask("/?archive=tar")
            self.assertEqual((status, headers["Content-Type"]), (200, "application/x-tar"))
            with tarfile.open(fileobj=io.BytesIO(body)) as t:
                files = {m.name: t.extractfile(m).read() for m in t.getmembers() if m.isfile()}
                self.assertEqual(files, self.files | {"link": b"<p>index"})
                self.assertEqual(t.getmember("big.bin").mtime, 1_600_000_000)
                self.assertEqual(t.getmember("a b/deep/run.sh").mode, 0o755)

    def test_lists_have_links_to_the_archives_where_they_are_on(self):
        (self.site / "index.html").unlink()
        with self.serve("--archives", "--site", f"other.example.org {self.site}") as server:
            for path in ("/", "/a%20b/"):
                page = server.ask(path, Accept="text/html")[2]
                links = re.findall(rb'<a href="(\./\?archive=(\w+))" download>', page)
                self.assertEqual([kind for _, kind in links], [b"zip", b"tar"])
                for link, kind in links:
                    there = path + link.decode().removeprefix("./")
                    self.assertIn(kind.decode(), server.ask(there)[1]["Content-Type"])
            self.assertNotIn(b"archive", server.ask("/", Accept="application/json")[2])
            # Archives are of the main folder only.
            self.assertNotIn(b"archive=", server.ask("/", Host="other.example.org")[2])
        with self.serve() as server:
            self.assertNotIn(b"archive=", server.ask("/")[2])

    def test_a_folder_below_and_what_there_is_not(self):
        with self.serve("--archives") as server:
            _, headers, body = server.ask("/a%20b/?archive=tar")
            self.assertIn('filename="a b.tar"', headers["Content-Disposition"])
            with tarfile.open(fileobj=io.BytesIO(body)) as t:
                self.assertEqual(sorted(t.getnames()), ["deep", "deep/run.sh", "empty", "ü.txt"])
            for path, wanted in (("/none/?archive=tar", 404), ("/.git/?archive=zip", 404),
                                 ("/leads-out/?archive=zip", 404), ("/index.html?archive=zip", 200),
                                 ("/?archive=rar", 200), ("/index.html/?archive=tar", 404)):
                status, headers, _ = server.ask(path)
                self.assertEqual(status, wanted, path)
                self.assertNotIn("archive", headers.get("Content-Disposition", ""))
            status, headers, body = server.ask("/?archive=zip", "HEAD")
            self.assertEqual((status, headers["Content-Type"], body), (200, "application/zip", b""))
        with self.serve() as server:
            self.assertEqual(server.ask("/?archive=zip")[1]["Content-Type"][:9], "text/html")

    def test_an_archive_that_cannot_be_whole_is_broken_off(self):
        with self.serve("--archives", "--archive-files", "3") as server:
            with self.assertRaises(http.client.IncompleteRead):
                server.ask("/?archive=tar")
            self.assertEqual(server.ask("/")[0], 200)

    def test_a_large_archive_takes_little_memory(self):
        size = 200_000_000
        with open(self.site / "huge", "wb") as f:
            f.truncate(size)
        with self.serve("--archives") as server:
            connection = server.connect()
            connection.request("GET", "/?archive=tar")
            answer = connection.getresponse()
            answer.read(1000)

            def resident_kb():
                with open(f"/proc/{server.process.pid}/status", encoding="ascii") as f:
                    return int(next(line for line in f if line.startswith("VmRSS")).split()[1])

            def growth_kb():
                """In the turns that 20 more requests take. A server that read on although the
                client does not would read in each of them, up to the end of the file."""
                before = resident_kb()
                for _ in range(20):
                    self.assertEqual(server.ask("/")[0], 200)
                return resident_kb() - before

            wait_until(growth_kb, "the server's memory to grow no more (kB)", lambda kb: kb < 100)
            self.assertLess(resident_kb(), 150_000)
            got = 1000
            while data := answer.read(1 << 20):
                got += len(data)
            self.assertGreater(got, size)
            connection.close()

    def test_links_to_hidden_names_are_not_in_archives(self):
        self.put(".private/key", "secret")
        (self.site / "open").symlink_to(".private")
        (self.site / "key").symlink_to(".private/key")
        (self.site / "a b" / "up").symlink_to("../index.html")
        with self.serve("--archives") as server:
            self.assertEqual(server.ask("/key")[0], 404)
            self.assertEqual(server.ask("/open/?archive=zip")[0], 404)
            names = zipfile.ZipFile(io.BytesIO(server.ask("/?archive=zip")[2])).namelist()
            self.assertNotIn("key", names)
            self.assertIn("a b/up", names)


if __name__ == "__main__":
    unittest.main()
