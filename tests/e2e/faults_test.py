# SPDX-License-Identifier: Apache-2.0
"""Lesson 4: system calls of the library fail, and the profiled program does not notice.

Two ways. `refuse.so` stands in front of the library and refuses its calls by their number: each one in turn, and all from
one on; so every call that a run makes is met, wherever it is. `deny` has the kernel refuse a call by a filter of seccomp, as
sandboxes do, from the first instruction of the program on, and of the whole of `memprof run`.

Whatever fails: the program (programs/under_faults.c) has the result that it has without us, under the same filter. And there is a
right profile, or one line that says why there is none, or what was dropped stands in it.

MEMPROF_TEST_WHOLE=1 (./dev endure): with more errors.
"""
import errno
import os
import unittest

import e2e

WHOLE = bool(os.environ.get("MEMPROF_TEST_WHOLE"))
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

    def run_loaded(self, first, last, error, **extra):
        """Loaded at run time, by programs/patched.c."""
        environment = e2e.plain_environment(
            LD_PRELOAD=f"{e2e.program('refuse.so')}:{e2e.program('patched.so')}", PATCHED_LIBRARY=str(e2e.LIBRARY),
            PATCHED_PROFILE=str(self.folder / "out.1.pb"), PATCHED_MAY_FAIL="1", MEMPROF_RATE="0",
            MEMPROF_ARENA_DIR=str(self.folder), REFUSE_FIRST=str(first), REFUSE_LAST=str(last), REFUSE_ERRNO=str(error), **extra)
        return e2e.run([e2e.program("under_faults"), "child"], environment)

    def check_program(self, done, what):
        self.assertEqual((done.returncode, done.stdout.decode()), (STATUS, RIGHT), f"{what}: {done.stderr.decode()}")

    def reference(self, run=None, profiles=2):
        """(the calls of an undisturbed run, in order, what its profiles hold)"""
        log = self.folder / "log"
        done = (run or self.run_one)(1 << 30, 0, errno.EPERM, REFUSE_LOG=str(log))
        self.check_program(done, "nothing refused")
        self.assertEqual(done.stderr, b"")
        calls = log.read_text().splitlines()
        self.assertEqual(len(self.profiles()), profiles, "the program's, and its child's")
        held = sorted((totals(e2e.Profile(path)) for path in self.profiles()), key=str)
        self.clear()
        return calls, held

    @staticmethod
    def numbers(calls):
        """All; or, in the ordinary suite, one of those that come between the same two others (as in a loop)."""
        between = {}
        for number in range(1, len(calls) + 1):
            between.setdefault(number if WHOLE else tuple(calls[max(0, number - 2):number + 1]), number)
        return list(between.values())

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

    def test_each_call_in_turn_where_it_is_loaded_at_run_time(self):
        """Import tables are written then; slots that the system refuses are left, and counted in memprof_stats."""
        calls, held = self.reference(self.run_loaded, 1)
        self.assertIn("mprotect 10", calls)
        right = 0
        numbers = self.numbers(calls)
        for error in (errno.EPERM, errno.ENOMEM) if WHOLE else (errno.EPERM,):
            for number in numbers:
                what = f"{errno.errorcode[error]} for call {number}, {calls[number - 1]}"
                with self.subTest(what):
                    self.check_program(self.run_loaded(number, number, error), what)
                    right += [totals(e2e.Profile(path)) for path in self.profiles()] == held
                    if WHOLE or number % 4 == 0:
                        self.check_program(self.run_loaded(number, 1 << 30, error), what + " and all after it")
                self.clear()
        self.assertGreater(right, len(numbers) * 0.5)

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


def rule(call, *conditions, error=errno.EPERM):
    return ",".join([f"{error}:{call}", *conditions])


# Numbers of x86-64, and bits of fcntl.h, mman.h and futex.h.
CREATE_NEW = "2&0xc0"  # O_CREAT | O_EXCL
MADVISE, FUTEX, OPENAT, RT_SIGPROCMASK, MMAP = 28, 202, 257, 14, 9
POPULATE = rule(MADVISE, "2=23", error=errno.EINVAL)  # as a kernel before 5.14
# What the kernel refuses -> (the rules, whether a profile is there all the same).  None of it does the program need.
DENIED = {
    "the file of the arena": ([rule(OPENAT, CREATE_NEW, "2&0x20000")], True),  # O_NOFOLLOW
    "any new file": ([rule(OPENAT, CREATE_NEW, error=errno.EACCES)], False),
    "fchmod": ([rule(91)], True),
    "ftruncate": ([rule(77, error=errno.ENOSPC)], True),
    "shared memory of files": ([rule(MMAP, "2&2", "3&1", error=errno.ENODEV)], True),  # to write, MAP_SHARED
    "reserving address space": ([rule(MMAP, "2=3", "3&0x4000", error=errno.ENOMEM)], False),  # MAP_NORESERVE
    "MADV_WIPEONFORK": ([rule(MADVISE, "2=18", error=errno.EINVAL)], True),
    "MADV_NOHUGEPAGE": ([rule(MADVISE, "2=15", error=errno.EINVAL)], True),
    "MADV_POPULATE_WRITE": ([POPULATE], True),
    "both ways to get a page": ([POPULATE, rule(FUTEX, "1&5", "1!2", error=errno.ENOMEM)], None),  # FUTEX_WAKE_OP
    "madvise": ([rule(MADVISE, error=errno.ENOSYS)], None),
    "getrandom": ([rule(318, error=errno.ENOSYS)], True),
    "gettid": ([rule(186)], True),
    "readlink": ([rule(89), rule(267)], True),
    "asking whether a page is readable": ([rule(RT_SIGPROCMASK, "0=0xffffffff")], True),
    "process_vm_readv": ([rule(310, error=errno.ENOSYS)], True),
    "rt_sigpending": ([rule(127)], True),
    "rt_sigtimedwait": ([rule(128)], True),
    "access": ([rule(21), rule(269)], True),
    "munmap": ([rule(11)], True),
    "links": ([rule(265, error=errno.EPERM)], True),
    "links and renames": ([rule(265), rule(264), rule(82), rule(316)], False),
    "unlinkat": ([rule(263)], True),
    "writes to files": ([rule(1, "0>2", error=errno.ENOSPC)], False),
    "writev": ([rule(20)], True),
    "sched_yield": ([rule(24)], True),
}


