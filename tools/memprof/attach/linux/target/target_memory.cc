// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/target/target_memory.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "memprof/host/linux/process/proc_path.h"

namespace memprof::cli {
namespace {

bool parse_line(const std::string& line, MemoryRange* range) {
  unsigned long long start = 0, end = 0, offset = 0;
  char write = '-', execute = '-';
  int path_at = 0;
  if (std::sscanf(line.c_str(), "%llx-%llx %*c%c%c%*c %llx %*x:%*x %*u %n", &start, &end, &write, &execute,
                  &offset, &path_at) != 5 ||
      path_at == 0) {
    return false;
  }
  *range = {start, end, offset, write == 'w', execute == 'x', line.substr(static_cast<size_t>(path_at))};
  return true;
}

}  // namespace

std::vector<MemoryRange> memory_ranges(uint64_t pid, int* error) {
  std::vector<MemoryRange> ranges;
  errno = 0;
  std::ifstream maps(proc_path(pid, "maps"));
  for (std::string line; std::getline(maps, line);) {
    MemoryRange range;
    if (parse_line(line, &range)) ranges.push_back(std::move(range));
  }
  if (ranges.empty()) *error = errno != 0 ? errno : ESRCH;
  return ranges;
}

const MemoryRange* range_at(const std::vector<MemoryRange>& ranges, uint64_t address) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), address,
                                      [](uint64_t a, const MemoryRange& range) { return a < range.start; });
  if (after == ranges.begin()) return nullptr;
  const MemoryRange& range = *std::prev(after);
  return address < range.end ? &range : nullptr;
}

std::string auxiliary_vector(uint64_t pid) {
  std::ifstream file(proc_path(pid, "auxv"), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

uint64_t auxiliary_value(const std::string& vector, uint64_t type) {
  for (size_t at = 0; at + 16 <= vector.size(); at += 16) {
    uint64_t entry[2];
    memcpy(entry, vector.data() + at, sizeof(entry));
    if (entry[0] == type) return entry[1];
  }
  return 0;
}

std::string program_identity(uint64_t pid) {
  constexpr size_t kRandomBytes = 16;
  // Opened first: of the memory of a program before, nothing can be read.
  const TargetMemory memory(pid, TargetMemory::Access::kRead);
  const std::string vector = auxiliary_vector(pid);
  std::string random(kRandomBytes, '\0');
  const uint64_t at = auxiliary_value(vector, AT_RANDOM);
  return at != 0 && memory.read(at, random.data(), random.size()) ? vector + random : "";
}

TargetMemory::TargetMemory(uint64_t pid, Access access)
    : fd_(open(proc_path(pid, "mem").c_str(), (access == Access::kRead ? O_RDONLY : O_RDWR) | O_CLOEXEC)),
      error_(fd_ < 0 ? errno : 0) {}

TargetMemory::~TargetMemory() {
  if (fd_ >= 0) close(fd_);
}

TargetMemory::TargetMemory(TargetMemory&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), error_(other.error_) {}

TargetMemory& TargetMemory::operator=(TargetMemory&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(error_, other.error_);
  return *this;
}

bool TargetMemory::read(uint64_t address, void* to, size_t size) const {
  return read_some(address, to, size) == size;
}

size_t TargetMemory::read_some(uint64_t address, void* to, size_t size) const {
  size_t done = 0;
  while (done < size) {
    const ssize_t got =
        pread(fd_, static_cast<char*>(to) + done, size - done, static_cast<off_t>(address + done));
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

bool TargetMemory::write(uint64_t address, const void* from, size_t size) const {
  return pwrite(fd_, from, size, static_cast<off_t>(address)) == static_cast<ssize_t>(size);
}

}  // namespace memprof::cli
