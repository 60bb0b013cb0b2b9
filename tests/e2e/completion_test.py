# SPDX-License-Identifier: Apache-2.0
"""What shells and man make of `memprof completion` and `memprof manual`."""
import shutil
import subprocess
import unittest

import e2e


def printed(*arguments):
    return subprocess.run([e2e.COMMAND, *arguments], env=e2e.plain_environment(), check=True, capture_output=True, text=True,
                          timeout=e2e.WATCHDOG_S).stdout


def run(*command, text):
    return subprocess.run(command, input=text, env=e2e.plain_environment(), capture_output=True, text=True, check=False,
                          timeout=e2e.WATCHDOG_S)


class Completion(e2e.Test):
    def completed(self, *words):
        """What bash offers where the last of `words` is being typed."""
        quoted = " ".join(f"'{word}'" for word in words)
        script = printed("completion", "bash") + f"""
COMP_WORDS=(memprof {quoted}); COMP_CWORD={len(words)}
_memprof
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
        done = run("bash", "--norc", "-u", text=script)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.split()

    def test_bash(self):
        self.assertIn("report", self.completed("re"))
        self.assertNotIn("run", self.completed("re"))
        self.assertEqual(self.completed("report", "--nativ"), ["--native", "--native-interpreter"])
        self.assertEqual(self.completed("churn", "--metr"), [], "taken, to be refused")
        self.assertEqual(self.completed("report", "a.pb.gz", "--tre"), ["--tree"])

    def test_bash_leaves_the_words_of_the_program_to_it(self):
        self.assertEqual(self.completed("run", "-r", "64k", "--for"), ["--force"])
        self.assertEqual(self.completed("run", "sort", "--for"), [])
        self.assertEqual(self.completed("run", "--", "sort", "--for"), [])
        self.assertIn("bash", self.completed("run", "--merge", "bas"))

    def test_zsh(self):
        if shutil.which("zsh") is None:
            raise unittest.SkipTest("zsh is not here")
        done = run("zsh", "-fn", text=printed("completion", "zsh"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_fish(self):
        if shutil.which("fish") is None:
            raise unittest.SkipTest("fish is not here")
        text = printed("completion", "fish") + "complete -C'memprof report --nativ'\n"
        done = run("fish", "--no-config", text=text)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("--native-interpreter", done.stdout)


class Manual(e2e.Test):
    def test_groff_has_nothing_to_complain_of(self):
        if shutil.which("groff") is None:
            raise unittest.SkipTest("groff is not here")
        for command in ([], ["run"], ["report"], ["diff"], ["leaks"]):
            done = run("groff", "-man", "-ww", "-Tutf8", "-P-cbou", text=printed("manual", *command))
            self.assertEqual((done.returncode, done.stderr), (0, ""), command)
            self.assertIn("NAME", done.stdout)


if __name__ == "__main__":
    e2e.main()