class Denied(Faults):
    """By the kernel, always."""

    PROGRAM = [e2e.program("under_faults"), "child"]

    def deny(self, rules, *command):
        return [e2e.program("deny"), str(errno.EPERM), *rules, "--", *command]

    def check_same(self, done, alone, what):
        self.assertEqual((done.returncode, done.stdout), (alone.returncode, alone.stdout), f"{what}: {done.stderr}")
        self.assertEqual(done.returncode, STATUS, what)

    def held(self, path):
        """What the profile says of the program's sites: figures, and the stacks by names."""
        table = self.named(path).by_leaf()
        return {site: {m: table[site][m] for m in e2e.METRICS} | {"stacks": sorted(table[site]["stacks"])}
                for site in ("kept_site", "grown_site", "thread_site") if site in table}

    def reference(self):
        self.check(e2e.run(self.PROGRAM, e2e.preloaded(self.folder / "out.%p.pb", 0)), STATUS)
        held = self.held(self.only_profile())
        self.assertEqual(held["thread_site"]["alloc_space"], 6000)
        self.assertTrue(all(len(stack) > 2 for site in held.values() for stack in site["stacks"]))
        self.clear()
        return held

    def test_preloaded(self):
        right = self.reference()
        for what, (rules, has_profile) in DENIED.items():
            with self.subTest(what):
                alone = e2e.run(self.deny(rules, *self.PROGRAM))
                done = e2e.run(self.deny(rules, f"LD_PRELOAD={e2e.LIBRARY}", f"MEMPROF_PROFILE={self.folder}/out.%p.pb",
                                         "MEMPROF_RATE=0", f"MEMPROF_ARENA_DIR={e2e.ARENAS.name}", *self.PROGRAM))
                self.check_same(done, alone, what)
                said = self.check_said(done, what)
                found = self.profiles()
                if has_profile is None:  # either, but not nothing
                    has_profile = bool(found)
                self.assertEqual((len(found), len(said)), (1, 0) if has_profile else (0, 1), f"{what}: {found} {said}")
                if found:
                    dropped = int(e2e.Profile(found[0]).facts["dropped_samples"])
                    self.assertTrue(dropped or self.held(found[0]) == right, f"{what}: {self.held(found[0])}, not {right}")
            self.clear()

    def test_run_by_the_command(self):
        """The program under the filter, memprof outside of it: the arena, or a profile at exit, or what is missing."""
        right = self.reference()
        for what, (rules, _) in DENIED.items():
            with self.subTest(what):
                alone = e2e.run(self.deny(rules, *self.PROGRAM))
                done = e2e.run([e2e.COMMAND, "run", "-r", "0", "-o", "out.pb", "--no-follow", "--",
                                *self.deny(rules, *self.PROGRAM)], cwd=self.folder)
                self.check_same(done, alone, what)
                self.check_said(done, what)
                self.assertNotEqual(done.stderr, b"")
                path = self.folder / "out.pb"
                self.assertEqual(b"wrote out.pb" in done.stderr, path.exists(), done.stderr)
                if path.exists():
                    dropped = int(e2e.Profile(path).facts["dropped_samples"])
                    self.assertTrue(dropped or self.held(path) == right, f"{what}: {self.held(path)}, not {right}")
                else:
                    self.assertRegex(done.stderr, b"(?m)^memprof: (nothing was recorded|not profiling|the profile was not)")
            self.clear()

    def test_the_command_under_the_same_filter(self):
        """It works, or says before the program runs why it cannot."""
        right = self.reference()
        for what, (rules, _) in DENIED.items():
            with self.subTest(what):
                alone = e2e.run(self.deny(rules, *self.PROGRAM))
                done = e2e.run(self.deny(rules, e2e.COMMAND, "run", "-r", "0", "-o", "out.pb", "--no-follow", "--",
                                         *self.PROGRAM), cwd=self.folder)
                said = self.check_said(done, what)
                path = self.folder / "out.pb"
                if done.returncode == 2:
                    self.assertEqual((len(said), done.stdout, path.exists()), (1, b"", False), f"{what}: {said}")
                    continue
                self.check_same(done, alone, what)
                self.assertEqual(any("wrote out.pb" in line for line in said), path.exists(), said)
                if path.exists():
                    dropped = int(e2e.Profile(path).facts["dropped_samples"])
                    self.assertTrue(dropped or self.held(path) == right, f"{what}: {self.held(path)}, not {right}")
                else:
                    self.assertRegex(said[-1], "nothing was recorded|could not be read: .*cannot write it")
            self.clear()


if __name__ == "__main__":
    e2e.main()
