// SPDX-License-Identifier: Apache-2.0
// Code that is made at run time and has no tables, as an interpreter's of the JVM: it keeps frame pointers,
// and jumps to what it calls with a return address that it pushed itself.
#include <sys/mman.h>

#include "truth.h"

enum { kRounds = 200 };

SITE void* made_leaf(size_t size) {
  return keep(malloc(opaque(size)));
}

SITE void in_made_code(void) {
  free(made_leaf(401));
}

typedef void (*Made)(void (*function)(void));

SITE void calls_made_code(Made made) {
  made(in_made_code);
}

int main(void) {
#if defined(__x86_64__)
  static const unsigned char kCode[] = {
      0x55, 0x48, 0x89, 0xe5,                    // push %rbp; mov %rsp, %rbp
      0x48, 0x8d, 0x05, 0x06, 0x00, 0x00, 0x00,  // lea after(%rip), %rax
      0x50,                                      // push %rax
      0xe9, 0x02, 0x00, 0x00, 0x00,              // jmp inner
      0x5d, 0xc3,                                // after: pop %rbp; ret
      0x55, 0x48, 0x89, 0xe5,                    // inner: push %rbp; mov %rsp, %rbp
      0xff, 0xd7,                                // call *%rdi
      0xc9, 0xc3,                                // leave; ret
  };
  void* memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) die("mmap");
  memcpy(memory, kCode, sizeof(kCode));
  if (mprotect(memory, 4096, PROT_READ | PROT_EXEC) != 0) die("mprotect");
  for (int i = 0; i < kRounds; ++i) calls_made_code((Made)memory);
  tell("made_leaf", "-", kRounds, kRounds * 401, 0, 0);
#endif
  return 0;
}
