// SPDX-License-Identifier: Apache-2.0
// x86-64: the code that executes a program of calls (processor.h, call_program.h).
#include "memprof/attach/linux/processor/call_program.h"
#include "memprof/attach/linux/processor/processor.h"

// rdi: the CallHeader.  Read-only data here, code there.  5: all is done; at 7 it writes that it leaves, and returns by the
// frame (should the system refuse that, it waits on).  17: one pause, which a filter of system calls may answer with anything.
asm(R"(
.pushsection .rodata
.globl memprof_attach_stub, memprof_attach_stub_end
.hidden memprof_attach_stub, memprof_attach_stub_end
memprof_attach_stub:
  cld
  mov %rdi, %rbx
  fninit
  ldmxcsr 56(%rbx)
  lea 64(%rbx), %r12
1:
  mov 16(%r12), %rax
  mov 24(%r12), %rdi
  mov 32(%r12), %rsi
  mov 40(%r12), %rdx
  mov 48(%r12), %rcx
  mov 8(%r12), %r14d
  test $1, %r14b
  jz 2f
  mov (%rax), %rax
2:
  test $2, %r14b
  jz 3f
  mov (%rdi), %rdi
3:
  test $4, %r14b
  jz 4f
  mov (%rsi), %rsi
4:
  mov (%r12), %r13d
  cmp $1, %r13d
  je 11f
  cmp $2, %r13d
  je 12f
  cmp $3, %r13d
  je 13f
  cmp $4, %r13d
  je 14f
  cmp $5, %r13d
  je 15f

5:
  mov %rbx, %rsp
  movl $1, (%rbx)
  mov 32(%rbx), %r14
6:
  dec %r14
  js 7f
  call 17f
  jmp 6b
7:
  movl $3, (%rbx)
  mov 8(%rbx), %rsp
  mov $15, %eax
  syscall
  jmp 5b

11:
  call *%rax
  jmp 20f
12:
  mov %rcx, %r10
  xor %r8d, %r8d
  xor %r9d, %r9d
  syscall
  jmp 20f
13:
  mov (%rdi), %eax
  jmp 20f
14:
  mov %esi, (%rdi)
  xor %eax, %eax
  jmp 20f
15:
  movl $2, (%rbx)
  mov 32(%rbx), %r14
16:
  mov 4(%rbx), %eax
  test %eax, %eax
  jnz 19f
  dec %r14
  js 19f
  call 17f
  jmp 16b
17:
  lea 48(%rbx), %rdi
  xor %esi, %esi
  lea 16(%rbx), %rdx
  mov $8, %r10d
  mov $128, %eax
  syscall
  cmp $-11, %rax
  je 18f
  mov 40(%rbx), %rcx
8:
  pause
  dec %rcx
  jnz 8b
18:
  ret
19:
  movl $0, (%rbx)

20:
  cmpl $0, 12(%r12)
  je 21f
  cltq
21:
  mov %rax, 56(%r12)
  mov 4(%r12), %ecx
  cmp $1, %ecx
  je 31f
  cmp $2, %ecx
  je 32f
  cmp $3, %ecx
  je 33f
22:
  add $72, %r12
  jmp 1b
31:
  test %rax, %rax
  jnz 22b
  jmp 34f
32:
  test %rax, %rax
  jns 22b
  jmp 34f
33:
  test %rax, %rax
  jz 22b
34:
  mov 64(%r12), %r12
  jmp 1b
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
