// SPDX-License-Identifier: Apache-2.0
// Pieces of a range of addresses of the seam (core/platform.h).
//
// Model: the kernel gives addresses from the top down (or, without a limit on stacks, from a third up), the
// highest gap that is large enough.  The range lies far below what it gives now, so that it comes there only
// when a process has mapped as much as lies between:
//     [ heap ...          | piece ..... | piece ....... | end |   256 GiB   | libraries, stacks, mappings ]
// A piece grows in place (mremap), with the next offsets of its file.  Behind the last one a page is taken,
// so that there, too, something is mapped where a piece must end.
#include "platform/linux/sparse_pages.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000  // kernels before 4.17 take the address for a wish
#endif

namespace memprof::platform {
namespace {

// Below what the kernel gives; the first that is free.  The last one: right there.
constexpr size_t kDistances[] = {size_t{256} << 30, size_t{64} << 30, size_t{16} << 30, size_t{4} << 30, 0};

// At this very place, or not at all.
bool map_at(uint8_t* place, size_t size_bytes, int protection, int flags, int file, size_t offset) {
  void* const got = mmap(place, size_bytes, protection, flags | MAP_NORESERVE | MAP_FIXED_NOREPLACE, file,
                         static_cast<off_t>(offset));
  if (got == place) {
    return true;
  }
  if (got != MAP_FAILED) {
    munmap(got, size_bytes);
    errno = EEXIST;
  }
  return false;
}

bool place_at(uint8_t* start, int file, size_t size_bytes, const Piece* pieces, uint32_t count) {
  uint32_t mapped = 0;
  const int flags = file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  while (mapped < count &&
         map_at(start + pieces[mapped].offset, pieces[mapped].size_bytes, PROT_READ | PROT_WRITE, flags, file,
                file >= 0 ? pieces[mapped].offset : 0)) {
    advise_sparse(start + pieces[mapped].offset, pieces[mapped].size_bytes);
    ++mapped;
  }
  if (mapped == count &&
      map_at(start + size_bytes, kPieceBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    return true;
  }
  const int error = errno;
  while (mapped > 0) {
    --mapped;
    munmap(start + pieces[mapped].offset, pieces[mapped].size_bytes);
  }
  errno = error;
  return false;
}

// nullptr: none.  Nothing is taken.
uint8_t* free_range(size_t size_bytes) {
  void* const range =
      mmap(nullptr, size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) {
    return nullptr;
  }
  munmap(range, size_bytes);
  return static_cast<uint8_t*>(range);
}

uint8_t* round_up(uint8_t* address) {
  const auto place = reinterpret_cast<uintptr_t>(address);
  return address + (kPieceBytes - place % kPieceBytes) % kPieceBytes;
}

// System calls, not functions of libc, as in arena_file.cc.
void* remap(void* start, size_t old_bytes, size_t new_bytes) {
  return reinterpret_cast<void*>(syscall(SYS_mremap, start, old_bytes, new_bytes, 0));
}

// Is all of it mapped, and as one piece?  For who was refused `new_bytes` in place of `old_bytes`: another
// thread may have been faster.  Asks for what cannot be had, over the start of the next piece: the kernel
// looks at whether what is there is one mapping first.
bool is_one_piece(uint8_t* start, size_t size_bytes, size_t room_bytes) {
  return remap(start, size_bytes, room_bytes + kPieceBytes) == MAP_FAILED &&
         (errno == ENOMEM || errno == EAGAIN) && syscall(SYS_msync, start, size_bytes, MS_ASYNC) == 0;
}

}  // namespace

void* place_pieces(int file, size_t size_bytes, const Piece* pieces, uint32_t count) {
  // Of what is near, one piece is asked for only: the whole range may be more than a limit leaves.
  uint8_t* const near = free_range(kPieceBytes);
  if (near == nullptr) {
    return nullptr;
  }
  for (const size_t distance : kDistances) {
    uint8_t* start = nullptr;
    if (distance == 0) {
      uint8_t* const range = free_range(size_bytes + 2 * kPieceBytes);
      start = range != nullptr ? round_up(range) : nullptr;
    } else if (reinterpret_cast<uintptr_t>(near) > distance + size_bytes + 2 * kPieceBytes) {
      start = round_up(near - distance - size_bytes - 2 * kPieceBytes);
    }
    if (start != nullptr && place_at(start, file, size_bytes, pieces, count)) {
      return start;
    }
  }
  return nullptr;
}

void unmap_pieces(void* start, size_t size_bytes, const Piece* pieces, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    munmap(static_cast<uint8_t*>(start) + pieces[i].offset, pieces[i].size_bytes);
  }
  munmap(static_cast<uint8_t*>(start) + size_bytes, kPieceBytes);
}

bool extend_piece(void* start, size_t old_bytes, size_t new_bytes, size_t room_bytes) {
  // By its end: what others did to its beginning (mlock, madvise of all that is mapped) does not matter.
  const size_t before = old_bytes - kPieceBytes;
  uint8_t* const last = static_cast<uint8_t*>(start) + before;
  return remap(last, kPieceBytes, new_bytes - before) == last ||
         is_one_piece(last, new_bytes - before, room_bytes - before);
}

uint64_t address_space_limit() {
  uint64_t limits[2];  // as the kernel has them: the one in force, the most that it can become
  static_assert(RLIM64_INFINITY == UINT64_MAX);
  return syscall(SYS_prlimit64, 0, RLIMIT_AS, nullptr, limits) == 0 ? limits[0] : UINT64_MAX;
}

bool has_address_space(size_t size_bytes) {
  return address_space_limit() == UINT64_MAX || free_range(size_bytes) != nullptr;
}

}  // namespace memprof::platform
