// SPDX-License-Identifier: Apache-2.0
// A preload library, behind libmemprof.so, that keeps a shadow stack of a program: what its calls pushed and
// its returns popped, seen as they happen and without a look at any unwind table or frame pointer. At each
// sample it writes the shadow stack down, and at the end what memprof recorded; shadow_test.py compares.
//
//     program ── call/ret ── breakpoint ── Tracer: does the instruction itself, pushes or pops the shadow
//     hook ── end_allocation ── breakpoint ── Tracer: writes the shadow down, does the first instruction
//
// Every call and every return of the program and its libraries (shadow_test.py finds them with objdump) is a
// breakpoint. That is single-stepping (EFLAGS.TF) without the nine of ten steps that do not touch the shadow;
// and in a virtual machine a breakpoint costs 2 us, a step 13.  If objdump missed a call, its return has no
// partner, which is counted and fails the test.  Our own library is not traced: its frames are left out, as
// memprof leaves them out.
//
// SHADOW_SITES     for each traced file: its path, NUL, number of sites, their addresses in it (8 bytes each)
// SHADOW_LOG       a file of sizeof(Log), made by shadow_test.py
// SHADOW_RECORDED  file to make: for each stack its samples, number of frames, frames (8 bytes each)
// SHADOW_EVENT     address in libmemprof.so of the function that is entered once a sample
// SHADOW_RATE      rate in bytes
// SHADOW_FORGET    n: leaves out every n-th call, which the test must find
//
// Threads: programs with one (pthread_create blocks the signal, and the kernel ends the process).  getrandom of
// glibc 2.41 does so, too: programs get one of ours.
// Signals: SIGTRAP and the alternate stack are ours; handlers of the program are followed (signals.cc).
// Failure: a line on standard error, status 99.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "memprof.h"
#include "tracer.h"

namespace {

using shadow::fail;
using shadow::File;
using shadow::g_tracer;
using shadow::kBreakpoint;
using shadow::kEndbr64;
using shadow::kMaxFiles;
using shadow::kPushRbp;
using shadow::Log;

uint64_t g_modules_added;
const uint8_t* g_lists;
size_t g_lists_bytes;
alignas(64) char g_signal_stack[1 << 16];

// --------------------------------------------------------------------------------------------

const uint8_t* map_file(const char* variable, int flags, int protection, int sharing, size_t* size) {
  const char* path = getenv(variable);
  const int fd = path == nullptr ? -1 : open(path, flags | O_CLOEXEC);
  struct stat status{};
  if (fd < 0 || fstat(fd, &status) != 0) {
    fail("shadow: SHADOW_SITES or SHADOW_LOG names no file; run it by shadow_test.py\n");
  }
  *size = static_cast<size_t>(status.st_size);
  void* p = mmap(nullptr, *size, protection, sharing, fd, 0);
  close(fd);
  if (p == MAP_FAILED) {
    fail("shadow: SHADOW_SITES or SHADOW_LOG cannot be mapped\n");
  }
  return static_cast<const uint8_t*>(p);
}

const uint64_t* find_sites(const char* path, uint64_t* count) {
  for (size_t at = 0; at < g_lists_bytes;) {
    const char* name = reinterpret_cast<const char*>(g_lists + at);
    at += (strlen(name) + 8) / 8 * 8;  // padded
    const uint64_t* words = reinterpret_cast<const uint64_t*>(g_lists + at);
    if (strcmp(name, path) == 0) {
      *count = words[0];
      return words + 1;
    }
    at += 8 * (1 + words[0]);
  }
  return nullptr;
}

int add_file(dl_phdr_info* info, size_t, void*) {
  g_modules_added = info->dlpi_adds;
  char own[4096];
  const char* path = info->dlpi_name;
  if (path[0] == '\0') {
    own[0] = '\0';
    const ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
    own[n < 0 ? 0 : n] = '\0';
    path = own;
  }
  if (strstr(path, "linux-vdso") != nullptr || strstr(path, "memprof_shadow.so") != nullptr) {
    return 0;
  }
  if (strstr(path, "libmemprof.so") != nullptr) {
    g_tracer.event = info->dlpi_addr + strtoull(getenv("SHADOW_EVENT"), nullptr, 0);
    return 0;
  }
  File file{};
  file.bias = info->dlpi_addr;
  file.sites = find_sites(path, &file.site_count);
  if (file.sites == nullptr || g_tracer.file_count == kMaxFiles) {
    fprintf(stderr, "shadow: no sites for %s\n", path);
    fail("shadow: a module that SHADOW_SITES does not have\n");
  }
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) {
      file.start = info->dlpi_addr + segment.p_vaddr;
      file.limit = file.start + segment.p_memsz;
      // Readable beyond its end: decode looks at whole instructions.
      void* copy =
          mmap(nullptr, segment.p_memsz + 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      memcpy(copy, reinterpret_cast<const void*>(file.start), segment.p_memsz);
      file.original = static_cast<const uint8_t*>(copy);
      g_tracer.files[g_tracer.file_count++] = file;
    }
  }
  return 0;
}

int count_modules(dl_phdr_info* info, size_t, void* added) {
  *static_cast<uint64_t*>(added) = info->dlpi_adds;
  return 0;
}

