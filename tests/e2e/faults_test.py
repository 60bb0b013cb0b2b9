# SPDX-License-Identifier: Apache-2.0
"""Lesson 4: system calls of the library fail, and the profiled program does not notice.

Two ways. `refuse.so` stands in front of the library and refuses its calls by their number: each one in turn, and all from
one on; so every call that a run makes is met, wherever it is. `deny` has the kernel refuse a call by a filter of seccomp, as
sandboxes do, from the first instruction of the program on, and of the whole of `memprof run`.

Whatever fails: the program (programs/under_faults.c) has the result that it has without us, under the same filter. And there is a
right profile, or one line that says why there is none, or what was dropped stands in it.

MEMPROF_E2E_WHOLE=1 (./dev endure): with more errors.
"""
import errno
import os
import unittest

import e2e

WHOLE = bool(os.environ.get("MEMPROF_E2E_WHOLE"))
STATUS = 7
# The sites of the program, and what it allocates there; with a child that has a profile of its own.
RIGHT = "right bytes 6000, wrong errno 0, same mask 1, still waits 1, child 5\n"


def totals(profile):
    return {metric: profile.total(metric) for metric in e2e.METRICS}


class Faults(e2e.Test):
    def profiles(self):
        return sorted(self.folder.glob("out.*.pb"))

    def clear(self):
        for path in self.folder.iterdir():
            path.unlink()

    def check_said(self, done, what):
        lines = done.stderr.decode().splitlines()
        for line in lines:
            self.assertTrue(line.startswith("memprof: "), f"{what}: {line}")
        return lines


class Refused(Faults):
    """By the number of the call, with refuse.so."""

    def run_one(self, first, last, error, **extra):
        environment = e2e.preloaded(
            self.folder / "out.%p.pb", 0, LD_PRELOAD=f"{e2e.program('refuse.so')}:{e2e.LIBRARY}", REFUSE_FIRST=str(first),
            REFUSE_LAST=str(last), REFUSE_ERRNO=str(error), MEMPROF_ARENA_DIR=str(self.folder),
            MEMPROF_DUMP_SIGNAL="SIGUSR2", MEMPROF_FOLLOW_FORK="1", **extra)
        return e2e.run([e2e.program("under_faults"), "child"], environment)

    def check_program(self, done, what):
        self.assertEqual((done.returncode, done.stdout.decode()), (STATUS, RIGHT), f"{what}: {done.stderr.decode()}")

    def reference(self):
        """(the calls of an undisturbed run, in order, what its profiles hold)"""
        log = self.folder / "log"
        done = self.run_one(1 << 30, 0, errno.EPERM, REFUSE_LOG=str(log))
        self.check_program(done, "nothing refused")
        self.assertEqual(done.stderr, b"")
        calls = log.read_text().splitlines()
        self.assertEqual(len(self.profiles()), 2, "the program's, and its child's")
        held = sorted((totals(e2e.Profile(path)) for path in self.profiles()), key=str)
        self.clear()
        return calls, held

    @staticmethod
    def numbers(calls):
        """All; or, in the ordinary suite, the first of the same calls in a row."""
        return [number for number, call in enumerate(calls, 1) if WHOLE or number == 1 or call != calls[number - 2]]

    def check_each(self, error):
        calls, held = self.reference()
        # From the start of the library over samples to the profile: there is something to fail.
        self.assertGreater(len(calls), 100)
        self.assertGreater(len({call.split()[1] for call in calls}), 15)
        right = 0
        numbers = self.numbers(calls)
        for number in numbers:
            call = calls[number - 1]
            what = f"{errno.errorcode[error]} for call {number}, {call}"
            with self.subTest(what):
                done = self.run_one(number, number, error)
                self.check_program(done, what)
                said = self.check_said(done, what)
                found = [e2e.Profile(path) for path in self.profiles()]
                complete = sorted((totals(profile) for profile in found), key=str) == held
                dropped = any(int(profile.facts["dropped_samples"]) for profile in found)
                right += complete
                self.assertTrue(complete or said or dropped,
                                f"{what}: a wrong profile and not a word: {[totals(p) for p in found]}, not {held}")
            self.clear()
        # Most calls can be done without.
        self.assertGreater(right, len(numbers) * 0.5)

    def test_each_call_in_turn(self):
        for error in (errno.EPERM, errno.ENOSYS, errno.ENOMEM, errno.EINVAL) if WHOLE else (errno.EPERM,):
            self.check_each(error)

    def test_all_calls_from_one_on(self):
        """Nothing can be said then; what is written is whole, or is not there."""
        calls, _ = self.reference()
        for error in (errno.ENOMEM, errno.ENOSYS, errno.EINVAL) if WHOLE else (errno.ENOMEM,):
            for number in self.numbers(calls):
                what = f"{errno.errorcode[error]} from call {number} on, {calls[number - 1]}"
                with self.subTest(what):
                    done = self.run_one(number, 1 << 30, error)
                    self.check_program(done, what)
                    self.check_said(done, what)
                    for path in self.profiles():
                        e2e.Profile(path)
                self.clear()


if __name__ == "__main__":
    e2e.main()
