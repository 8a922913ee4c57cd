# SPDX-License-Identifier: MIT
"""The QR code that heddle serve draws, read back as a phone would: modules, format, mask, words,
and the remainder that error correction needs."""

import re
import unittest

from program import SiteTest, run

MASKS = (lambda r, c: (r + c) % 2 == 0, lambda r, c: r % 2 == 0, lambda r, c: c % 3 == 0,
         lambda r, c: (r + c) % 3 == 0, lambda r, c: (r // 2 + c // 3) % 2 == 0,
         lambda r, c: r * c % 2 + r * c % 3 == 0, lambda r, c: (r * c % 2 + r * c % 3) % 2 == 0,
         lambda r, c: ((r + c) % 2 + r * c % 3) % 2 == 0)
CHECK_WORDS = {1: 7, 2: 10, 3: 15, 4: 20, 5: 26}
QUIET = 4


def modules(picture):
    """Rows of booleans, dark is true, without the quiet zone."""
    halves = {"\u2588": (0, 0), "\u2580": (0, 1), "\u2584": (1, 0), " ": (1, 1)}
    rows = []
    for line in picture:
        rows += [[halves[c][half] for c in line] for half in (0, 1)]
    side = len(picture[0]) - 2 * QUIET
    return [row[QUIET:QUIET + side] for row in rows[QUIET:QUIET + side]]


def reserved(r, c, side):
    corner = r < 9 and c < 9 or r < 9 and c >= side - 8 or r >= side - 8 and c < 9
    pattern = side > 21 and abs(r - side + 7) <= 2 and abs(c - side + 7) <= 2
    return corner or pattern or r == 6 or c == 6


def format_bits(m):
    """Fifteen bits around the upper left finder, the highest first."""
    places = [(8, c) for c in (0, 1, 2, 3, 4, 5, 7, 8)] + [(r, 8) for r in (7, 5, 4, 3, 2, 1, 0)]
    return sum(m[r][c] << (14 - i) for i, (r, c) in enumerate(places))


def words(m, mask):
    side, bits, right, up = len(m), [], len(m) - 1, True
    while right > 0:
        if right == 6:
            right -= 1
        for r in (range(side - 1, -1, -1) if up else range(side)):
            bits += [m[r][c] ^ mask(r, c) for c in (right, right - 1) if not reserved(r, c, side)]
        right, up = right - 2, not up
    return [int("".join(map(str, map(int, bits[i:i + 8]))), 2) for i in range(0, len(bits) - 7, 8)]


def syndromes(code, count):
    """All zero when the check words fit the text."""
    power, table = 1, []
    for _ in range(255):
        table.append(power)
        power = power * 2 ^ (0x11d if power & 0x80 else 0)
    logs = {value: i for i, value in enumerate(table)}
    result = []
    for i in range(count):
        total = 0
        for word in code:
            total = (table[(logs[total] + i) % 255] if total else 0) ^ word
        result.append(total)
    return result


class ServeQr(SiteTest):
    def setUp(self):
        super().setUp()
        code, _, err = run("serve", str(self.site), "--qr", "--check")
        if "libqrencode" in err:
            self.assertEqual(code, 2)
            self.assertIn("help: ", err)
            self.skipTest("this heddle draws no QR codes")

    def read(self, talk):
        drawn = set("\u2588\u2580\u2584 ")
        lines = [line for line in talk.splitlines() if line and set(line) <= drawn]
        m = modules(lines)
        bits = format_bits(m) ^ 0x5412
        self.assertEqual(bits >> 13, 1, "level L")
        rest = bits
        for i in range(14, 9, -1):
            rest ^= 0x537 << (i - 10) if rest >> i & 1 else 0
        self.assertEqual(rest, 0, "the format's check bits")
        code = words(m, MASKS[bits >> 10 & 7])
        version = (len(m) - 17) // 4
        self.assertEqual(set(syndromes(code, CHECK_WORDS[version])), {0})
        stream = "".join(f"{word:08b}" for word in code)
        self.assertEqual(stream[:4], "0100")
        length = int(stream[4:12], 2)
        return bytes(int(stream[12 + 8 * i:20 + 8 * i], 2) for i in range(length)).decode(), version

    def test_it_says_the_address_in_every_size(self):
        for bind, versions in (("127.0.0.1", {2}), ("::1", {1, 2}), ("127.100.100.100", {2, 3})):
            with self.serve("--qr", "--bind", bind) as server:
                server.stop()
                url = f"http://{bind if ':' not in bind else '[' + bind + ']'}:{server.port}/"
                text, version = self.read(server.talk)
                self.assertEqual(text, url)
                self.assertIn(version, versions)

    def test_with_public_it_says_an_address_that_others_reach(self):
        with self.serve("--public", "--qr") as server:
            server.stop()
            others = re.findall(r"network  (http://\S+)", server.talk)
            if not others:
                self.skipTest("this machine has no network address")
            self.assertEqual(self.read(server.talk)[0], others[0])
            self.assertNotIn("127.0.0.1", others[0])


if __name__ == "__main__":
    unittest.main()
