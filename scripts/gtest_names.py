# SPDX-License-Identifier: MIT
"""Names of tests in a program of GoogleTest, as scripts/mutate and scripts/hunt choose them."""

import re


def names_listed(text):
    """suite.test of each line of --gtest_list_tests."""
    names, suite = [], ""
    for line in text.splitlines():
        if line.startswith("  "):
            names.append(suite + line[2:].split("  #")[0].rstrip())
        elif re.match(r"\S+\.(  #.*)?$", line):
            suite = line.split("  #")[0].rstrip()
    return names


def filter_for(name):
    """A filter for one name: some of its characters mean something there."""
    return re.sub(r"[:\-*?\[\]]", "?", name)
