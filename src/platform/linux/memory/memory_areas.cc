// SPDX-License-Identifier: Apache-2.0
// The areas of /proc/self/smaps (proc(5)), and whose they are.
#include "platform/memory_areas.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/linux/libc/malloc_areas.h"
#include "platform/linux/memory/mappings.h"
#include "platform/linux/memory/own_pages.h"
#include "platform/linux/memory/system_call.h"
#include "platform/process.h"

namespace memprof::platform {
namespace {

constexpr size_t kBufferBytes = 32 * 1024;
char g_buffer[kBufferBytes];  // of the one caller

// The number behind `name` in "Name:     123 kB", in bytes.  false: it is another line.
bool read_kilobytes(const char* line, const char* name, uint64_t* bytes) {
  const size_t length = strlen(name);
  if (strncmp(line, name, length) != 0) {
    return false;
  }
  uint64_t number = 0;
  const char* at = line + length;
  while (*at == ' ') {
    ++at;
  }
  for (; *at >= '0' && *at <= '9'; ++at) {
    number = number * 10 + static_cast<uint64_t>(*at - '0');
  }
  *bytes = number * 1024;
  return true;
}

// Takes the file apart, line by line.
class AreaReader {
 public:
  AreaReader(void (*visit)(const MemoryArea&, void*), void* context) : visit_(visit), context_(context) {}

  // [line, end): without its end of line, whose byte is overwritten.
  void line(char* line, char* end) {
    *end = '\0';
    if (*line >= 'A' && *line <= 'Z') {
      read_kilobytes(line, "Rss:", &area_.resident_bytes) ||
          read_kilobytes(line, "Anonymous:", &area_.anonymous_bytes);
      return;
    }
    Mapping mapping;
    if (parse_mapping(line, end, &mapping)) {
      finish();
      begin(mapping);
    }
  }

  void finish() {
    if (area_.limit != 0) {
      visit_(area_, context_);
    }
    area_ = {};
  }

 private:
  void begin(const Mapping& m) {
    const bool is_guard = !m.is_readable && !m.is_writable && !m.is_executable;
    area_.start = m.start;
    area_.limit = m.limit;
    area_.is_file = m.inode != 0;
    area_.is_break = strcmp(m.path, "[heap]") == 0;
    area_.is_stack = strcmp(m.path, "[stack]") == 0;
    area_.is_writable = m.is_writable;
    area_.follows_guard = guard_limit_ == m.start && !area_.is_file;
    area_.follows_anonymous = anonymous_limit_ == m.start;
    anonymous_limit_ = m.inode == 0 ? m.limit : 0;
    guard_limit_ = is_guard && !area_.is_file ? m.limit : 0;
    // The data of a module that is no part of its file (.bss) comes right behind its file.
    const bool is_data = file_limit_ == m.start && m.path[0] == '\0' && m.is_writable;
    area_.is_file = area_.is_file || is_data;
    // A part of our data has an advice of its own, and so is an area of its own between two others.
    const bool goes_on = is_data && (is_own(m.start) || is_own(m.limit));
    file_limit_ = (m.inode != 0 && m.is_writable) || goes_on ? m.limit : 0;
  }

  void (*visit_)(const MemoryArea&, void*);
  void* context_;
  MemoryArea area_{};
  uint64_t guard_limit_ = 0;
  uint64_t anonymous_limit_ = 0;
  uint64_t file_limit_ = 0;
};

bool read_areas(long fd, AreaReader* reader) {
  size_t filled = 0;
  for (;;) {
    const long got = system_call(SYS_read, fd, reinterpret_cast<long>(g_buffer + filled),
                                 static_cast<long>(kBufferBytes - filled), 0, 0, 0);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      reader->finish();
      return got == 0;
    }
    filled += static_cast<size_t>(got);
    char* at = g_buffer;
    for (char* end; (end = static_cast<char*>(memchr(at, '\n', filled - (at - g_buffer)))) != nullptr;
         at = end + 1) {
      reader->line(at, end);
    }
    filled -= static_cast<size_t>(at - g_buffer);
    memmove(g_buffer, at, filled);
    if (filled == kBufferBytes) {
      filled = 0;  // no line is as long
    }
  }
}

}  // namespace

uint64_t page_bytes() {
  return getauxval(AT_PAGESZ);
}

bool each_memory_area(void (*visit)(const MemoryArea&, void*), void* context) {
  if (is_sandboxed()) {
    return false;
  }
  const int saved_errno = errno;
  const long fd = system_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/smaps"),
                              O_RDONLY | O_CLOEXEC, 0, 0, 0);
  bool is_whole = false;
  if (fd >= 0) {
    AreaReader reader(visit, context);
    is_whole = read_areas(fd, &reader);
    system_call(SYS_close, fd, 0, 0, 0, 0, 0);
  }
  errno = saved_errno;
  return is_whole;
}

MemoryPart holder_of(const MemoryArea& area, uint64_t start, uint64_t limit, uint64_t* end) {
  *end = limit;
  uint64_t own_limit = 0;
  if (is_own(start, &own_limit)) {
    *end = own_limit < limit ? own_limit : limit;
    return MemoryPart::kOwn;
  }
  if (area.is_file) {
    return MemoryPart::kModules;
  }
  if (area.is_break) {
    return MemoryPart::kMalloc;
  }
  if (area.is_stack) {
    return MemoryPart::kStacks;
  }
  // A block may go on in the next area: a program that advises a part of it (madvise) splits it.
  static uint64_t malloc_limit = 0;  // of the one caller
  if (start != area.start || !area.follows_anonymous || malloc_limit <= start) {
    malloc_limit = end_of_malloc_area(start);
  }
  if (malloc_limit != 0) {
    *end = malloc_limit < limit ? malloc_limit : limit;
    return MemoryPart::kMalloc;
  }
  // The C library puts a guard below each stack of a thread.
  if (area.follows_guard && area.is_writable && start == area.start) {
    return MemoryPart::kStacks;
  }
  *end = next_own(start, limit);
  return MemoryPart::kUnseen;
}

// What keeps the list from being read keeps pages from being asked for.
bool counts_without_areas() {
  return false;
}

uint64_t resident_bytes_in(uint64_t start, uint64_t limit) {
  const int saved_errno = errno;
  const uint64_t page = page_bytes();
  constexpr uint64_t kPages = 4096;
  static unsigned char pages[kPages];  // of the one caller
  uint64_t resident = 0;
  for (uint64_t at = start; at < limit; at += kPages * page) {
    const uint64_t bytes = limit - at < kPages * page ? limit - at : kPages * page;
    if (system_call(SYS_mincore, static_cast<long>(at), static_cast<long>(bytes),
                    reinterpret_cast<long>(pages), 0, 0, 0) != 0) {
      continue;  // a part of it is not mapped
    }
    for (uint64_t i = 0; i < (bytes + page - 1) / page; ++i) {
      resident += (pages[i] & 1) * page;
    }
  }
  errno = saved_errno;
  return resident;
}

}  // namespace memprof::platform
