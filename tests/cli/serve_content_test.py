# SPDX-License-Identifier: MIT
"""What a client gets of a file: packed forms, ranges, conditions, changes. The judges are Python's
own gzip and its parser of multipart messages."""

import email.parser
import email.policy
import email.utils
import gzip
import os
import re
import subprocess
import socket
import time
import unittest

from program import SiteTest

TEXT = b"".join(b"line %d of a text that packs well\n" % i for i in range(3000))


class ServeNames(SiteTest):
    def test_what_was_asked_before_does_not_change_which_file_is_meant(self):
        self.put("a%41", "percent")
        self.put("aA", "plain")
        self.put("x%2Fy", "slash")
        with self.serve() as server:
            for _ in range(2):
                self.assertEqual(server.ask("/a%41")[::2], (200, b"plain"))
                self.assertEqual(server.ask("/x%2Fy")[0], 400)
                self.assertEqual(server.ask("/a%2541")[::2], (200, b"percent"))
                self.assertEqual(server.ask("/x%252Fy")[::2], (200, b"slash"))

    def test_a_backslash_is_a_letter_of_a_name(self):
        self.put("back\\slash", "found")
        (self.site / "index.html").unlink()
        with self.serve() as server:
            self.assertEqual(server.ask("/back%5Cslash")[::2], (200, b"found"))
            self.assertEqual(server.ask("/..%5Csite%5Cback%5Cslash")[0], 404)
            link = re.search(r'href="\./(back[^"]*)"', server.ask("/")[2].decode())[1]
            self.assertEqual(server.ask("/" + link)[::2], (200, b"found"))

    def test_sockets_find_nothing_and_names_that_cannot_be_asked_for_are_not_listed(self):
        self.put("new\nrow", "")
        self.put("good", "")
        (self.site / "index.html").unlink()
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(self.site / "sock"))
            with self.serve() as server:
                self.assertEqual(server.ask("/sock")[0], 404)
                page = server.ask("/")[2].decode()
                self.assertIn("good", page)
                self.assertNotIn("row", page.split("<ul>")[-1])
                self.assertNotIn("sock", page)

    def test_a_date_in_the_future_is_not_told(self):
        path = self.put("later", "x")
        os.utime(path, (time.time() + 10**8, time.time() + 10**8))
        with self.serve() as server:
            headers = server.ask("/later")[1]
            read = email.utils.parsedate_to_datetime
            self.assertLessEqual(read(headers["Last-Modified"]), read(headers["Date"]))


