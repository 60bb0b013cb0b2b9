// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/memory/mappings.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace memprof::platform {
namespace {

// A number in base 10 or 16 at *at; false: there is none.
bool read_number(const char** at, unsigned base, uint64_t* number) {
  const char* start = *at;
  *number = 0;
  for (;; ++*at) {
    const char c = **at;
    unsigned digit;
    if (c >= '0' && c <= '9') {
      digit = static_cast<unsigned>(c - '0');
    } else if (base == 16 && c >= 'a' && c <= 'f') {
      digit = static_cast<unsigned>(c - 'a') + 10;
    } else {
      return *at != start;
    }
    *number = *number * base + digit;
  }
}

bool skip(const char** at, char c) {
  if (**at != c) {
    return false;
  }
  ++*at;
  return true;
}

}  // namespace

bool parse_mapping(const char* line, char* end, Mapping* mapping) {
  *end = '\0';
  const char* at = line;
  uint64_t major = 0;
  uint64_t minor = 0;
  if (!read_number(&at, 16, &mapping->start) || !skip(&at, '-') || !read_number(&at, 16, &mapping->limit) ||
      !skip(&at, ' ') || end - at < 5 || at[4] != ' ') {
    return false;
  }
  mapping->is_readable = at[0] == 'r';
  mapping->is_writable = at[1] == 'w';
  mapping->is_executable = at[2] == 'x';
  at += 5;
  if (!read_number(&at, 16, &mapping->file_offset) || !skip(&at, ' ') || !read_number(&at, 16, &major) ||
      !skip(&at, ':') || !read_number(&at, 16, &minor) || !skip(&at, ' ') ||
      !read_number(&at, 10, &mapping->inode)) {
    return false;
  }
  mapping->device = major << 32 | minor;
  while (*at == ' ') {
    ++at;
  }
  constexpr char kDeleted[] = " (deleted)";
  constexpr size_t kDeletedBytes = sizeof(kDeleted) - 1;
  const size_t length = static_cast<size_t>(end - at);
  if (length > kDeletedBytes && memcmp(end - kDeletedBytes, kDeleted, kDeletedBytes) == 0) {
    *(end - kDeletedBytes) = '\0';
  }
  mapping->path = at;
  return mapping->start < mapping->limit;
}

MappingReader::MappingReader(const char* path, char* buffer, size_t size_bytes)
    : fd_(static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC))),
      buffer_(buffer),
      size_bytes_(size_bytes),
      at_(buffer),
      end_(buffer) {}

MappingReader::~MappingReader() {
  if (fd_ >= 0) {
    syscall(SYS_close, fd_);
  }
}

// More bytes behind those that are there.
bool MappingReader::fill() {
  if (at_ != buffer_) {
    memmove(buffer_, at_, static_cast<size_t>(end_ - at_));
    end_ -= at_ - buffer_;
    at_ = buffer_;
  }
  const size_t room = size_bytes_ - static_cast<size_t>(end_ - buffer_);
  if (room == 0 || fd_ < 0) {
    return false;
  }
  long got;
  do {
    got = syscall(SYS_read, fd_, end_, room);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) {
    return false;
  }
  end_ += got;
  return true;
}

bool MappingReader::next(Mapping* mapping) {
  for (;;) {
    char* newline = static_cast<char*>(memchr(at_, '\n', static_cast<size_t>(end_ - at_)));
    if (newline == nullptr) {
      if (!fill()) {
        return false;
      }
      continue;
    }
    char* line = at_;
    at_ = newline + 1;
    if (parse_mapping(line, newline, mapping)) {
      return true;
    }
  }
}

}  // namespace memprof::platform
