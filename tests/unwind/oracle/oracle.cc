// SPDX-License-Identifier: Apache-2.0
// A preload library that, at every n-th allocation of a program, walks the stack twice, by the engine and by
// libunwind step by step, and compares.
//
// ORACLE_FILE   a file of sizeof(Results), made by oracle_test.py; all processes of a run add to it
// ORACLE_EVERY  n
// ORACLE_CACHE  "none": libunwind remembers nothing (it does not notice a dlclose)
//
// Threads: one compares at a time, the others go on without.  Signals: a handler's allocations are compared,
// too, but for those that interrupt a comparison.  Allocates: never; libunwind has memory of its own.
#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libunwind.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "platform/linux/stack/hook_section.h"
#include "platform/process.h"
#include "platform/stack.h"

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
}

namespace {

using memprof::platform::Walk;

constexpr uint32_t kMaxFrames = 1024;
constexpr size_t kTextBytes = 1 << 20;

struct Results {  // oracle_test.py reads it: eight little-endian words, then text
  std::atomic<uint64_t> samples;
  std::atomic<uint64_t> identical;
  std::atomic<uint64_t> root_reached;  // by the engine
  std::atomic<uint64_t> oracle_ended;  // libunwind came to an end without an error
  std::atomic<uint64_t> skipped;       // another thread was comparing
  std::atomic<uint64_t> frames;        // of the engine
  std::atomic<uint64_t> max_frames;
  std::atomic<uint64_t> text_used;
  char text[kTextBytes];
};

Results* g_results;
uint64_t g_every = 1;
std::atomic<uint64_t> g_count{0};
std::atomic_flag g_busy = ATOMIC_FLAG_INIT;
uint64_t g_ours[kMaxFrames];
uint64_t g_theirs[kMaxFrames];
__thread bool t_inside __attribute__((tls_model("initial-exec")));

__attribute__((constructor)) void open_results() {
  const char* path = getenv("ORACLE_FILE");
  const char* every = getenv("ORACLE_EVERY");
  const int fd = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    return;
  }
  void* p = mmap(nullptr, sizeof(Results), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  const char* cache = getenv("ORACLE_CACHE");
  if (cache != nullptr && strcmp(cache, "none") == 0) {
    unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_NONE);
  }
  if (p != MAP_FAILED) {
    g_every = every != nullptr ? strtoull(every, nullptr, 10) : 1;
    g_results = static_cast<Results*>(p);
  }
}

struct Text {
  char bytes[16384];
  size_t used = 0;
  __attribute__((format(printf, 2, 3))) void add(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(bytes + used, sizeof(bytes) - used, format, arguments);
    va_end(arguments);
    used = std::min(sizeof(bytes) - 1, used + static_cast<size_t>(n < 0 ? 0 : n));
  }
  void add_place(const char* label, uint64_t pc) {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(pc), &info) != 0 && info.dli_fname != nullptr) {
      const char* slash = strrchr(info.dli_fname, '/');
      add(" %s=%s+0x%lx(%s)", label, slash != nullptr ? slash + 1 : info.dli_fname,
          pc - reinterpret_cast<uint64_t>(info.dli_fbase), info.dli_sname != nullptr ? info.dli_sname : "?");
    } else {
      add(" %s=0x%lx", label, pc);
    }
  }
};

Text g_text;  // used by whoever is comparing

void report(uint32_t ours, Walk reason, uint32_t theirs, int last_step, uint32_t same) {
  Text& text = g_text;
  text.used = 0;
  text.add("DIFFERENT %s after=%u ours=%u reason=%u theirs=%u step=%d", memprof::platform::program_path(),
           same, ours, static_cast<unsigned>(reason), theirs, last_step);
  if (same > 0) {
    text.add_place("last_same", g_ours[same - 1]);
  }
  for (uint32_t i = same; i < same + 3; ++i) {
    if (i < ours) {
      text.add_place("our_next", g_ours[i]);
    }
  }
  for (uint32_t i = same; i < same + 3; ++i) {
    if (i < theirs) {
      text.add_place("their_next", g_theirs[i]);
    }
  }
  text.add("\n");
  const uint64_t at = g_results->text_used.fetch_add(text.used);
  if (at + text.used <= kTextBytes) {
    memcpy(g_results->text + at, text.bytes, text.used);
  }
}

// In the caller's caller's frame: its return address is the first frame of both walks.
__attribute__((noinline)) MEMPROF_HOOK void compare(const void* frame) {
  const auto ours = memprof::platform::capture_stack(memprof::platform::Entry{frame}, g_ours, kMaxFrames);
  unw_context_t context;
  unw_cursor_t cursor;
  unw_getcontext(&context);
  unw_init_local(&cursor, &context);
  uint32_t theirs = 0;
  int step = 1;
  bool in_hooks = true;
  while (theirs < kMaxFrames) {
    step = unw_step(&cursor);
    unw_word_t pc = 0;
    if (step <= 0 || unw_get_reg(&cursor, UNW_REG_IP, &pc) != 0 || pc == 0) {
      break;
    }
    if (in_hooks && memprof::platform::is_hook_address(pc)) {
      continue;
    }
    in_hooks = false;
    // A function that was interrupted, not one that called: the engine adds one to the address.
    g_theirs[theirs++] = unw_is_signal_frame(&cursor) > 0 ? pc + 1 : pc;
  }
  uint32_t same = 0;
  while (same < ours.depth && same < theirs && g_ours[same] == g_theirs[same]) {
    ++same;
  }
  Results& r = *g_results;
  r.samples.fetch_add(1);
  r.frames.fetch_add(ours.depth);
  for (uint64_t max = r.max_frames.load(); max < ours.depth;) {
    if (r.max_frames.compare_exchange_weak(max, ours.depth)) {
      break;
    }
  }
  r.root_reached.fetch_add(ours.reason == Walk::kRoot ? 1 : 0);
  r.oracle_ended.fetch_add(step == 0 ? 1 : 0);
  if (same == ours.depth && same == theirs) {
    r.identical.fetch_add(1);
  } else {
    report(ours.depth, ours.reason, theirs, step, same);
  }
}

MEMPROF_HOOK __attribute__((noinline)) void count(const void* frame) {
  if (g_results == nullptr || t_inside || g_count.fetch_add(1, std::memory_order_relaxed) % g_every != 0) {
    return;
  }
  if (g_busy.test_and_set(std::memory_order_acquire)) {
    g_results->skipped.fetch_add(1);
    return;
  }
  t_inside = true;
  const int saved_errno = errno;
  compare(frame);
  errno = saved_errno;
  t_inside = false;
  g_busy.clear(std::memory_order_release);
}

}  // namespace

#define ORACLE_EXPORT extern "C" MEMPROF_HOOK __attribute__((visibility("default")))

ORACLE_EXPORT void* malloc(size_t size) {
  count(__builtin_frame_address(0));
  return __libc_malloc(size);
}

ORACLE_EXPORT void* calloc(size_t n, size_t size) {
  count(__builtin_frame_address(0));
  return __libc_calloc(n, size);
}

ORACLE_EXPORT void* realloc(void* block, size_t size) {
  count(__builtin_frame_address(0));
  return __libc_realloc(block, size);
}