class ServePacked(SiteTest):
    def beside(self, name, data, age_s=0):
        path = self.put(name, data)
        then = time.time() - age_s
        os.utime(path, (then, then))

    def test_a_packed_file_beside_it_is_sent_to_who_takes_it(self):
        self.beside("app.js", TEXT, age_s=10)
        self.beside("app.js.gz", gzip.compress(TEXT))
        self.beside("app.js.br", b"brotli")
        self.beside("app.js.zst", b"zstandard")
        wanted = {
            "br, gzip;q=0.9": "br", "gzip": "gzip", "x-gzip": "gzip", "zstd, gzip": "zstd",
            "gzip, deflate, br, zstd": "br", "*": "br", "gzip;q=1, br;q=0.5": "gzip",
            "*;q=0.5, br;q=0": "zstd", "BR": "br", "deflate": None, "": None,
            "identity": None, "gzip;q=0": None, "gzip;q=0.3, identity;q=0.8": None,
        }
        with self.serve() as server:
            plain = server.ask("/app.js")
            self.assertEqual(plain[2], TEXT)
            self.assertEqual(plain[1]["Vary"], "Accept-Encoding")
            tags = {plain[1]["ETag"]}
            for accepted, coding in wanted.items():
                _, headers, body = server.ask("/app.js", Accept_Encoding=accepted)
                self.assertEqual(headers["Content-Encoding"], coding, accepted)
                self.assertEqual(headers["Content-Type"], plain[1]["Content-Type"])
                self.assertEqual(headers["Vary"], "Accept-Encoding")
                self.assertEqual(int(headers["Content-Length"]), len(body))
                if coding == "gzip":
                    self.assertEqual(gzip.decompress(body), TEXT)
                tags.add(headers["ETag"])
            self.assertEqual(len(tags), 4)
            tag = server.ask("/app.js", Accept_Encoding="br")[1]["ETag"]
            self.assertEqual(server.ask("/app.js", Accept_Encoding="br", If_None_Match=tag)[0], 304)
            self.assertEqual(server.ask("/app.js", If_None_Match=tag)[0], 200)

    def test_a_packed_file_that_is_older_is_out_of_date_and_not_sent(self):
        self.beside("a.css", "new")
        self.beside("a.css.gz", gzip.compress(b"old"), age_s=60)
        with self.serve() as server:
            _, headers, body = server.ask("/a.css", Accept_Encoding="gzip")
            self.assertEqual((headers["Content-Encoding"], body), (None, b"new"))
        self.beside("a.css.gz", gzip.compress(b"new"))
        with self.serve("--no-precompressed") as server:
            self.assertEqual(server.ask("/a.css", Accept_Encoding="gzip")[2], b"new")

    def test_a_file_too_large_to_keep_is_sent_packed_or_plain(self):
        self.beside("big.js", TEXT, age_s=10)
        self.beside("big.js.gz", gzip.compress(TEXT))
        with self.serve("--cached-file", "40K") as server:
            for _ in range(2):
                body = server.ask("/big.js", Accept_Encoding="gzip")[2]
                self.assertEqual(gzip.decompress(body), TEXT)
                _, headers, body = server.ask("/big.js")
                self.assertEqual((body, headers["Vary"]), (TEXT, "Accept-Encoding"))

    def test_text_is_packed_on_the_fly_when_that_was_asked_for(self):
        self.put("page.html", TEXT)
        self.put("small.html", "<p>")
        self.put("photo.jpg", TEXT)
        with self.serve("--compress", "--metrics") as server:
            for _ in range(3):
                _, headers, body = server.ask("/page.html", Accept_Encoding="gzip")
                self.assertEqual(headers["Content-Encoding"], "gzip")
                self.assertEqual(gzip.decompress(body), TEXT)
            _, headers, body = server.ask("/page.html")
            self.assertEqual((headers["Content-Encoding"], body), (None, TEXT))
            self.assertEqual(headers["Vary"], "Accept-Encoding")
            tags = {headers["ETag"], server.ask("/page.html", Accept_Encoding="gzip")[1]["ETag"]}
            for coding, unpack in (("br", "brotli"), ("zstd", "zstd")):
                for _ in range(3):
                    _, headers, body = server.ask("/page.html", Accept_Encoding=f"gzip, {coding}")
                    self.assertEqual(headers["Content-Encoding"], coding)
                    plain = subprocess.run([unpack, "-dc"], input=body, capture_output=True,
                                           check=True, timeout=20).stdout
                    self.assertEqual(plain, TEXT)
                tags.add(headers["ETag"])
            self.assertEqual(len(tags), 4)
            for name in ("/small.html", "/photo.jpg"):
                headers = server.ask(name, Accept_Encoding="gzip")[1]
                self.assertIsNone(headers["Content-Encoding"], name)
            self.assertIn(b"\nheddle_files_compressed_total 3\n", server.ask("/metrics")[2])
        with self.serve() as server:
            headers = server.ask("/page.html", Accept_Encoding="gzip")[1]
            self.assertIsNone(headers["Content-Encoding"])
            self.assertIsNone(headers["Vary"])


