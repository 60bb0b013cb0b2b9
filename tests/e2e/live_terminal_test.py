# SPDX-License-Identifier: Apache-2.0
"""`memprof live`, and the pager of `report` and `diff`, on a terminal: keys, sizes, signals, and what they leave behind."""
import os
import pathlib
import re
import signal
import subprocess

import e2e
import terminal

# Holds 40 arrays of 1 MB by `hold`, and 10 more by `more` for each line it reads; ends at the end of its input.
HOLDER = """
import os
import sys
def hold():
    return [bytearray(1_000_000) for i in range(40)]
def more():
    return [bytearray(1_000_000) for i in range(10)]
held = hold()
print('ready', flush=True)
for line in sys.stdin:
    held += more()
    print('more', flush=True)
os._exit(0)  # with all that it holds: a look may come while an interpreter that ends frees it
"""
FEW_ROWS = 6  # a terminal of this height is too small for any report: how long one is depends on what was sampled


class LiveTerminal(e2e.Test):
    def begin(self, **extra):
        environment = e2e.preloaded(self.folder / "x.%p.pb", "64k", **extra)
        process = subprocess.Popen([e2e.system_python(), "-c", HOLDER], env=environment, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, cwd=self.folder)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def grow(self, process):
        process.stdin.write(b"\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), b"more\n")

    def open(self, *words, width=100, height=30, **extra):
        environment = e2e.plain_environment(**{"TERM": "xterm", **extra})
        for variable in ("COLUMNS", "LINES", "NO_COLOR", "PAGER", "MEMPROF_PAGER", "LESS"):
            if variable not in extra:
                environment.pop(variable, None)
        opened = terminal.Terminal([e2e.COMMAND, *words], environment, width, height)
        self.addCleanup(opened.close)
        return opened

    def live(self, process, *words, **extra):
        """A view that looks when it is told to."""
        view = self.open("live", str(process.pid), "--interval", "600", *words, **extra)
        view.wait("quit")
        return view

    def assert_left(self, view, ending="ended 0"):
        self.assertEqual(view.shell_says(), ending)
        self.assertTrue(view.is_put_back())
        self.assertIn("?1049l", view.screen.sequences)
        self.assertIn("?25h", view.screen.sequences)

    def test_keys_change_what_is_shown(self):
        process = self.begin()
        view = self.live(process)
        self.assertIn("ordered by live", view.wait("▼live"))
        for key, title in (("c", "▼cumulative"), ("g", "▼growth"), ("a", "▼allocates"), ("b", "▼blocks"), ("l", "▼live")):
            view.press(key)
            self.assertIn("hold", view.wait(title))
        self.grow(process)
        view.press("r")
        self.assertRegex(view.wait("MiB/s"), r"Growth in \d+ s: \+\d+\.\d MiB")
        view.press("g")
        view.wait(lambda text: re.search(r"▼growth.*\n.*\+\d+\.\d MiB .*more", text))
        view.press("z")
        view.wait("Growth in 0 s: 0 B")
        view.press("t")
        self.assertRegex(view.wait("Tree of calls"), r"<module>[^\n]*\n(.*\n)?.*├ hold")
        view.press("4")
        view.wait("Tree of calls")
        view.press("l")
        self.assertIn("python3", view.wait("By module"))
        view.press("6")
        self.assertIn(f"python3.{os.path.realpath(e2e.system_python())[-2:]} {process.pid}", view.wait("By process"))
        view.press("1m")
        view.wait("By function, allocated")
        view.press("?")
        view.wait("Keys (any of them ends this help)")
        view.press("q")
        view.wait("▼allocated")
        view.press("q")
        self.assert_left(view)

    def test_focus(self):
        process = self.begin()
        self.grow(process)
        view = self.live(process)
        view.wait("more")
        view.press("/hol")
        view.wait("Focus (Enter, Esc): hol")
        view.press("d(\r")
        view.wait("missing")  # RE2's words for a bracket that is not closed
        view.press("\x7f\r")
        shown = view.wait("focus 'hold'")
        self.assertNotIn("more", shown)
        view.press("\x1b")
        view.wait(lambda text: "focus 'hold'" not in text and "more" in text)
        view.press("\\hold\r")
        self.assertNotRegex(view.wait("ignore 'hold'"), r"\n.* hold +<string>")
        view.press("q")
        self.assert_left(view)

    def test_another_size(self):
        view = self.live(self.begin(), width=100)
        view.wait("cumulative")
        for width, height in ((60, 20), (250, 50), (80, 10), (30, 3), (120, 40)):
            view.resize(width, height)
            view.wait(lambda text: "live" in text and ("quit" in text or height < 10))
            for line in view.screen.text().splitlines():
                self.assertLessEqual(len(line), width)
        self.assertIn("file:line", view.screen.text())
        view.press("q")
        self.assert_left(view)

    def test_interrupted(self):
        for key, number in (("\x03", signal.SIGINT), ("\x1c", signal.SIGQUIT)):
            view = self.live(self.begin())
            view.press(key)
            self.assert_left(view, f"ended -{int(number)}")

    def test_suspended_and_continued(self):
        view = self.live(self.begin())
        for _ in range(2):
            view.press("\x1a")
            self.assertEqual(view.shell_says(), "stopped")
            self.assertTrue(view.is_put_back())
            self.assertFalse(view.screen.is_other)
            view.screen.clear()
            view.go_on()
            view.wait("quit")
            self.assertTrue(view.screen.is_other)
            self.assertFalse(view.is_put_back())
        view.press("g")
        view.wait("▼growth")
        view.press("q")
        self.assert_left(view)

    def test_a_closed_terminal_ends_it(self):
        view = self.live(self.begin())
        view.hang_up()
        # By the end of its input, or the signal: which comes first is the kernel's affair.
        self.assertIn(view.shell_says_after_hang_up(), ("ended 0", f"ended -{int(signal.SIGHUP)}"))

    def test_the_last_look_of_a_process_that_ends_stays(self):
        process = self.begin()
        view = self.open("live", str(process.pid), "--interval", "0.1")
        view.wait("hold")
        process.stdin.close()
        self.assertEqual(process.wait(e2e.WATCHDOG_S), 0)
        shown = view.wait("ENDED")
        self.assertIn(f"process {process.pid} has ended; this is the last look", shown)
        self.assertIn("hold", shown)
        view.press("c")
        view.wait("▼cumulative")
        view.press("q")
        self.assert_left(view)
        self.assertIn("hold", view.screen.text())  # on the ordinary screen
        self.assertIn("this was the last look", view.screen.text())

    def test_a_process_that_is_killed(self):
        process = self.begin()
        view = self.open("live", str(process.pid), "--interval", "0.1")
        view.wait("hold")
        process.kill()
        process.wait()
        view.wait("has ended")
        view.press("q")
        self.assert_left(view)

    def test_pause(self):
        process = self.begin()
        view = self.open("live", str(process.pid), "--interval", "0.1", "--sort", "growth")
        view.wait("hold")
        view.press(" ")
        view.wait("PAUSED")
        self.grow(process)
        view.press("c")  # is drawn anew, without a look
        self.assertNotRegex(view.wait("▼cumulative"), r"\+\d+\.\d MiB .* more")
        view.press(" g")
        view.wait(lambda text: "PAUSED" not in text and re.search(r"\+\d+\.\d MiB .* more", text))
        view.press("q")
        self.assert_left(view)

    def test_colours(self):
        process = self.begin()
        view = self.live(process)
        self.grow(process)
        view.press("r")
        view.wait(lambda text: re.search(r"Growth in .*\+", text))
        self.assertIn(31, view.screen.styles)  # growth is red
        view.press("q")
        self.assert_left(view)
        view = self.live(process, NO_COLOR="1")
        view.press("z")
        self.grow(process)
        view.press("r")
        view.wait(lambda text: re.search(r"Growth in .*\+", text))
        self.assertEqual({style for style in view.screen.styles if style >= 30}, set())
        view.press("q")
        self.assert_left(view)
        ascii_only = self.live(process, LC_ALL="C")
        self.assertTrue(ascii_only.screen.text().isascii())
        self.assertIn("*live", ascii_only.screen.text())

    def test_several_processes(self):
        one, other = self.begin(), self.begin()
        view = self.open("live", str(one.pid), str(other.pid), "--interval", "0.1", "--by", "process", width=120)
        view.wait("2 processes: ")
        view.wait(lambda text: f" {one.pid}\n" in text and f" {other.pid}\n" in text)
        one.stdin.close()
        one.wait(e2e.WATCHDOG_S)
        view.wait("1 process: ")
        view.wait("; 1 ended")
        other.stdin.close()
        other.wait(e2e.WATCHDOG_S)
        view.wait("all 2 processes have ended")
        view.press("q")
        self.assert_left(view)

    def test_a_run(self):
        """All processes of a run, by the id of one of them."""
        script = self.folder / "tree.py"
        script.write_text("import subprocess, sys\n"
                          "child = subprocess.Popen([sys.executable, '-c', 'import sys\\nkeep = [bytearray(1000000) for i in range(30)]\\n"
                          "print(\"ready\", flush=True)\\nsys.stdin.read()'])\nchild.wait()\n")
        run = subprocess.Popen([e2e.COMMAND, "run", "-r", "64k", "-o", "r.%p.pb", "--", e2e.system_python(), script],
                               env=e2e.plain_environment(), cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
        self.addCleanup(run.stdout.close)
        self.addCleanup(run.stdin.close)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        self.assertEqual(run.stdout.readline(), b"ready\n")
        children = pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
        (parent,) = [pid for pid in children if "python" in os.path.realpath(f"/proc/{pid}/exe")]
        shown = self.memprof("live", parent, "--run", "--interval", "0.1", "--by", "process").stdout.decode()
        self.assertIn("2 processes: ", shown)
        self.assertRegex(shown, r"\d\d\.\d MiB .* python3\S* \d+\n")
        done = e2e.run([e2e.COMMAND, "live", str(self.begin().pid), "--run"])
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"belongs to no run", done.stderr)
        run.stdin.close()
        self.assertEqual(run.wait(e2e.WATCHDOG_S), 0)

    def test_no_terminal_is_as_ever(self):
        process = self.begin()
        done = self.memprof("live", str(process.pid), "--interval", "0.1", environment=e2e.plain_environment(TERM="xterm"))
        self.assertNotIn(b"\x1b", done.stdout)
        self.assertIn(b"Since this view began, ", done.stdout)
        dumb = self.open("live", str(process.pid), "--interval", "0.1", TERM="dumb")
        self.assertEqual(dumb.shell_says(), "ended 0")
        self.assertNotIn("\x1b", dumb.all)

    def profile(self):
        process = self.begin()
        path = self.folder / "now.pb"
        self.memprof("live", str(process.pid), "-o", str(path))
        return path

    def test_pager(self):
        path = self.profile()
        words = ["report", str(path), "-n", "60"]
        pager = f"cat >{self.folder}/paged; echo shown by it"
        paged = self.open(*words, MEMPROF_PAGER=pager, PAGER="false", width=140, height=FEW_ROWS)
        paged.wait("shown by it")
        self.assertEqual(paged.shell_says(), "ended 0")
        text = (self.folder / "paged").read_text()
        self.assertIn("\x1b[", text)  # colours
        self.assertIn("█", text)
        for extra, more in (({"MEMPROF_PAGER": ""}, []), ({"PAGER": "cat"}, []), ({"MEMPROF_PAGER": pager}, ["--no-pager"])):
            plain = self.open(*words, *more, height=FEW_ROWS, **extra)
            self.assertEqual(plain.shell_says(), "ended 0")
            self.assertNotIn("shown by it", plain.all)
            self.assertIn("hold", plain.all)
        short = self.open("report", str(path), "-n", "2", MEMPROF_PAGER=pager, height=50)
        self.assertEqual(short.shell_says(), "ended 0")
        self.assertNotIn("shown by it", short.all)  # it fits
        early = self.open(*words, MEMPROF_PAGER="head -n 1", height=FEW_ROWS)
        self.assertEqual(early.shell_says(), "ended 0")  # closed before all was read
        wrong = self.open(*words, MEMPROF_PAGER="/no/such/pager", height=FEW_ROWS)
        self.assertEqual(wrong.shell_says(), "ended 0")
        self.assertIn("--no-pager", wrong.all)
        self.assertIn("hold", wrong.all)
        file = e2e.run([e2e.COMMAND, *words], e2e.plain_environment(MEMPROF_PAGER=pager))
        self.assertNotIn(b"\x1b", file.stdout)
        self.assertIn(b"hold", file.stdout)
        diff = self.open("diff", str(path), str(path), MEMPROF_PAGER=pager, height=3)
        diff.wait("shown by it")
        self.assertEqual(diff.shell_says(), "ended 0")


if __name__ == "__main__":
    e2e.main()
