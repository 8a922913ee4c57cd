# SPDX-License-Identifier: MIT
"""Builds the rivals under bench/rivals/ into build/bench/rivals, each with release settings.

A rival that cannot be built is not an error: `missing` says why, and the report lists it.
"""

import os
import shutil
import subprocess


CPP_RIVALS = ("beast", "boost_fiber", "ceiling", "load", "nfs", "nptl", "pth")


class Rivals:
    """Where built rivals are; `path` gives a program, `missing` the reasons for the others."""

    def __init__(self, root, say):
        self.root = root
        self.source = root / "bench" / "rivals"
        self.build = root / "build" / "bench" / "rivals"
        self.say = say
        self.missing = {}
        self.built_cpp = False

    def path(self, name, program):
        """The program, or None once `missing` says why."""
        found = self.build / name / program
        if found.exists():
            return found
        self.missing.setdefault(name, "its libraries were not found when it was configured")
        return None

    def build_cpp(self, targets=()):
        """All of them, or only these programs."""
        if self.built_cpp:
            return
        self.built_cpp = not targets
        compiler = shutil.which("clang++-19") or shutil.which("g++") or ""
        self.say(f"building the C++ rivals with {os.path.basename(compiler) or 'no compiler'}")
        configure = ["cmake", "-S", self.source, "-B", self.build, "-DCMAKE_BUILD_TYPE=Release",
                     f"-DCMAKE_CXX_COMPILER={compiler}"]
        if shutil.which("ninja"):
            configure += ["-G", "Ninja"]
        jobs = str(os.cpu_count() or 1)
        build = ["cmake", "--build", self.build, "-j", jobs]
        build += ["--target", *targets] if targets else []
        for command in (configure, build):
            why = self._try(command)
            if why:
                for name in CPP_RIVALS:
                    self.missing.setdefault(name, why)
                return

    def build_go(self):
        if not shutil.which("go"):
            self.missing["go"] = "no go command"
            return
        self.say("building the rivals in Go")
        # What is here has no dependencies; another Go than the one at hand is not fetched.
        env = {**os.environ, "GOTOOLCHAIN": "local"}
        for program, package in (("core", "."), ("http", "./http")):
            why = self._try(["go", "build", "-trimpath", "-o", self.build / "go" / program,
                             package], cwd=self.source / "go", env=env)
            if why:
                self.missing["go"] = why

    def build_rust(self, name, programs):
        """Cargo works on a copy, so that it writes nothing into the source tree.

        `programs` are the names that we want and those that Cargo gives.
        """
        if not shutil.which("cargo"):
            self.missing[name] = "no cargo command"
            return
        copy = self.build / name
        shutil.copytree(self.source / name, copy, dirs_exist_ok=True)
        self.say(f"building {name} in Rust (fetches it the first time)")
        why = self._try(["cargo", "build", "--release", "--quiet"], cwd=copy)
        if why:
            self.missing[name] = why
            return
        for program, made in programs.items():
            shutil.copy2(copy / "target" / "release" / made, copy / program)

    @staticmethod
    def _try(command, cwd=None, env=None):
        """None, or the last line of what a failed command said."""
        try:
            done = subprocess.run([str(c) for c in command], cwd=cwd, env=env, text=True,
                                  timeout=900, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        if done.returncode == 0:
            return None
        errors = [line for line in done.stdout.splitlines() if "error" in line.lower()]
        return (errors or done.stdout.strip().splitlines() or ["no message"])[0].strip()
