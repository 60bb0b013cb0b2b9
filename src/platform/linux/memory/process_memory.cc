// SPDX-License-Identifier: Apache-2.0
// platform/resident.h by /proc, mincore and process_vm_readv.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "platform/clock.h"
#include "platform/linux/memory/safe_read.h"
#include "platform/process.h"
#include "platform/resident.h"

namespace memprof::platform {
namespace {

// "/proc/PID/NAME"; of this process by the calling thread, because what the first thread left behind has no memory.
int open_proc(uint64_t process_id, const char* name) {
  char path[64] = "/proc/";
  char* at = path + 6;
  if (process_id == 0) {
    memcpy(at, "thread-self", 11);
    at += 11;
  } else {
    char digits[20];
    size_t count = 0;
    for (uint64_t rest = process_id; rest != 0 || count == 0; rest /= 10) {
      digits[count++] = static_cast<char>('0' + rest % 10);
    }
    while (count != 0) {
      *at++ = digits[--count];
    }
  }
  *at++ = '/';
  memcpy(at, name, strlen(name) + 1);
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
}

void close_file(int fd) {
  if (fd >= 0) {
    syscall(SYS_close, fd);
  }
}

// Lines "KEY:  NUMBER kB" of a file that comes in pieces.
class KilobyteLines {
 public:
  void feed(const char* text, size_t size, MemoryTotals* totals) {
    for (size_t i = 0; i < size; ++i) {
      if (text[i] == '\n') {
        line_[size_] = '\0';
        end_line(totals);
        size_ = 0;
      } else if (size_ < sizeof(line_) - 1) {
        line_[size_++] = text[i];
      }
    }
  }

 private:
  void end_line(MemoryTotals* totals) {
    const struct {
      const char* key;
      uint64_t* bytes;
    } keys[] = {{"VmRSS:", &totals->resident_bytes},
                {"RssAnon:", &totals->anonymous_bytes},
                {"RssFile:", &totals->file_bytes},
                {"RssShmem:", &totals->shared_bytes},
                {"VmSwap:", &totals->swap_bytes}};
    for (const auto& known : keys) {
      const size_t length = strlen(known.key);
      if (strncmp(line_, known.key, length) == 0) {
        *known.bytes = number_in(line_ + length) * 1024;
      }
    }
  }
  static uint64_t number_in(const char* text) {
    uint64_t number = 0;
    for (; *text != '\0'; ++text) {
      number = *text >= '0' && *text <= '9' ? number * 10 + static_cast<uint64_t>(*text - '0') : number;
    }
    return number;
  }

