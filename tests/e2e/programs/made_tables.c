// SPDX-License-Identifier: Apache-2.0
// Code that is made at run time as a JIT does: without frame pointers, with unwind tables that are registered
// (__register_frame and its like), at the same addresses repeatedly with other frames.  The program also
// asks libgcc, which must know the same as without us.
//   made_tables                   libgcc_s is in the process's scope
//   made_tables_loader LIBRARY    (LOADER) does the same in a library, whose libgcc_s is in a scope of its own
#include <dlfcn.h>
#include <sys/mman.h>

#include "truth.h"

enum { kRounds = 240, kPage = 4096, kOuter = 64 };

#if defined(LOADER)

int main(int argc, char** argv) {
  if (argc < 2) die("which library?");
  void* library = dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL);
  if (library == NULL) die(dlerror());
  int (*work)(void) = (int (*)(void))dlsym(library, "made_tables_work");
  if (work == NULL) die(dlerror());
  return work();
}

#else

void __register_frame(void* begin);
void __register_frame_info(const void* begin, void* object);
void __register_frame_table(void* begin);
void __deregister_frame(void* begin);
void* __deregister_frame_info(const void* begin);
const void* _Unwind_Find_FDE(void* address, void* bases);

SITE void* tables_leaf(size_t size) {
  return keep(malloc(opaque(size)));
}

SITE void in_made_tables(void) {
  free(tables_leaf(401));
}

typedef void (*Inner)(void (*function)(void));
typedef void (*Outer)(void (*function)(void), Inner inner);

SITE void calls_made_tables(Outer outer, Inner inner) {
  outer(in_made_tables, inner);
}

static void put(unsigned char** at, const void* bytes, size_t size) {
  memcpy(*at, bytes, size);
  *at += size;
}

static void put_word(unsigned char** at, uint32_t word) {
  put(at, &word, sizeof(word));
}

// A function of 26 bytes with so much on the stack; `call`: the second byte of its call instruction.
static void put_function(unsigned char* at, uint32_t frame, unsigned char call) {
  put(&at, "\x55\xbd\x11\x00\x00\x00\x48\x81\xec", 9);  // push %rbp; mov $0x11, %ebp; sub $frame, %rsp
  put_word(&at, frame);
  put(&at, "\xff", 1);  // call
  put(&at, &call, 1);
  put(&at, "\x48\x81\xc4", 3);  // add $frame, %rsp; pop %rbp; ret
  put_word(&at, frame);
  put(&at, "\x5d\xc3", 2);
}

// Its description: CFA = rsp + frame + 16, rbp at CFA - 16.
static void put_description(unsigned char** at, const unsigned char* section, const unsigned char* code,
                            uint32_t frame) {
  const uint32_t offset = frame + 16;
  const unsigned char program[8] = {0x0e, (unsigned char)(0x80 | (offset & 0x7f)),
                                    (unsigned char)(offset >> 7), 0x86, 2};
  put_word(at, 4 + 4 + 4 + 1 + 8 + 3);
  put_word(at, (uint32_t)(*at - section));
  put_word(at, (uint32_t)(code - *at));
  put_word(at, 26);
  put(at, "", 1);
  put(at, program, sizeof(program));
  put(at, "\0\0\0", 3);
}

static void put_section(unsigned char* section, const unsigned char* code, uint32_t inner, uint32_t outer) {
  unsigned char* at = section;
  put_word(&at, 20);
  put_word(&at, 0);
  put(&at, "\x01zR\0\x01\x78\x10\x01\x1b\x0c\x07\x08\x90\x01\0\0", 16);
  put_description(&at, section, code, inner);
  put_description(&at, section, code + kOuter, outer);
  put_word(&at, 0);
}

static void expect_known(void* address, int known) {
  void* bases[3];
  if ((_Unwind_Find_FDE(address, bases) != NULL) != known)
    die(known ? "libgcc knows nothing" : "libgcc knows more");
}

// __deregister_frame of libgcc 13 and later takes a list of sections for a section, and crashes.
static int takes_lists_back(void) {
  return dlvsym(RTLD_DEFAULT, "__truncsfbf2", "GCC_13.0.0") == NULL;
}

int made_tables_work(void) {
#if defined(__x86_64__)
  const uint32_t kinds = takes_lists_back() ? 3 : 2;
  unsigned char* memory = mmap(NULL, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) die("mmap");
  unsigned char* section = memory + kPage;
  static uint64_t object[8];
  for (uint32_t i = 0; i < kRounds; ++i) {
    const uint32_t inner = 16 * (1 + i % 9);
    const uint32_t outer = 16 * (1 + i % 11);
    put_function(memory, inner, 0xd7);           // call *%rdi
    put_function(memory + kOuter, outer, 0xd6);  // call *%rsi
    put_section(section, memory, inner, outer);
    if (mprotect(memory, kPage, PROT_READ | PROT_EXEC) != 0) die("mprotect");
    void* table[2] = {section, NULL};
    const uint32_t kind = i % kinds;
    void* name = kind == 2 ? (void*)table : section;
    if (kind == 0) __register_frame(section);
    if (kind == 1) __register_frame_info(section, object);
    if (kind == 2) __register_frame_table(table);
    expect_known(memory + 20, 1);
    calls_made_tables((Outer)(memory + kOuter), (Inner)memory);
    if (kind == 1) {
      if (__deregister_frame_info(name) != object) die("another object");
    } else {
      __deregister_frame(name);
    }
    expect_known(memory + 20, 0);
    // Every fourth time the memory goes and comes back.
    if (i % 4 == 0 ? mmap(memory, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                          -1, 0) != (void*)memory
                   : mprotect(memory, kPage, PROT_READ | PROT_WRITE) != 0) {
      die("mmap");
    }
  }
  tell("tables_leaf", "in_made_tables", kRounds, kRounds * 401, 0, 0);
#endif
  return 0;
}

#if !defined(LIBRARY)
int main(void) {
  return made_tables_work();
}
#endif

#endif
