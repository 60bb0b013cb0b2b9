// SPDX-License-Identifier: Apache-2.0
// Checks that need the C API beside the allocations: exact NAME runs one (each in a process of its own),
// exact --list names them. At rate 0: every block has a record, and the records are the truth.
//
// Built three times: with the C API as weak symbols (for LD_PRELOAD), linked to libmemprof.so, and with
// libmemprof.a linked whole.
#include <malloc.h>
#include <sys/resource.h>

#include <cerrno>
#include <climits>
#include <new>
#include <string>
#include <vector>

#include "exact_leaves.h"
#include "exact_pairs.h"
#include "exact_records.h"
#include "memprof.h"
#include "truth.h"

namespace {

// ---- Sizes and failures

void sizes() {
  start();
  const size_t sizes[] = {
      0, 1, 15, 16, 17, 4095, 524287, 524288, 5242880, size_t{1} << 30, (size_t{1} << 31) + 7};
  for (const size_t size : sizes) {
    void* block = keep(malloc(opaque(size)));
    CHECK(block != nullptr);
    CHECK(size_of(block) == size);
    free(block);
    block = keep(::operator new(opaque(size)));
    CHECK(size_of(block) == size);
    ::operator delete(block);
  }
}

// Only glibc sets errno at each of these.
bool refused(const void* block) {
  static const bool is_glibc = getenv("EXACT_OTHER_ALLOCATOR") == nullptr;
  const bool is_right = block == nullptr && (errno == ENOMEM || !is_glibc);
  errno = 0;
  return is_right;
}

void failures() {
  start();
  const memprof_stats before = stats();
  errno = 0;
  CHECK(refused(malloc(opaque(PTRDIFF_MAX))));
  CHECK(refused(malloc(opaque(SIZE_MAX))));
  CHECK(refused(calloc(opaque(SIZE_MAX / 2), opaque(3))));
  CHECK(refused(calloc(opaque(size_t{1} << 32), opaque(size_t{1} << 32))));
  CHECK(refused(reallocarray(nullptr, opaque(size_t{1} << 33), opaque(size_t{1} << 33))));
  CHECK(refused(aligned_alloc(64, opaque(PTRDIFF_MAX))));
  CHECK(refused(memalign(64, opaque(PTRDIFF_MAX))));
  CHECK(refused(valloc(opaque(PTRDIFF_MAX))));
  void* untouched = &untouched;
  CHECK(posix_memalign(&untouched, opaque(3), opaque(100)) == EINVAL && untouched == &untouched);
  CHECK(posix_memalign(&untouched, opaque(64), opaque(PTRDIFF_MAX)) == ENOMEM && untouched == &untouched);
  const memprof_stats after = stats();
  CHECK(after.samples == before.samples);
  CHECK(after.live_samples == before.live_samples);
  // The clock goes on after a count of almost 2^64.
  void* block = keep(malloc(opaque(77)));
  CHECK(size_of(block) == 77);
  free(block);
}

// Success leaves errno alone, whatever the slow path does meanwhile.
void errno_is_kept() {
  start();
  for (int i = 0; i < 1000; ++i) {
    errno = 4711;
    void* block = keep(malloc(opaque(100)));
    CHECK(errno == 4711);
    block = keep(realloc(block, opaque(200000)));
    CHECK(errno == 4711);
    free(block);
    CHECK(errno == 4711);
  }
}

// A failing realloc leaves the block, and its record.
void failing_realloc() {
  start();
  std::vector<void*> blocks(1000);
  const uint64_t before = live_records();
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = keep(malloc(opaque(100 + i)));
  for (void* block : blocks) {
    errno = 0;
    CHECK(refused(realloc(block, opaque(PTRDIFF_MAX))));
    CHECK(refused(reallocarray(block, opaque(SIZE_MAX), 2)));
  }
  CHECK(live_records() == before + 1000);
  for (size_t i = 0; i < blocks.size(); i += 100) CHECK(size_of(blocks[i]) == 100 + i);
  for (void* block : blocks) free(block);
  CHECK(live_records() == before);
}

void realloc_edges() {
  start();
  const uint64_t before = live_records();
  void* block = keep(realloc(nullptr, opaque(333)));
  CHECK(size_of(block) == 333);
  const auto old = reinterpret_cast<uintptr_t>(block);
  block = keep(realloc(block, opaque(1 << 20)));
  CHECK(size_of(block) == 1 << 20);
  if (reinterpret_cast<uintptr_t>(block) != old) CHECK(known(old).size == kNoRecord);
  block = keep(realloc(block, opaque(10)));
  CHECK(size_of(block) == 10);
  // In place: the same address with a new size is one record.
  block = keep(realloc(block, opaque(11)));
  CHECK(size_of(block) == 11);
  CHECK(live_records() == before + 1);
  void* rest = realloc(block, opaque(0));
  CHECK(live_records() == before + (rest != nullptr));
  free(rest);
  CHECK(live_records() == before);
  free(nullptr);
  ::operator delete(nullptr);
  CHECK(live_records() == before);
}

// ---- Life cycle

void freed_after_all() {
  std::vector<void*> blocks(10000);
  start();
  const double before = live_bytes();
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = keep(malloc(opaque(i % 5000)));
  CHECK(live_bytes() > before);
  for (void* block : blocks) free(block);
  CHECK(live_bytes() == before);
  const memprof_stats s = stats();
  CHECK(s.samples - s.freed_samples == s.live_samples);
}

void blocks_before_start() {
  std::vector<void*> blocks(1000);
  for (void*& block : blocks) block = keep(malloc(opaque(200)));
  start();
  const uint64_t before = live_records();
  for (size_t i = 0; i < 500; ++i) free(blocks[i]);
  for (size_t i = 500; i < 1000; ++i) blocks[i] = keep(realloc(blocks[i], opaque(300)));
  CHECK(live_records() == before + 500);
  for (size_t i = 500; i < 1000; ++i) free(blocks[i]);
  CHECK(live_records() == before);
}

void start_stop_start() {
  start();
  void* first = keep(malloc(opaque(1001)));
  CHECK(memprof_stop() == MEMPROF_OK);
  void* between = keep(malloc(opaque(1002)));
  CHECK(size_of(first) == 1001);
  CHECK(size_of(between) == kNoRecord);
  const auto address = reinterpret_cast<uintptr_t>(first);
  free(first);
  CHECK(known(address).size == kNoRecord);
  CHECK(memprof_start() == MEMPROF_OK);
  void* last = keep(malloc(opaque(1003)));
  CHECK(size_of(last) == 1003);
  free(between);
  CHECK(memprof_stop() == MEMPROF_OK);
  CHECK(memprof_shutdown() == MEMPROF_OK);
  const auto kept = reinterpret_cast<uintptr_t>(last);
  free(last);
  CHECK(known(kept).size == 1003);  // the state at the shutdown
  CHECK(memprof_start() == MEMPROF_ERR_STATE);
}

// ---- C++

int g_handler_calls = 0;
void* g_reserve = nullptr;

class AddressSpaceLimit {
 public:
  // Room for `room_bytes` more.
  explicit AddressSpaceLimit(size_t room_bytes) {
    getrlimit(RLIMIT_AS, &before_);
    rlimit limit = before_;
    limit.rlim_cur = used() + room_bytes;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  }
  ~AddressSpaceLimit() { setrlimit(RLIMIT_AS, &before_); }

