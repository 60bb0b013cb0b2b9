// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/process/other_threads.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>

#include "format/path_pattern.h"
#include "platform/clock.h"
#include "platform/linux/memory/proc_file.h"
#include "platform/memory.h"
#include "platform/process.h"
#include "platform/stack.h"

namespace memprof::platform {
namespace {

constexpr uint32_t kMax = 4096;
// The resolver needs some 10 us, with hundreds of libraries and cold caches 100.
constexpr uint64_t kEnoughNs = 1'000'000;
constexpr long kPauseNs = 200'000;

struct Thread {
  uint32_t id;
  uint64_t used_ns;
};

// What getdents64 gives.
struct Entry {
  uint64_t inode;
  int64_t offset;
  uint16_t size;
  uint8_t type;
  char name[1];
};

bool parse_number(const char* text, uint64_t* number) {
  *number = 0;
  const char* at = text;
  for (; *at >= '0' && *at <= '9'; ++at) {
    *number = *number * 10 + static_cast<uint64_t>(*at - '0');
  }
  return at != text;
}

// The beginning of /proc/self/task/ID/`file`, as text.
bool read_fact(uint32_t id, const char* file, char* text, size_t size) {
  char path[64] = "/proc/self/task/";
  size_t length = strlen(path);
  length += format_decimal(id, path + length);
  memcpy(path + length, file, strlen(file) + 1);
  const size_t got = read_proc(path, text, size - 1);
  text[got] = '\0';
  return got != 0;
}

bool read_used_ns(uint32_t id, uint64_t* used_ns) {
  char text[128];
  return read_fact(id, "/schedstat", text, sizeof(text)) && parse_number(text, used_ns);
}

// Runs or waits for a processor; or is held by a debugger, wherever it is.
bool is_under_way(uint32_t id) {
  char text[128];
  if (!read_fact(id, "/stat", text, sizeof(text))) {
    return false;
  }
  const char* name_end = strrchr(text, ')');
  return name_end != nullptr && name_end[1] == ' ' && strchr("RDTt", name_end[2]) != nullptr;
}

uint32_t list_threads(Thread* threads) {
  const int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    return 0;
  }
  uint32_t count = 0;
  const uint32_t self = thread_id();
  alignas(8) char buffer[4096];
  for (;;) {
    const long length = syscall(SYS_getdents64, fd, buffer, sizeof(buffer));
    if (length <= 0) {
      break;
    }
    for (long at = 0; at < length;) {
      const Entry* entry = reinterpret_cast<const Entry*>(buffer + at);
      at += entry->size;
      uint64_t id = 0;
      Thread& t = threads[count];
      if (count < kMax && parse_number(entry->name, &id) && id != self) {
        t.id = static_cast<uint32_t>(id);
        count += read_used_ns(t.id, &t.used_ns);
      }
    }
  }
  close(fd);
  return count;
}

bool has_left(const Thread& thread) {
  uint64_t used_ns = 0;
  return !read_used_ns(thread.id, &used_ns) || used_ns - thread.used_ns >= kEnoughNs ||
         !is_under_way(thread.id);
}

}  // namespace

bool wait_for_other_threads(uint64_t limit_ns) {
  auto* threads = static_cast<Thread*>(reserve_pages(kMax * sizeof(Thread)));
  if (threads == nullptr) {
    return false;
  }
  const uint64_t start_ns = monotonic_ns();
  uint32_t count = list_threads(threads);
  for (;;) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < count; ++i) {
      if (!has_left(threads[i])) {
        threads[left++] = threads[i];
      }
    }
    count = left;
    if (count == 0 || monotonic_ns() - start_ns >= limit_ns) {
      break;
    }
    const timespec pause{0, kPauseNs};
    nanosleep(&pause, nullptr);
  }
  release_pages(threads, kMax * sizeof(Thread));
  return count == 0;
}

}  // namespace memprof::platform
