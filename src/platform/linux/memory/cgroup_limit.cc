// SPDX-License-Identifier: Apache-2.0
// System calls, not functions of libc, as in files/arena_file.cc.
#include "platform/linux/memory/cgroup_limit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/memory.h"
#include "platform/process.h"

namespace memprof::platform {
namespace {

constexpr size_t kMaxText = 2048;  // of the list of folders; what is longer is cut
constexpr size_t kMaxPath = 512;   // a folder with a longer path is left out
constexpr int kMaxFolders = 32;

// Returns the length.
size_t read_text(const char* path, char* text, size_t size) {
  const long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return 0;
  }
  const long got = syscall(SYS_read, fd, text, size - 1);
  syscall(SYS_close, fd);
  const size_t length = got > 0 ? static_cast<size_t>(got) : 0;
  text[length] = '\0';
  return length;
}

// UINT64_MAX: "max", no number, or no such file.
uint64_t read_limit(const char* path) {
  char text[32];
  uint64_t limit = 0;
  size_t at = 0;
  for (const size_t length = read_text(path, text, sizeof(text));
       at < length && text[at] >= '0' && text[at] <= '9'; ++at) {
    if (__builtin_mul_overflow(limit, uint64_t{10}, &limit) ||
        __builtin_add_overflow(limit, static_cast<uint64_t>(text[at] - '0'), &limit)) {
      return UINT64_MAX;
    }
  }
  // Version 1 has a number of pages for "none".
  constexpr uint64_t kNone = uint64_t{1} << 60;
  return at == 0 || limit >= kNone ? UINT64_MAX : limit;
}

class Path {
 public:
  bool add(const char* text, size_t length) {
    if (length >= sizeof(text_) - size_) {
      return false;
    }
    memcpy(text_ + size_, text, length);
    size_ += length;
    text_[size_] = '\0';
    return true;
  }
  bool add(const char* text) { return add(text, strlen(text)); }
  const char* text() const { return text_; }

 private:
  char text_[kMaxPath] = {};
  size_t size_ = 0;
};

uint64_t limit_of_folder(const char* root, const char* controller, const char* folder, size_t length,
                         const char* file) {
  Path path;
  return path.add(root) && path.add(controller) && path.add(folder, length) && path.add("/") && path.add(file)
             ? read_limit(path.text())
             : UINT64_MAX;
}

// Of `folder`, "/a/b", and all above it.
uint64_t min_limit(const char* root, const char* controller, const char* folder, size_t length,
                   const char* file) {
  uint64_t min = UINT64_MAX;
  for (int i = 0; i < kMaxFolders; ++i) {
    while (length > 0 && folder[length - 1] == '/') {
      --length;
    }
    const uint64_t limit = limit_of_folder(root, controller, folder, length, file);
    min = limit < min ? limit : min;
    if (length == 0) {
      break;
    }
    while (length > 0 && folder[length - 1] != '/') {
      --length;
    }
  }
  return min;
}

// Is it one of "cpu,memory"?
bool has_memory(const char* controllers, const char* end) {
  constexpr char kMemory[] = "memory";
  constexpr size_t kLength = sizeof(kMemory) - 1;
  for (const char* at = controllers; at < end;) {
    const auto* comma = static_cast<const char*>(memchr(at, ',', static_cast<size_t>(end - at)));
    const char* const next = comma != nullptr ? comma : end;
    if (static_cast<size_t>(next - at) == kLength && memcmp(at, kMemory, kLength) == 0) {
      return true;
    }
    at = next + 1;
  }
  return false;
}

// "ID:CONTROLLERS:FOLDER"
uint64_t limit_of_line(const char* line, const char* end, const char* root) {
  const auto* first = static_cast<const char*>(memchr(line, ':', static_cast<size_t>(end - line)));
  if (first == nullptr) {
    return UINT64_MAX;
  }
  const auto* second = static_cast<const char*>(memchr(first + 1, ':', static_cast<size_t>(end - first - 1)));
  if (second == nullptr) {
    return UINT64_MAX;
  }
  const char* const folder = second + 1;
  const auto length = static_cast<size_t>(end - folder);
  if (second == first + 1) {
    return min_limit(root, "", folder, length, "memory.max");
  }
  return has_memory(first + 1, second) ? min_limit(root, "/memory", folder, length, "memory.limit_in_bytes")
                                       : UINT64_MAX;
}

}  // namespace

uint64_t cgroup_memory_limit(const char* processes_file, const char* root) {
  char text[kMaxText];
  const size_t length = read_text(processes_file, text, sizeof(text));
  uint64_t min = UINT64_MAX;
  for (const char* line = text; line < text + length;) {
    const auto* newline =
        static_cast<const char*>(memchr(line, '\n', static_cast<size_t>(text + length - line)));
    const char* const end = newline != nullptr ? newline : text + length;
    const uint64_t limit = limit_of_line(line, end, root);
    min = limit < min ? limit : min;
    line = end + 1;
  }
  return min;
}

uint64_t memory_limit() {
  return is_sandboxed() ? UINT64_MAX : cgroup_memory_limit("/proc/self/cgroup", "/sys/fs/cgroup");
}

}  // namespace memprof::platform
