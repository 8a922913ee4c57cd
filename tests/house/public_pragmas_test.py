# SPDX-License-Identifier: MIT
"""A public header changes no diagnostic and no packing of the file that includes it."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def unbalanced(text):
    """The lines with a pragma that stays in force at the end of this header."""
    depth, found = {"diagnostic": 0, "pack": 0}, []
    for number, line in enumerate(text.splitlines(), 1):
        pragma = re.match(r'\s*(?:#\s*pragma|_Pragma\(")\s*(.*?)"?\)?$', line)
        if not pragma or pragma[1] == "once":
            continue
        kind = "pack" if pragma[1].startswith("pack") else "diagnostic"
        if re.search(r"\bpush\b", pragma[1]):
            depth[kind] += 1
        elif re.search(r"\bpop\b", pragma[1]):
            depth[kind] -= 1
        elif depth[kind] == 0:
            found.append(number)
    return found + [0] * sum(depth.values())


class PublicPragmas(unittest.TestCase):
    def test_each_pragma_is_between_push_and_pop(self):
        for path in (ROOT / "include").rglob("*.h*"):
            with self.subTest(header=str(path.relative_to(ROOT))):
                self.assertEqual(unbalanced(path.read_text("utf-8")), [])

    def test_the_check_finds_what_stays(self):
        ignored = '#pragma GCC diagnostic ignored "-Wx"\n'
        push, pop = "#pragma GCC diagnostic push\n", "#pragma GCC diagnostic pop\n"
        self.assertEqual(unbalanced("#pragma once\n" + push + ignored + pop), [])
        self.assertEqual(unbalanced(ignored), [1])
        self.assertEqual(unbalanced(push + ignored), [0])
        self.assertEqual(unbalanced("#pragma pack(2)\n"), [1])


if __name__ == "__main__":
    unittest.main()
