# SPDX-License-Identifier: MIT
"""heddle and its verbs but serve: help, doctor, explain, and what is said of mistakes."""

import json
import pathlib
import re
import tempfile
import unittest

from program import run

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Verbs(unittest.TestCase):
    def test_no_argument_shows_examples_that_name_real_verbs(self):
        code, out, err = run()
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out, run("-h")[1])
        for line in out.splitlines():
            if line.startswith("  heddle "):
                verb = line.split()[1]
                self.assertEqual(run(verb, "--help")[0], 0, line)

    def test_a_wrong_verb_suggests_the_nearest(self):
        code, out, err = run("sevre")
        self.assertEqual((code, out), (2, ""))
        self.assertEqual(err, "error: there is no verb 'sevre'\n  help: did you mean 'serve'?\n")

    def test_the_help_of_serve_fits_a_screen(self):
        code, out, _ = run("serve", "--help")
        self.assertEqual(code, 0)
        self.assertLessEqual(len(out.splitlines()), 24)
        self.assertLessEqual(max(map(len, out.splitlines())), 100)
        for flag in ("--public", "--spa", "--cors", "--auth", "--metrics", "--qr"):
            self.assertIn(flag, out)
        self.assertIn("--idle-timeout", run("serve", "--help-limits")[1])

    def test_the_defaults_in_the_reference_are_those_of_the_help(self):
        """The help reads them from the options themselves."""
        # The words of the help, where they are others than those of the reference.
        in_words = {"connections-per-address": "three", "held": "twice", "trusted-field": "the"}
        for verb, at_least in (("serve", 25), ("proxy", 15)):
            helps = "".join(run(verb, flag)[1] for flag in ("--help", "--help-site",
                                                            "--help-limits"))
            shown = dict(re.findall(r"--([\w-]+) .*\(default ([^ ;)]+?)(?:[,:]? |[;)])", helps))
            shown |= {name: words for name, words in
                      re.findall(r"--([\w-]+) .* (\S+) \(default\)", helps)}
            self.assertGreaterEqual(len(shown), at_least, verb)
            told = {}
            page = (ROOT / f"docs/reference/{verb}.md").read_text()
            for names, default in re.findall(r"^\| (`[^|]*) \|[^|]*\| ([^|]*) \|", page, re.M):
                names = re.findall(r"`([a-z][\w-]+)`", names)
                told |= zip(names, default.split(", ") if len(names) > 1 else [default])
            for name, default in shown.items():
                if name in told and in_words.get(name) != default:
                    self.assertEqual(told[name], default, f"{verb}.md: {name}")

    def test_every_verb_has_both_forms_of_help(self):
        for verb in ("serve", "proxy", "doctor", "explain", "optimize", "graph"):
            long_form = run(verb, "--help")
            self.assertEqual(long_form[0], 0, verb)
            self.assertEqual(run(verb, "-h"), long_form, verb)

    def test_a_wrong_option_of_any_verb_suggests_the_nearest(self):
        code, _, err = run("doctor", "--jsn")
        self.assertEqual(code, 2)
        self.assertEqual(err, "error: heddle doctor has no option --jsn\n  help: did you mean "
                              "--json? heddle doctor --help lists the options\n")

    def test_a_verb_is_the_first_word_only(self):
        """A word that equals a verb's name is a value, wherever the verb takes one."""
        listed = run("--help")[1].split("Subcommands:\n")[1].splitlines()
        verbs = [line.split()[0] for line in listed if line.startswith("  ")]
        self.assertGreater(len(verbs), 8)
        for verb in verbs:
            if verb in ("tame", "cert"):  # they take unknown words
                continue
            for word in verbs:
                err = run(verb, word, "--no-such-option")[2]
                self.assertRegex(err, f"heddle {verb} has no option --no-such-option|is required")
                self.assertIn(f"heddle {verb} --help", err)
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "a.tcc")
            source.write_text("tamed static void f(CLOSURE) { }\n")
            for dialect in ("tame", "tamer"):
                code, out, err = run("tame", "--dialect", dialect, str(source))
                self.assertEqual(code, 0, err)
                self.assertIn("1 tamed function", err)
        for word in ("run", "fmt", "lsp", "syntax"):  # the commands of draft
            err = run("draft", "-o", word, "--no-such-option")[2]
            self.assertIn("heddle draft has no option --no-such-option", err)

    def test_explain_without_a_name_lists_the_names(self):
        code, out, err = run("explain")
        self.assertEqual((code, err), (0, ""))
        listed = [line.split()[0] for line in out.splitlines() if line.startswith("  ")]
        known = run("explain", "nothing")[2].split("the diagnostics are ")[1].strip()
        self.assertEqual(listed, re.split(", |; and ", known))

    def test_doctor_speaks_json_and_agrees_with_itself(self):
        code, out, _ = run("doctor", "--json")
        report = json.loads(out)
        self.assertEqual(report["schema"], 1)
        usable = {f["what"] for f in report["findings"] if f["ok"]}
        self.assertEqual(code, 0 if "driver " + report["driver"] in usable else 1)
        for finding in report["findings"]:
            self.assertTrue(finding["ok"] or finding["advice"], finding)

    def test_doctor_says_when_the_named_driver_does_not_exist(self):
        code, out, _ = run("doctor", "--json", HEDDLE_DRIVER="steam")
        self.assertEqual(code, 1)
        self.assertIn("io_uring, epoll, poll", json.loads(out)["why"])

    def test_a_mistake_in_the_environment_is_the_users(self):
        code, _, err = run("serve", "-p", "0", "/", HEDDLE_DIAGNOSTICS="two-waiters=loud")
        self.assertEqual(code, 2)
        self.assertIn("NAME=off, NAME=report or NAME=abort", err)
        self.assertIn("help: HEDDLE_DIAGNOSTICS", err)

    def test_explain_has_a_page_for_each_diagnostic(self):
        header = (ROOT / "include/heddle/core/report.hh").read_text()
        kinds = re.search(r"enum class diagnostic_kind[^{]*{(.*?)};", header, re.S)[1]
        names = [n.replace("_", "-") for n in re.findall(r"^\s*(\w+),", kinds, re.M)]
        self.assertGreater(len(names), 5)
        page = (ROOT / "docs/reference/diagnostics.md").read_text()
        for name in names:
            self.assertEqual(run("explain", name)[0], 0, name)
            self.assertIn(f"`{name}`", page)

    def test_explain_has_a_page_for_each_name_that_it_lists(self):
        code, _, err = run("explain", "nothing")
        self.assertEqual(code, 2)
        names = re.split(", |; and ", err.split("the diagnostics are ")[1].strip())
        self.assertGreaterEqual(len(names), 6)
        for name in names:
            code, out, _ = run("explain", name)
            self.assertEqual(code, 0)
            self.assertTrue(out.startswith(name + "\n\n"))


if __name__ == "__main__":
    unittest.main()
