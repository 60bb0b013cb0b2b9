// SPDX-License-Identifier: Apache-2.0
// Memory of the seam (platform/memory.h).  What is resident by areas is not looked at yet: those answers are the reference's.
//
// Model: an arena is mapped as a whole, and its file is sparse: what of it is touched counts, no more.
#include "platform/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <mach/mach.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

#include "platform/darwin/system.h"
#include "platform/process.h"

namespace memprof::platform {
namespace {

// Of the arena that is a file: a process has one at a time.
std::atomic<uint64_t> g_file_start{0};  // relaxed
std::atomic<uint64_t> g_file_limit{0};

bool is_in_file(const void* start) {
  const uint64_t address = address_of(start);
  return g_file_start.load(std::memory_order_relaxed) <= address &&
         address < g_file_limit.load(std::memory_order_relaxed);
}

}  // namespace

void* map_pieces(const char* path, size_t size_bytes, const Piece*, uint32_t) {
  if (path == nullptr) {
    return reserve_pages(size_bytes);
  }
  if (is_privileged()) {
    errno = EPERM;  // the file may belong to the user who started the process
    return nullptr;
  }
  const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) {
    return nullptr;
  }
  void* start = MAP_FAILED;
  if (fchmod(file, 0600) == 0 &&
      ftruncate(file, static_cast<off_t>(size_bytes)) == 0) {  // whatever the umask
    start = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  const int error = errno;
  close(file);
  if (start == MAP_FAILED) {
    unlink(path);
    errno = error;
    return nullptr;
  }
  g_file_limit.store(address_of(start) + size_bytes, std::memory_order_relaxed);
  g_file_start.store(address_of(start), std::memory_order_relaxed);
  return start;
}

bool extend_piece(void*, size_t, size_t new_bytes, size_t room_bytes) {
  return new_bytes <= room_bytes;  // it is there already
}

void unmap_pieces(void* start, size_t size_bytes, const Piece*, uint32_t) {
  if (is_in_file(start)) {
    g_file_start.store(0, std::memory_order_relaxed);
    g_file_limit.store(0, std::memory_order_relaxed);
  }
  munmap(start, size_bytes);
}

// Touches each page of a file, so that the file has no hole there: readers take a hole for the end of a table.  What is
// written is what is there, as one instruction, because other threads may write meanwhile.
bool commit_pages(void* start, size_t size_bytes) {
  constexpr size_t kSmallestPage = 4096;
  if (is_in_file(start)) {
    auto* bytes = static_cast<uint8_t*>(start);
    uint8_t nothing = 0;
    asm volatile("" : "+r"(nothing));  // else the compiler reads only
    for (size_t at = 0; at < size_bytes; at += kSmallestPage) {
      __atomic_fetch_or(bytes + at, nothing, __ATOMIC_RELAXED);
    }
  }
  return true;
}

// The space stays the file's.
void drop_pages(void* start, size_t size_bytes) {
  memset(start, 0, size_bytes);
}

uint64_t address_space_limit() {
  return UINT64_MAX;
}
uint64_t memory_limit() {
  return UINT64_MAX;
}
bool has_address_space(size_t) {
  return true;
}

bool read_memory(uint64_t address, void* bytes, size_t size_bytes) {
  uint64_t copied = 0;
  return mach_vm_read_overwrite(mach_task_self(), address, size_bytes, address_of(bytes), &copied) ==
             KERN_SUCCESS &&
         copied == size_bytes;
}

void advise_sparse(void*, size_t) {}
void advise_dense(void*, size_t) {}

uint64_t resident_bytes(uint64_t* max, uint64_t* files) {
  const int saved_errno = errno;
  task_vm_info_data_t info{};
  mach_msg_type_number_t count = TASK_VM_INFO_COUNT;
  const bool is_known =
      task_info(mach_task_self(), TASK_VM_INFO, reinterpret_cast<task_info_t>(&info), &count) == KERN_SUCCESS;
  errno = saved_errno;
  *max = is_known ? info.resident_size_peak : 0;
  if (files != nullptr) {
    *files = is_known ? info.external : 0;
  }
  return is_known ? info.resident_size : 0;
}

}  // namespace memprof::platform