void make_writable(uint64_t start, uint64_t limit) {
  start &= ~uint64_t{4095};
  limit = (limit + 4095) & ~uint64_t{4095};
  if (mprotect(reinterpret_cast<void*>(start), limit - start, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
    fail("shadow: the system does not let code be changed\n");
  }
}

// Breakpoints, or the original bytes.  Calls nothing on its way.
void patch(bool set) {
  for (int i = 0; i < g_tracer.file_count; ++i) {
    const File& file = g_tracer.files[i];
    for (uint64_t k = 0; k < file.site_count; ++k) {
      const uint64_t at = file.sites[k] + file.bias;
      if (at - file.start < file.limit - file.start) {
        *reinterpret_cast<uint8_t*>(at) = set ? kBreakpoint : file.original[at - file.start];
      }
    }
  }
  *reinterpret_cast<uint8_t*>(g_tracer.event) = set ? kBreakpoint : kPushRbp;
}

void end_shadow() {
  memprof_stop();
  patch(false);
  uint64_t added = 0;
  dl_iterate_phdr(count_modules, &added);
  if (added != g_modules_added) {
    fail("shadow: the program loaded a library at run time, whose calls were not traced\n");
  }
  memprof_snapshot* snapshot = nullptr;
  FILE* out = fopen(getenv("SHADOW_RECORDED"), "wb");
  if (out == nullptr || memprof_get_snapshot(&snapshot) != MEMPROF_OK) {
    fail("shadow: no snapshot, or SHADOW_RECORDED cannot be made\n");
  }
  uint64_t count = 0;
  const memprof_stack* stacks = memprof_snapshot_stacks(snapshot, &count);
  const uint64_t* frames = memprof_snapshot_frames(snapshot, nullptr);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t head[] = {stacks[i].allocated.samples, stacks[i].frame_count};
    fwrite(head, sizeof(head), 1, out);
    fwrite(frames + stacks[i].first_frame, sizeof(uint64_t), stacks[i].frame_count, out);
  }
  fclose(out);
  memprof_free_snapshot(snapshot);
}

}  // namespace

// Entered from the program's _start, whose return address lies at `slot`: the outermost frame.
extern "C" __attribute__((visibility("hidden"))) void* memprof_shadow_begin(uint64_t* slot) {
  void* real = dlsym(RTLD_NEXT, "__libc_start_main");
  g_tracer.libc = reinterpret_cast<uint64_t>(real);
  const char* forget = getenv("SHADOW_FORGET");
  g_tracer.forget = forget == nullptr ? 0 : strtoull(forget, nullptr, 10);
  size_t log_bytes = 0;
  g_tracer.log = reinterpret_cast<Log*>(
      const_cast<uint8_t*>(map_file("SHADOW_LOG", O_RDWR, PROT_READ | PROT_WRITE, MAP_SHARED, &log_bytes)));
  g_lists = map_file("SHADOW_SITES", O_RDONLY, PROT_READ, MAP_PRIVATE, &g_lists_bytes);
  dl_iterate_phdr(add_file, nullptr);
  if (real == nullptr || g_tracer.event == 0 || log_bytes != sizeof(Log)) {
    fail("shadow: libmemprof.so is not preloaded, or SHADOW_LOG has another size\n");
  }
  const auto* event = reinterpret_cast<const uint8_t*>(g_tracer.event);
  g_tracer.event += memcmp(event, kEndbr64, sizeof(kEndbr64)) == 0 ? sizeof(kEndbr64) : 0;
  if (*reinterpret_cast<const uint8_t*>(g_tracer.event) != kPushRbp) {
    fail("shadow: the function of SHADOW_EVENT does not begin with push %rbp, which on_trap stands in for\n");
  }
  make_writable(g_tracer.event, g_tracer.event + 1);
  for (int i = 0; i < g_tracer.file_count; ++i) {
    make_writable(g_tracer.files[i].start, g_tracer.files[i].limit);
  }
  stack_t stack{};
  stack.ss_sp = g_signal_stack;
  stack.ss_size = sizeof(g_signal_stack);
  struct sigaction action{};
  action.sa_sigaction = shadow::on_trap;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  memprof_options options;
  memprof_options_init(&options, sizeof(options));
  options.python = 1;  // native frames are compared
  options.rate_bytes = strtoull(getenv("SHADOW_RATE"), nullptr, 10);
  options.max_depth = 1024;
  if (atexit(end_shadow) != 0 || sigaltstack(&stack, nullptr) != 0 ||
      sigaction(SIGTRAP, &action, nullptr) != 0 || memprof_init(&options) != MEMPROF_OK ||
      memprof_start() != MEMPROF_OK) {
    fail("shadow: memprof did not start\n");
  }
  g_tracer.entries[g_tracer.depth++] = {reinterpret_cast<uint64_t>(slot), *slot, false};
  patch(true);
  return real;
}

// Goes on in the real one as if this had not been there.
asm(R"(
  .text
  .globl __libc_start_main
  .type __libc_start_main, @function
__libc_start_main:
  push %rdi
  push %rsi
  push %rdx
  push %rcx
  push %r8
  push %r9
  lea 48(%rsp), %rdi
  sub $8, %rsp
  call memprof_shadow_begin
  add $8, %rsp
  pop %r9
  pop %r8
  pop %rcx
  pop %rdx
  pop %rsi
  pop %rdi
  jmp *%rax
  .size __libc_start_main, .-__libc_start_main
)");

extern "C" __attribute__((visibility("default"))) ssize_t getrandom(void* buffer, size_t length,
                                                                    unsigned flags) {
  return syscall(SYS_getrandom, buffer, length, flags);
}
