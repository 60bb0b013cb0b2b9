# SPDX-License-Identifier: Apache-2.0
"""Names of code that LLVM's JIT lists for debuggers: a program in LLVM's language, executed by lli."""
import pathlib
import unittest

import e2e

PROGRAM = """
declare ptr @malloc(i64)
declare i32 @usleep(i32)

define ptr @_Z3onem(i64 %n) noinline {
  %p = call ptr @malloc(i64 %n)
  store i64 %n, ptr %p
  ret ptr %p
}

define void @fill_table(i64 %count) noinline {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %p = call ptr @_Z3onem(i64 10000)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}

define i32 @main() {
  call void @fill_table(i64 1000)
  %r = call i32 @usleep(i32 200000)
  call void @fill_table(i64 1000)
  ret i32 0
}
"""


LLI = pathlib.Path("/usr/lib/llvm-19/bin/lli")  # of llvm-19, which the tests have anyway


@unittest.skipIf(not LLI.exists(), "no lli of LLVM here")
class JitNames(e2e.Test):
    def run_jit(self, kind, **variables):
        program = self.folder / "program.ll"
        program.write_text(PROGRAM)
        path = self.folder / f"{kind}.pb"
        self.check(e2e.run([str(LLI), f"--jit-kind={kind}", str(program)], e2e.preloaded(path, 0, **variables)))
        return e2e.Profile(path), {row["name"]: row for row in self.report(path, "--metric", "alloc", "-n", "100000")["rows"]}

    def test_both_of_llvms_jits(self):
        for kind in ("mcjit", "orc"):
            with self.subTest(kind=kind):
                profile, rows = self.run_jit(kind)
                row = rows["one(unsigned long)"]
                self.assertEqual((row["module"], row["file"]), ("[JIT code]", ""))
                self.assertEqual((row["self"]["alloc_objects"]["value"], row["self"]["alloc_space"]["value"]), (2000, 20000000))
                self.assertEqual(rows["fill_table"]["cumulative"]["alloc_space"]["value"], 20000000)
                stacks = {tuple(frame.name for frame in frames)[:3] for frames, _, _ in profile.samples if frames[0].name == "_Z3onem"}
                self.assertEqual(stacks, {("_Z3onem", "fill_table", "main")})

    def test_they_may_be_left_alone(self):
        _, rows = self.run_jit("mcjit", MEMPROF_JIT="0")
        self.assertNotIn("fill_table", rows)
        unnamed = sum(row["self"]["alloc_space"]["value"] for row in rows.values() if row["module"] == "[JIT code]")
        self.assertEqual(unnamed, 20000000)


if __name__ == "__main__":
    e2e.main()
