# SPDX-License-Identifier: MIT
"""A user's program, compiled with each compiler at each level of optimization and run.

The libraries are those of the build that HEDDLE_BUILD names, or of build/release."""

import functools
import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HEDDLE_BUILD", ROOT / "build/release"))
COMPILERS = [c for c in ("clang++-19", "g++-12") if shutil.which(c)]
LEVELS = ("-O0", "-O1", "-Og", "-O2", "-O3")
# Each before those that it needs.
LIBRARIES = ("acme", "proxy", "client", "web", "tls", "net", "nats", "fakes", "http", "tcp",
             "names", "bus", "xdr", "fiber")
FLAGS = ["-std=c++23", f"-I{ROOT / 'include'}"]


@functools.cache
def links():
    """What a program links; pkg-config knows what our libraries need beside."""
    found = [BUILD / f"lib/libheddle_{name}.a" for name in LIBRARIES] + [BUILD / "lib/libheddle.a"]
    words = ["-Wl,--start-group", *[str(path) for path in found if path.exists()],
             "-Wl,--end-group"]
    for package in ("liburing", "openssl", "libcares", "zlib", "libbrotlienc", "libbrotlidec",
                    "libzstd"):
        done = subprocess.run(["pkg-config", "--libs", package], capture_output=True, text=True)
        words += done.stdout.split()
    return words + ["-pthread"]


def launched(compiler):
    return [shutil.which("ccache"), compiler] if shutil.which("ccache") else [compiler]


def objects(compiler, source, target, *flags):
    """Compiles a file; what the compiler said, or None if it was content."""
    done = subprocess.run([*launched(compiler), *FLAGS, *flags, "-c", source, "-o", target],
                          capture_output=True, text=True, timeout=280,
                          env=os.environ | {"LC_ALL": "C"})
    return done.stderr if done.returncode else None


def ran(compiler, folder, text, *flags, limit_s=60):
    """Compiles, links and runs a program: (exit status, output), with status None if it was not
    made."""
    source, target = folder / "program.cc", folder / "program"
    source.write_text(text, "utf-8")
    wrong = objects(compiler, source, folder / "program.o", *flags)
    if wrong:
        return None, wrong
    linked = subprocess.run([compiler, *flags, folder / "program.o", "-o", target, *links()],
                            capture_output=True, text=True)
    if linked.returncode:
        return None, linked.stderr
    done = subprocess.run([target], capture_output=True, text=True, timeout=limit_s)
    return done.returncode, done.stdout + done.stderr
