# SPDX-License-Identifier: Apache-2.0
"""Allocators whose callers know what they do: in one unit with them, or by -flto, of each compiler that is here.

Such callers keep values in any register that the allocator leaves alone and may leave the stack aligned to 8 bytes; hooks
inside the allocator must change neither, at any rate, by `memprof run` or by `memprof attach` to the running program.
"""
import shutil
import subprocess
import time

from generated_allocators import program
from harm import Situation, Skip, differs

SAMPLE = 10
ROUNDS = "3"
ATTACHED = ("12", "50000")  # rounds, and microseconds between them
OPTIONS = ("-fcf-protection=full", "-fcf-protection=none", "-mno-red-zone", "-fomit-frame-pointer", "-fno-omit-frame-pointer",
           "-fstack-protector-all", "-fno-plt", "-no-pie", "-fPIE -pie", "-ffunction-sections -Wl,--gc-sections", "-mstackrealign",
           "-fno-builtin", "-fno-asynchronous-unwind-tables", "-g")
OF_GCC = ("-freorder-blocks-and-partition", "-fipa-ra", "-fno-ipa-ra", "-fwhole-program",
          "-fipa-pta", "-fno-ipa-cp", "-fschedule-insns")
OF_CLANG = ("-mllvm -enable-ipra", "-fsplit-machine-functions", "-fno-semantic-interposition")


def compilers(harm):
    """(name, C, C++) of all that are here."""
    found = [("cc", harm.cc, harm.cxx)]
    for version in range(9, 25):
        for c, cxx in (("gcc", "g++"), ("clang", "clang++")):
            if shutil.which(f"{c}-{version}") and shutil.which(f"{cxx}-{version}"):
                found.append((f"{c}-{version}", f"{c}-{version}", f"{cxx}-{version}"))
    return found


def vectors_here():
    flags = open("/proc/cpuinfo", encoding="ascii").read()
    return [(0, ""), (0, ""), (16, "")] + ([(32, "-mavx2")] if " avx2 " in flags else []) + \
        ([(64, "-mavx512f -mavx512vl -mavx512bw -mavx512dq")] if " avx512vl " in flags else [])


class Program:
    """Compiled when it is first run."""

    def __init__(self, harm, chance, number):
        self.harm = harm
        self.folder = harm.folder / f"program{number}"
        self.compiler, c, cxx = chance.choice(compilers(harm))
        is_gcc = "clang" not in self.compiler
        is_cxx, is_split = chance.random() < 0.5, chance.random() < 0.4
        wide_bytes, vector_option = chance.choice(vectors_here())
        options = [chance.choice(("-O0", "-O1", "-O2", "-O2", "-O2", "-O3", "-Os"))] + vector_option.split()
        # What LLVM writes for -flto only an lld of the same version reads.
        lld = f"lld-{self.compiler.rpartition('-')[2]}"
        if (is_gcc or shutil.which(f"ld.{lld}")) and chance.random() < (0.7 if is_split else 0.2):
            options += ["-flto"] if is_gcc else ["-flto", f"-fuse-ld={lld}"]
        for option in chance.sample(OPTIONS + (OF_GCC if is_gcc else OF_CLANG), chance.randrange(4)):
            if not (option == "-fwhole-program" and is_split):
                options += option.split()
        self.units, name = program(harm.source, chance, is_cxx, is_split, wide_bytes)
        # Else compilers make calloc, which the program does not define, of its malloc and a memset.
        if name.startswith("C "):
            options.append("-fno-builtin")
            # Exports what libc calls of the family, and keeps its free to itself: blocks would be mixed.
            options = [option for option in options if option != "-fwhole-program"]
        self.command = [cxx if is_cxx else c, "-w", *options]
        self.ending = "cc" if is_cxx else "c"
        self.name = f"{number} {self.compiler} {'C++' if is_cxx else 'C'} {' '.join(options)}, {len(self.units)} units, {name}"
        self.plain = {}

    def path(self):
        path = self.folder / "program"
        if not path.exists():
            self.folder.mkdir(exist_ok=True)
            sources = []
            for i, text in enumerate(self.units):
                sources.append(self.folder / f"unit{i}.{self.ending}")
                sources[-1].write_text(text)
            self.harm.build([*self.command, *sources, "-o", path])
        return path

    def without(self, arguments):
        if arguments not in self.plain:
            self.plain[arguments] = self.harm.run([self.path(), *arguments])
        if self.plain[arguments].returncode != 0:
            # What compilers know of _Znwm and malloc by their names can break a generated one.
            raise Skip(f"{self.compiler} makes a program that ends with {self.plain[arguments].returncode} by itself")
        return self.plain[arguments]

    def run(self, rate):
        out = self.folder / "out.pb.gz"
        plain = self.without((ROUNDS,))
        return differs(plain, self.harm.run([self.harm.command, "run", "-r", rate, "--force", "-o", out, "--", self.path(), ROUNDS]))

    def attach(self, rate, is_stopped):
        plain = self.without(ATTACHED)
        process = subprocess.Popen([str(self.path()), *ATTACHED], env=self.harm.environment(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            time.sleep(0.1)
            self.harm.run([self.harm.command, "attach", "-r", rate, str(process.pid)])
            if is_stopped:
                self.harm.run([self.harm.command, "attach", "--stop", str(process.pid)])
            said, error = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            said, error = b"", b"hangs"
        finally:
            process.kill()
            process.wait()
        return differs(plain, subprocess.CompletedProcess([], process.returncode, said, error))


def situations(harm, chance):
    number = 0
    while True:
        made = Program(harm, chance, number)
        for rate in chance.sample(("0", "1k", "4k", "512k"), 2):
            yield Situation(f"{made.name}, run, rate {rate}", lambda made=made, rate=rate: made.run(rate))
        if chance.random() < 0.25:
            rate, is_stopped = chance.choice(("0", "4k", "512k")), chance.random() < 0.5
            yield Situation(f"{made.name}, attach, rate {rate}{', stopped' if is_stopped else ''}",
                            lambda made=made, rate=rate, is_stopped=is_stopped: made.attach(rate, is_stopped))
        shutil.rmtree(made.folder, ignore_errors=True)
        number += 1
