# SPDX-License-Identifier: MIT
"""--upload: files that visitors put into a folder, whole or not at all."""

import os
import socket
import threading
import unittest

from program import LIMIT_S, SiteTest, wait_until


def form(*files, boundary="xyz"):
    """The body of a form with these (name, bytes), and its content type."""
    body = b""
    for name, data in files:
        body += (f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"'
                 "\r\nContent-Type: application/octet-stream\r\n\r\n").encode() + data + b"\r\n"
    return body + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


class Uploads(SiteTest):
    def setUp(self):
        super().setUp()
        (self.site / "inbox").mkdir()

    def inbox(self):
        return sorted(os.listdir(self.site / "inbox"))

    def test_a_file_is_put_and_read_back(self):
        data = os.urandom(300_000)
        with self.serve("--upload", "/inbox/*") as server:
            status, headers, _ = server.ask("/inbox/a%20b.bin", "PUT", data)
            self.assertEqual((status, headers["Location"]), (201, "/inbox/a%20b.bin"))
            self.assertEqual(server.ask("/inbox/a%20b.bin")[2], data)
            self.assertEqual(self.inbox(), ["a b.bin"])
            self.assertEqual(os.stat(self.site / "inbox" / "a b.bin").st_nlink, 1)
            status, _, body = server.ask("/inbox/a%20b.bin", "PUT", b"other")
            self.assertEqual(status, 409)
            self.assertIn(b"replaces no files", body)
            self.assertEqual((self.site / "inbox" / "a b.bin").read_bytes(), data)

    def test_nothing_is_left_of_a_form_that_is_refused(self):
        good, kind = form(("a.txt", b"one"), ("b.txt", b"two"))
        end = good.index(b"--xyz--")
        second = good.index(b"--xyz", 1)
        refused = {
            "a line that only begins like the boundary": (
                good.replace(b"one", b"one\r\n--xyzY more"), 400),
            "no end": (good[:end], 400),
            "cut inside the second file": (good[:end - 8], 400),
            "no name": (good.replace(b"b.txt", b".."), 400),
            "a hidden name": (good.replace(b"b.txt", b".b"), 403),
            "the name of a folder": (good.replace(b"b.txt", b"deep"), 409),
            "one name twice": (good.replace(b"b.txt", b"a.txt"), 409),
            "a name that is taken": (good.replace(b"b.txt", b"taken"), 409),
            "a broken head": (good[:second] + b"--xyz\r\nbroken\r\n\r\nx\r\n--xyz--\r\n", 400),
        }
        self.put("inbox/taken", "before")
        (self.site / "inbox/deep").mkdir()
        before = self.inbox()
        with self.serve("--upload", "/inbox/*") as server:
            for what, (body, status) in refused.items():
                with self.subTest(what):
                    got = server.ask("/inbox/", "POST", body, Content_Type=kind)
                    self.assertEqual(got[0], status, got)
                    self.assertEqual(self.inbox(), before)
            self.assertEqual((self.site / "inbox/taken").read_bytes(), b"before")
            self.assertEqual(server.ask("/inbox/", "POST", good, Content_Type=kind)[0], 303)
            self.assertEqual(self.inbox(), sorted([*before, "a.txt", "b.txt"]))
        with self.serve("--upload", "/inbox/*", "--upload-replace") as server:
            got = server.ask("/inbox/", "POST", good[:end].replace(b"a.txt", b"taken"),
                             Content_Type=kind)
            self.assertEqual(got[0], 400)
            self.assertEqual((self.site / "inbox/taken").read_bytes(), b"before")

    def test_a_location_names_this_server(self):
        body, kind = form(("a.txt", b"one"))
        with self.serve("--upload", "/inbox/*") as server:
            got = server.ask("//inbox/", "POST", body, Content_Type=kind)
            self.assertEqual((got[0], got[1]["Location"]), (303, "/inbox/"))
            got = server.ask("///inbox/b.txt", "PUT", b"b")
            self.assertEqual((got[0], got[1]["Location"]), (201, "/inbox/b.txt"))
            got = server.ask("/inbox", over=None)
            self.assertEqual((got[0], got[1]["Location"]), (301, "/inbox/"))

    def test_allow_has_the_methods_of_the_place(self):
        with self.serve("--upload", "/inbox/*") as server:
            for path, allow in (("/inbox/a", "GET, HEAD, PUT"), ("/inbox/", "GET, HEAD, POST"),
                                ("/other", "GET, HEAD")):
                for method, status in (("DELETE", 405), ("OPTIONS", 405), ("BREW", 501)):
                    got = server.ask(path, method)
                    self.assertEqual((got[0], got[1]["Allow"]), (status, allow), (path, method))

    def test_the_lists_of_folders_that_take_files_have_a_form(self):
        (self.site / "index.html").unlink()
        (self.site / "inbox/deep").mkdir()
        (self.site / "other").mkdir()
        with self.serve("--upload", "/inbox/*") as server:
            for path in ("/inbox/", "/inbox/?sort=-time", "/inbox/deep/"):
                page = server.ask(path, Accept="text/html")[2]
                self.assertIn(b'<form method="post" action="./"', page)
                self.assertNotIn(b"<script", page)
            for path in ("/", "/other/"):
                self.assertNotIn(b"<form", server.ask(path)[2], path)
        with self.serve() as server:
            self.assertNotIn(b"<form", server.ask("/inbox/")[2])

    def test_only_where_it_is_allowed(self):
        with self.serve("--upload", "/inbox/*") as server:
            for path, wanted in (("/x", 405), ("/inbox/../x", 405),
                                 ("/inbox/%2e%2e/x", 405), ("/other/../inbox/y", 201),
                                 ("/inbox/.x", 403), ("/inbox/none/x", 404), ("/inbox/", 400),
                                 ("/inbox/.git/x", 403), ("/inbox/%00", 405)):
                self.assertEqual(server.ask(path, "PUT", b"x")[0], wanted, path)
            self.assertEqual((self.inbox(), sorted(os.listdir(self.site))),
                             (["y"], ["inbox", "index.html"]))
        with self.serve() as server:
            self.assertEqual(server.ask("/inbox/x", "PUT", b"x")[0], 405)

    def test_links_lead_out_of_nowhere(self):
        outside = self.root / "outside"
        outside.mkdir()
        (self.site / "inbox" / "out").symlink_to(outside)
        (self.site / "inbox" / "link").symlink_to(outside / "target")
        with self.serve("--upload", "/inbox/*", "--upload-replace") as server:
            self.assertEqual(server.ask("/inbox/out/x", "PUT", b"x")[0], 404)
            self.assertEqual(server.ask("/inbox/link", "PUT", b"x")[0], 409)
            self.assertEqual(os.listdir(outside), [])

    def test_replacing_is_a_choice_of_the_server_and_of_the_client(self):
        self.put("inbox/old", "old")
        with self.serve("--upload", "/inbox/*", "--upload-replace") as server:
            self.assertEqual(server.ask("/inbox/old", "PUT", b"new")[0], 204)
            self.assertEqual((self.site / "inbox" / "old").read_bytes(), b"new")
            self.assertEqual(server.ask("/inbox/old", "PUT", b"x", If_None_Match="*")[0], 412)
            self.assertEqual(server.ask("/inbox/old", "PUT", b"x",
                                        Content_Range="bytes 0-0/9")[0], 400)
            self.assertEqual(server.ask("/inbox/old", "PUT", b"x", Content_Encoding="gzip")[0], 415)
            self.assertEqual((self.site / "inbox" / "old").read_bytes(), b"new")

    def test_a_broken_upload_leaves_nothing(self):
        with self.serve("--upload", "/inbox/*", "--upload-bytes", "64K") as server:
            self.assertEqual(server.ask("/inbox/x", "PUT", bytes(65537))[0], 413)
            with socket.create_connection((server.host, server.port), LIMIT_S) as broken:
                broken.sendall(b"PUT /inbox/x HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n1234")
                begun = wait_until(self.inbox, "a file that is being written")
                self.assertTrue(begun[0].startswith(".upload."), begun)
                self.assertEqual(server.ask("/inbox/x")[0], 404)
            wait_until(self.inbox, "an empty folder", lambda names: not names)
            self.assertEqual(server.ask("/inbox/x", "PUT", bytes(65536))[0], 201)

    def test_one_of_several_at_once_wins(self):
        with self.serve("--upload", "/inbox/*", "-w", "2") as server:
            answers = []
            threads = [threading.Thread(target=lambda n=n: answers.append(
                (server.ask("/inbox/x", "PUT", str(n).encode() * 5000)[0], n))) for n in range(8)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            won = [n for status, n in answers if status == 201]
            self.assertEqual((len(won), {s for s, _ in answers}), (1, {201, 409}))
            self.assertEqual((self.site / "inbox" / "x").read_bytes(), str(won[0]).encode() * 5000)
            self.assertEqual(self.inbox(), ["x"])

    def test_a_form_of_a_browser(self):
        body, kind = form(("C:\\a\\one.txt", b"1"), ("two.txt", b"2" * 100_000), ("", b""))
        with self.serve("--upload", "/inbox/*") as server:
            self.assertIn(b"type=file", server.ask("/inbox/?upload")[2])
            status, headers, _ = server.ask("/inbox/", "POST", body, Content_Type=kind)
            self.assertEqual((status, headers["Location"]), (303, "/inbox/"))
            self.assertEqual(self.inbox(), ["one.txt", "two.txt"])
            for name, wanted in (("..", 400), (".hidden", 403), ("one.txt", 409), ("a\x01", 400)):
                bad, kind = form((name, b"x"))
                self.assertEqual(server.ask("/inbox/", "POST", bad, Content_Type=kind)[0], wanted)
            self.assertEqual(self.inbox(), ["one.txt", "two.txt"])

    def test_a_page_of_another_site_stores_nothing(self):
        body, kind = form(("x", b"x"))
        with self.serve("--upload", "/inbox/*") as server:
            for fields in ({"Origin": "http://evil.example.com"}, {"Sec_Fetch_Site": "cross-site"},
                           {"Origin": "null"}):
                self.assertEqual(server.ask("/inbox/", "POST", body, Content_Type=kind,
                                            **fields)[0], 403)
            own = f"http://{server.host}:{server.port}"
            self.assertEqual(server.ask("/inbox/", "POST", body, Content_Type=kind,
                                        Origin=own, Sec_Fetch_Site="same-origin")[0], 303)

    def test_conditions_of_a_put_are_kept(self):
        self.put("inbox/old", "old")
        with self.serve("--upload", "/inbox/*", "--upload-replace", "--recheck", "0s") as server:
            tag = server.ask("/inbox/old")[1]["ETag"]
            self.assertEqual(server.ask("/inbox/old", "PUT", b"one", If_Match=tag)[0], 204)
            for fields in ({"If_Match": tag}, {"If_Match": '"x"'}, {"If_None_Match": "*"},
                           {"If_Unmodified_Since": "Mon, 01 Jan 2001 00:00:00 GMT"}):
                self.assertEqual(server.ask("/inbox/old", "PUT", b"two", **fields)[0], 412, fields)
            self.assertEqual(server.ask("/inbox/new", "PUT", b"x", If_Match="*")[0], 412)
            self.assertEqual((self.site / "inbox" / "old").read_bytes(), b"one")


if __name__ == "__main__":
    unittest.main()