 private:
  static size_t used() {
    FILE* file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    CHECK(fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    return pages * 4096;
  }
  rlimit before_;
};

void new_handler() {
  start();
  g_reserve = malloc(opaque(size_t{200} << 20));
  void* block = nullptr;
  {
    const AddressSpaceLimit limit(size_t{20} << 20);
    std::set_new_handler([] {
      ++g_handler_calls;
      free(g_reserve);
      g_reserve = nullptr;
      std::set_new_handler(nullptr);
    });
    block = keep(::operator new(opaque(size_t{150} << 20)));
  }
  CHECK(block != nullptr);
  CHECK(g_handler_calls == 1);
  CHECK(size_of(block) == size_t{150} << 20);
  const auto address = reinterpret_cast<uintptr_t>(block);
  ::operator delete(block);
  CHECK(known(address).size == kNoRecord);
}

template <typename Function>
bool throws(Function function) {
  try {
    keep(function());
  } catch (const std::bad_alloc&) {
    return true;
  }
  return false;
}

void fail_all_news() {
  const AddressSpaceLimit limit(size_t{50} << 20);
  const size_t much = opaque(size_t{1} << 30);
  for (int i = 0; i < 100; ++i) {
    CHECK(throws([=] { return ::operator new(much); }));
    CHECK(throws([=] { return ::operator new[](much); }));
    CHECK(throws([=] { return ::operator new(much, kAlign); }));
    CHECK(throws([=] { return ::operator new[](much, kAlign); }));
    CHECK(::operator new(much, std::nothrow) == nullptr);
    CHECK(::operator new[](much, std::nothrow) == nullptr);
    CHECK(::operator new(much, kAlign, std::nothrow) == nullptr);
    CHECK(::operator new[](much, kAlign, std::nothrow) == nullptr);
  }
  // A handler may throw what it likes, and that passes through us.
  std::set_new_handler([] { throw std::bad_alloc(); });
  CHECK(throws([=] { return ::operator new(much); }));
  CHECK(::operator new(much, std::nothrow) == nullptr);
  std::set_new_handler(nullptr);
}

void bad_alloc() {
  start();
  const uint64_t before = live_records();
  fail_all_news();
  CHECK(live_records() == before);
  void* block = keep(::operator new(opaque(99)));
  CHECK(size_of(block) == 99);
  ::operator delete(block);
}

struct Thrower {
  char bytes[512];
  Thrower() { throw std::string("constructor"); }
};

// A constructor that throws: the block of new is given back through delete.
void throwing_constructor() {
  start();
  const uint64_t before = live_records();
  for (int i = 0; i < 100; ++i) {
    try {
      keep(new Thrower);
      CHECK(false);
    } catch (const std::string& what) {
      CHECK(what == "constructor");
    }
  }
  CHECK(live_records() == before);
}

constexpr struct {
  const char* name;
  void (*check)();
} kChecks[] = {{"pairings", pairings},
               {"sizes", sizes},
               {"failures", failures},
               {"errno_is_kept", errno_is_kept},
               {"failing_realloc", failing_realloc},
               {"realloc_edges", realloc_edges},
               {"freed_after_all", freed_after_all},
               {"blocks_before_start", blocks_before_start},
               {"start_stop_start", start_stop_start},
               {"new_handler", new_handler},
               {"bad_alloc", bad_alloc},
               {"throwing_constructor", throwing_constructor},
               {"leaves", leaves}};

}  // namespace

int main(int argc, char** argv) {
  for (const auto& check : kChecks) {
    if (argc == 2 && strcmp(argv[1], "--list") == 0) puts(check.name);
    if (argc == 2 && strcmp(argv[1], check.name) == 0) {
      check.check();
      return g_failures != 0;
    }
  }
  return argc == 2 && strcmp(argv[1], "--list") == 0 ? 0 : 98;
}