class ServeParts(SiteTest):
    def setUp(self):
        super().setUp()
        self.put("text.txt", TEXT)

    def parts(self, headers, body):
        head = f"Content-Type: {headers['Content-Type']}\r\n\r\n".encode()
        message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
        self.assertEqual(message.get_content_type(), "multipart/byteranges")
        self.assertEqual(message.defects, [])
        # The parser forgives bare line feeds; RFC 2046 does not.
        lines = body.count(b"\r\n--" + message.get_boundary().encode())
        self.assertEqual(lines, len(message.get_payload()) + 1)
        return [(p["Content-Range"], p.get_payload(decode=True)) for p in message.iter_parts()]

    def test_ranges_one_several_and_none_are_what_was_asked_for(self):
        size = len(TEXT)
        for words in ((), ("--cached-file", "1K")):  # from memory, and from the file
            with self.serve(*words) as server:
                status, headers, body = server.ask("/text.txt", Range="bytes=10-19")
                self.assertEqual((status, body), (206, TEXT[10:20]))
                self.assertEqual(headers["Content-Range"], f"bytes 10-19/{size}")
                status, headers, body = server.ask("/text.txt", Range="bytes=0-3, -5, 100-104")
                self.assertEqual(status, 206)
                self.assertEqual(self.parts(headers, body), [
                    (f"bytes 0-3/{size}", TEXT[:4]),
                    (f"bytes {size - 5}-{size - 1}/{size}", TEXT[-5:]),
                    (f"bytes 100-104/{size}", TEXT[100:105])])
                self.assertEqual(int(headers["Content-Length"]), len(body))
                status, headers, _ = server.ask("/text.txt", Range=f"bytes={size}-")
                self.assertEqual((status, headers["Content-Range"]), (416, f"bytes */{size}"))
                self.assertEqual(server.ask("/text.txt", Range="lines=1-2")[0], 200)
        with self.serve("--cached-file", "1K") as server:  # together larger than what is kept
            status, _, body = server.ask("/text.txt", Range="bytes=0-999, 2000-2999")
            self.assertEqual((status, body), (200, TEXT))

    def test_if_range_sends_the_part_of_the_same_file_and_the_whole_of_another(self):
        with self.serve() as server:
            tag = server.ask("/text.txt")[1]["ETag"]
            self.assertEqual(server.ask("/text.txt", Range="bytes=0-1", If_Range=tag)[0], 206)
            self.assertEqual(server.ask("/text.txt", Range="bytes=0-1", If_Range='"x"')[0], 200)

    def test_a_change_shows_once_the_file_is_looked_at_again(self):
        with self.serve("--recheck", "60s") as server:
            before = server.ask("/text.txt")
            self.put("text.txt", "new")
            self.assertEqual(server.ask("/text.txt")[2], before[2])  # trusted
        with self.serve("--recheck", "0ms") as server:
            tags = set()
            for text in (b"first", b"other", b"third"):  # of one size
                self.put("text.txt", text)
                _, headers, body = server.ask("/text.txt")
                self.assertEqual(body, text)
                tags.add(headers["ETag"])
            self.assertEqual(len(tags), 3)
            (self.site / "text.txt").unlink()
            self.assertEqual(server.ask("/text.txt")[0], 404)
            self.put("text.txt.gz", gzip.compress(b"again"))
            self.put("text.txt", "again")
            os.utime(self.site / "text.txt", (1, 1))
            self.assertIsNone(server.ask("/text.txt")[1]["Content-Encoding"])
            headers = server.ask("/text.txt", Accept_Encoding="gzip")[1]
            self.assertEqual(headers["Content-Encoding"], "gzip")

    def test_a_change_shows_although_time_and_size_are_what_they_were(self):
        """As tar and rsync leave it: the content is new, the modification time is set back."""
        def put(text):
            path = self.put("app.js", text)
            os.utime(path, (1_700_000_000, 1_700_000_000))

        put("version 1")
        with self.serve("--recheck", "0ms") as server:
            before = server.ask("/app.js")
            put("version 2")
            status, headers, body = server.ask("/app.js")
            self.assertEqual((before[2], status, body), (b"version 1", 200, b"version 2"))
            self.assertEqual(headers["Last-Modified"], before[1]["Last-Modified"])
            self.assertNotEqual(headers["ETag"], before[1]["ETag"])
            tag = before[1]["ETag"]
            self.assertEqual(server.ask("/app.js", If_None_Match=tag)[0], 200)
        with self.serve("--cached-file", "1") as server:  # each time from the file
            self.assertEqual(server.ask("/app.js", If_None_Match=tag)[0], 200)

    def test_many_files_stay_within_the_cache(self):
        for i in range(50):
            self.put(f"many/{i}.txt", TEXT[:10_000])
        with self.serve("--cache", "100K", "--metrics") as server:
            for i in range(50):
                self.assertEqual(server.ask(f"/many/{i}.txt")[2], TEXT[:10_000])
            page = server.ask("/metrics")[2].decode()
        values = dict(line.split(" ") for line in page.splitlines() if line.startswith("heddle_f"))
        self.assertLessEqual(int(values["heddle_files_cached_bytes"]), 100 << 10)
        self.assertEqual(int(values["heddle_files_cached"]), 9)
        self.assertEqual(int(values["heddle_files_evictions_total"]), 41)


if __name__ == "__main__":
    unittest.main()
