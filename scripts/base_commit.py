# SPDX-License-Identifier: MIT
"""The commit that .ci/base names, and the files that differ from a commit: scripts/affected and
scripts/includes choose by them what to check."""

import subprocess


def git(root, *words):
    return subprocess.run(["git", "-C", root, *words], capture_output=True, text=True)


def base(root):
    """The commit in .ci/base, and None; or None, and why that commit cannot be used."""
    try:
        commit = (root / ".ci/base").read_text("utf-8").strip()
    except OSError:
        return None, ".ci/base is missing"
    if git(root, "cat-file", "-e", f"{commit}^{{commit}}").returncode != 0:
        return None, f".ci/base names {commit[:12] or 'nothing'}, which is not in this clone"
    if git(root, "merge-base", "--is-ancestor", commit, "HEAD").returncode != 0:
        return None, f".ci/base names {commit[:12]}, which is not an ancestor of HEAD"
    return commit, None


def changed_files(commit, root):
    """The names of files that differ between a commit and the work tree, untracked ones among them,
    and None; or None, and why the commit cannot be used."""
    if git(root, "cat-file", "-e", f"{commit}^{{commit}}").returncode != 0:
        return None, f"commit {commit} is not in this clone"
    names = git(root, "diff", "--name-only", "--no-renames", commit).stdout.split("\n")
    names += git(root, "ls-files", "-o", "--exclude-standard").stdout.split("\n")
    return sorted(set(filter(None, names))), None
