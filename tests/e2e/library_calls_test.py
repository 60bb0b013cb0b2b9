# SPDX-License-Identifier: Apache-2.0
"""The system calls that memprof makes in a process that it was attached to are those of tools/memprof/attach/linux/library_calls.h:
recorded, of a process that allocates in ever more stacks and makes no calls itself."""
import pathlib
import subprocess
import time

import e2e
import system_calls


class LibraryCalls(e2e.Test):
    ROUNDS = "100000000"

    def record(self, *options, rounds=ROUNDS):
        """The calls from the attach on: [(number, arguments)]."""
        log = self.folder / "log"
        log.unlink(missing_ok=True)
        process = subprocess.Popen([e2e.program("records_calls"), log, e2e.program("quiet"), rounds],
                                   env=e2e.plain_environment(), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        try:
            self.assertEqual(process.stdout.readline(), b"ready\n")
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            self.assertEqual(len(children), 1)
            pid = int(children[0])
            before = len(log.read_text().splitlines())
            self.memprof("attach", pid, "--force", *options)
            time.sleep(1)  # tables grow
            if rounds == self.ROUNDS:
                self.memprof("attach", "--stop", pid, "--force")
                self.memprof("attach", pid, "--force")
                subprocess.run(["kill", str(pid)], check=True)
            process.wait(timeout=e2e.WATCHDOG_S)
        finally:
            process.kill()
            process.stdout.close()
            process.wait()
        return [system_calls.parse(line) for line in log.read_text().splitlines()[before:]]

    def check_listed(self, calls):
        # It has done something: loaded the library, and made room in its tables.
        self.assertGreater(len({number for number, _ in calls}), 20)
        self.assertGreater(sum(number == system_calls.NUMBERS["madvise"] for number, _ in calls), 20)
        missing = sorted({system_calls.shown(call) for call in calls if not system_calls.is_listed(call)})
        self.assertEqual(missing, [], "add them to tools/memprof/attach/linux/library_calls.h")

    def test_samples_growth_stop_and_start(self):
        for options in (["-r", "512"], ["-r", "0", "--mmap"], ["-r", "512", "--follow-fork"], ["--budget", "1%", "-r", "512"]):
            with self.subTest(options):
                self.check_listed(self.record(*options))

    def test_the_end_of_the_process(self):
        own = {system_calls.NUMBERS["write"], system_calls.NUMBERS["exit_group"]}  # of the program
        calls = self.record("-r", "4k", rounds="12000")
        self.assertIn(system_calls.NUMBERS["exit_group"], {number for number, _ in calls})
        self.check_listed([call for call in calls if call[0] not in own])

    def test_what_is_not_listed_is_found(self):
        self.assertFalse(system_calls.is_listed((system_calls.NUMBERS["write"], [0] * 6)))
        self.assertFalse(system_calls.is_listed((9, [0, 0, 7, 0x22, 0, 0])))
        self.assertTrue(system_calls.is_listed((9, [1, 2, 3, 0x22, 5, 6])))


if __name__ == "__main__":
    e2e.main()
