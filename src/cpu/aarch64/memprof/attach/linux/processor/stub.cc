// SPDX-License-Identifier: Apache-2.0
// aarch64: the code that executes a program of calls (processor.h, call_program.h).
#include "memprof/attach/linux/processor/call_program.h"
#include "memprof/attach/linux/processor/processor.h"

// x0: the CallHeader.  Read-only data here, code there.  5: all is done; at 7 it writes that it leaves, and returns by the
// frame (should the system refuse that, it waits on).  17: one pause, which a filter of system calls may answer with anything.
asm(R"(
.pushsection .rodata
.balign 4
.globl memprof_attach_stub, memprof_attach_stub_end
.hidden memprof_attach_stub, memprof_attach_stub_end
memprof_attach_stub:
  mov x19, x0
  msr fpcr, xzr
  msr fpsr, xzr
  add x20, x19, #64
1:
  ldr x9, [x20, #16]
  ldp x0, x1, [x20, #24]
  ldp x2, x3, [x20, #40]
  ldr w10, [x20, #8]
  tbz w10, #0, 2f
  ldr x9, [x9]
2:
  tbz w10, #1, 3f
  ldr x0, [x0]
3:
  tbz w10, #2, 4f
  ldr x1, [x1]
4:
  ldr w11, [x20]
  cmp w11, #1
  b.eq 11f
  cmp w11, #2
  b.eq 12f
  cmp w11, #3
  b.eq 13f
  cmp w11, #4
  b.eq 14f
  cmp w11, #5
  b.eq 15f

5:
  mov sp, x19
  mov w11, #1
  stlr w11, [x19]
  ldr x21, [x19, #32]
6:
  subs x21, x21, #1
  b.mi 7f
  bl 17f
  b 6b
7:
  mov w11, #3
  stlr w11, [x19]
  ldr x9, [x19, #8]
  mov sp, x9
  mov x8, #139
  svc #0
  b 5b

11:
  blr x9
  b 20f
12:
  mov x8, x9
  mov x4, xzr
  mov x5, xzr
  svc #0
  b 20f
13:
  ldr w0, [x0]
  b 20f
14:
  str w1, [x0]
  mov x0, xzr
  b 20f
15:
  mov w11, #2
  stlr w11, [x19]
  ldr x21, [x19, #32]
16:
  add x9, x19, #4
  ldar w22, [x9]
  cbnz w22, 19f
  subs x21, x21, #1
  b.mi 19f
  bl 17f
  b 16b
17:
  add x0, x19, #48
  mov x1, xzr
  add x2, x19, #16
  mov x3, #8
  mov x8, #137
  svc #0
  cmn x0, #11
  b.eq 18f
  ldr x9, [x19, #40]
8:
  yield
  subs x9, x9, #1
  b.ne 8b
18:
  ret
19:
  stlr wzr, [x19]
  mov w0, w22

20:
  ldr w9, [x20, #12]
  cbz w9, 21f
  sxtw x0, w0
21:
  str x0, [x20, #56]
  ldr w9, [x20, #4]
  cmp w9, #1
  b.eq 31f
  cmp w9, #2
  b.eq 32f
  cmp w9, #3
  b.eq 33f
22:
  add x20, x20, #72
  b 1b
31:
  cbnz x0, 22b
  b 34f
32:
  tbz x0, #63, 22b
  b 34f
33:
  cbz x0, 22b
34:
  ldr x20, [x20, #64]
  b 1b
memprof_attach_stub_end:
.popsection
)");
// NOLINTNEXTLINE(readability-identifier-naming): of the assembler
extern "C" const char memprof_attach_stub[], memprof_attach_stub_end[];

namespace memprof::cli::processor {

std::string_view stub_code() {
  return {memprof_attach_stub, static_cast<size_t>(memprof_attach_stub_end - memprof_attach_stub)};
}

}  // namespace memprof::cli::processor