  char line_[64] = {};
  size_t size_ = 0;
};

uint64_t count_by_mincore(uint64_t start, uint64_t limit, uint64_t page) {
  constexpr uint64_t kPagesAtOnce = 1024;
  unsigned char states[kPagesAtOnce];
  uint64_t resident = 0;
  for (uint64_t at = start; at < limit; at += kPagesAtOnce * page) {
    const uint64_t end = limit - at < kPagesAtOnce * page ? limit : at + kPagesAtOnce * page;
    if (syscall(SYS_mincore, at, end - at, states) != 0) {
      continue;  // a part of it is not mapped any more
    }
    for (uint64_t i = 0; i < (end - at) / page; ++i) {
      resident += (states[i] & 1U) != 0 ? page : 0;
    }
  }
  return resident;
}

// An entry has bit 63 where the page is in memory.
uint64_t count_by_pagemap(int fd, uint64_t start, uint64_t limit, uint64_t page) {
  constexpr uint64_t kPagesAtOnce = 64;  // signal handlers may have a small stack
  constexpr uint64_t kPresent = uint64_t{1} << 63;
  uint64_t entries[kPagesAtOnce];
  uint64_t resident = 0;
  for (uint64_t at = start; at < limit;) {
    const uint64_t count = (limit - at) / page < kPagesAtOnce ? (limit - at) / page : kPagesAtOnce;
    const long got = syscall(SYS_pread64, fd, entries, count * sizeof(uint64_t), at / page * 8);
    if (got <= 0) {
      break;
    }
    const uint64_t read = static_cast<uint64_t>(got) / sizeof(uint64_t);
    for (uint64_t i = 0; i < read; ++i) {
      resident += (entries[i] & kPresent) != 0 ? page : 0;
    }
    at += read * page;
    if (read == 0) {
      break;
    }
  }
  return resident;
}

// PAGEMAP_SCAN of Linux 6.7: walks the page tables, so that what has none costs nothing. A page of zeros that was only
// read is not counted, as in RSS. False where the kernel does not know it.
bool count_by_scan(int fd, uint64_t start, uint64_t limit, uint64_t page_bytes, uint64_t* resident) {
  struct Region {
    uint64_t start, limit, categories;
  };
  struct Request {
    uint64_t size, flags, start, limit, walked_to, regions, region_count, max_pages;
    uint64_t inverted, all_of, any_of, returned;
  };
  static_assert(sizeof(Request) == 96 && sizeof(Region) == 24);
  constexpr auto kScan = _IOC(_IOC_READ | _IOC_WRITE, 'f', 16, sizeof(Request));
  constexpr uint64_t kPresent = 1 << 3;
  constexpr uint64_t kZeros = 1 << 5;
  Region regions[64];
  *resident = 0;
  for (uint64_t at = start; at < limit;) {
    Request request{};
    request.size = sizeof(request);
    request.start = at;
    request.limit = limit;
    request.regions = reinterpret_cast<uint64_t>(regions);
    request.region_count = sizeof(regions) / sizeof(regions[0]);
    request.inverted = kZeros;
    request.all_of = kPresent | kZeros;
    request.returned = kPresent;
    const long count = syscall(SYS_ioctl, fd, kScan, &request);
    if (count < 0 || request.walked_to <= at) {
      return false;
    }
    for (long i = 0; i < count; ++i) {
      *resident += (regions[i].limit - regions[i].start) / page_bytes * page_bytes;
    }
    at = request.walked_to;
  }
  return true;
}

}  // namespace

int open_memory(uint64_t process_id, MemoryView* view) {
  if (is_sandboxed()) {
    return -EPERM;
  }
  const bool is_own = process_id == 0 || process_id == memprof::platform::process_id();
  *view = {is_own ? platform::process_id() : process_id, is_own, -1, -1};
  const uint64_t of = is_own ? 0 : process_id;
  view->map = open_proc(of, is_own ? "maps" : "smaps");
  if (view->map < 0) {
    return -errno;
  }
  view->pages = open_proc(of, "pagemap");
  return 0;
}

void close_memory(MemoryView* view) {
  close_file(view->map);
  close_file(view->pages);
  view->map = view->pages = -1;
}

int read_memory_totals(const MemoryView& view, MemoryTotals* totals) {
  const int fd = open_proc(view.is_own ? 0 : view.process_id, "status");
  if (fd < 0) {
    return -errno;
  }
  *totals = {};
  KilobyteLines lines;
  char text[512];
  for (long got = 0; (got = syscall(SYS_read, fd, text, sizeof(text))) > 0;) {
    lines.feed(text, static_cast<size_t>(got), totals);
  }
  close_file(fd);
  return totals->resident_bytes != 0 ? 0 : -ESRCH;  // it has ended, or is a thread of the kernel
}

size_t read_memory_map(const MemoryView& view, char* text, size_t size_bytes) {
  const long got = syscall(SYS_read, view.map, text, size_bytes);
  return got > 0 ? static_cast<size_t>(got) : 0;
}

uint64_t pages_in_memory(const MemoryView& view, PagesOf what, uint64_t start, uint64_t limit) {
  const uint64_t page = getauxval(AT_PAGESZ);
  start = start / page * page;
  limit = limit > UINT64_MAX - page ? limit / page * page : (limit + page - 1) / page * page;
  if (start >= limit) {
    return 0;
  }
  // The others count the kernel's page of zeros, which pages that were read and never written are, as in memory; RSS
  // does not. And each page costs them, in memory or not: of 20 TiB with nothing in them 5 s. For a few pages they are cheaper.
  constexpr uint64_t kFewBytes = uint64_t{64} << 10;
  constexpr uint64_t kMayBeMostlyEmpty = uint64_t{1} << 30;
  const uint64_t min_bytes = what == PagesOf::kPrivate ? kFewBytes : kMayBeMostlyEmpty;
  uint64_t resident = 0;
  if (limit - start >= min_bytes && view.pages >= 0 &&
      count_by_scan(view.pages, start, limit, page, &resident)) {
    return resident;
  }
  if (view.is_own && what == PagesOf::kPrivate) {
    return count_by_mincore(start, limit, page);
  }
  return view.pages >= 0 ? count_by_pagemap(view.pages, start, limit, page) : 0;
}

uint64_t cpu_ns_of(const MemoryView& view) {
  if (view.is_own) {
    return process_cpu_ns();
  }
  // As clock_getcpuclockid makes it.
  constexpr int kUsedByAll = 2;
  timespec used{};
  const auto clock = static_cast<clockid_t>(~static_cast<unsigned>(view.process_id) << 3 | kUsedByAll);
  return clock_gettime(clock, &used) == 0
             ? static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(used.tv_nsec)
             : 0;
}

bool read_memory_of(const MemoryView& view, uint64_t address, void* bytes, size_t size_bytes) {
  if (view.is_own) {
    return read_memory_as(static_cast<uint32_t>(view.process_id), address, bytes, size_bytes);
  }
  iovec to{bytes, size_bytes};
  iovec from{reinterpret_cast<void*>(address), size_bytes};
  const ssize_t got = process_vm_readv(static_cast<pid_t>(view.process_id), &to, 1, &from, 1, 0);
  return got == static_cast<ssize_t>(size_bytes);
}

}  // namespace memprof::platform
