// SPDX-License-Identifier: Apache-2.0
// Pieces of a range of addresses of the seam (platform/memory.h).
//
// Model: the kernel gives addresses from the top down (or, without a limit on stacks, from a third up), the
// highest gap that is large enough.  The range lies far below what it gives now, so that it comes there only
// when a process has mapped as much as lies between:
//     [ heap ...          | piece ..... | piece ....... | end |   256 GiB   | libraries, stacks, mappings ]
// A piece grows in place (mremap), with the next offsets of its file.  Behind the last one a page is taken,
// so that there, too, something is mapped where a piece must end.
#include "platform/linux/memory/sparse_pages.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/linux/memory/own_pages.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000  // kernels before 4.17 take the address for a wish
#endif

namespace memprof::platform {
namespace {

// How far below what the kernel gives: the farthest that is free, so that fork children, which have the
// ranges of those before them, find one.  The last one: right there.
constexpr size_t kMaxDistance = size_t{256} << 30;
constexpr size_t kDistanceStep = size_t{8} << 30;

// Addresses that nothing else is mapped at.
struct Range {
  uint8_t* start;  // nullptr: there are none
  bool is_ours;    // mapped by us, because the system did not take it back (a sandbox)
};

// At this very place, or not at all.  `flags`: MAP_FIXED, over what is ours; or MAP_FIXED_NOREPLACE.
bool map_at(uint8_t* place, size_t size_bytes, int protection, int flags, int file, size_t offset) {
  void* const got =
      map_own(place, size_bytes, protection, flags | MAP_NORESERVE, file, static_cast<off_t>(offset));
  if (got == place) {
    return true;
  }
  if (got != MAP_FAILED) {
    unmap_own(got, size_bytes);
    errno = EEXIST;
  }
  return false;
}

bool place_at(uint8_t* start, bool is_ours, int file, size_t size_bytes, const Piece* pieces,
              uint32_t count) {
  uint32_t mapped = 0;
  const int fixed = is_ours ? MAP_FIXED : MAP_FIXED_NOREPLACE;
  const int flags = fixed | (file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS);
  while (mapped < count &&
         map_at(start + pieces[mapped].offset, pieces[mapped].size_bytes, PROT_READ | PROT_WRITE, flags, file,
                file >= 0 ? pieces[mapped].offset : 0)) {
    advise_sparse(start + pieces[mapped].offset, pieces[mapped].size_bytes);
    ++mapped;
  }
  if (mapped == count &&
      map_at(start + size_bytes, kPieceBytes, PROT_NONE, fixed | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    return true;
  }
  const int error = errno;
  while (mapped > 0) {
    --mapped;
    unmap_own(start + pieces[mapped].offset, pieces[mapped].size_bytes);
  }
  errno = error;
  return false;
}

// At `place`, or, if that is nullptr, where the kernel has as much.  Nothing is taken.
Range free_range(uint8_t* place, size_t size_bytes) {
  void* const range = map_own(
      place, size_bytes, PROT_NONE,
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (place != nullptr ? MAP_FIXED_NOREPLACE : 0), -1, 0);
  if (range == MAP_FAILED) {
    return {nullptr, false};
  }
  const bool is_ours = unmap_own(range, size_bytes) != 0;
  return {place == nullptr || range == place ? static_cast<uint8_t*>(range) : nullptr, is_ours};
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
  uint8_t* const near = free_range(nullptr, kPieceBytes).start;
  const size_t whole = size_bytes + 2 * kPieceBytes;  // the page behind it, and what rounding takes
  for (size_t distance = kMaxDistance; near != nullptr; distance -= kDistanceStep) {
    Range range{nullptr, false};
    if (distance == 0) {
      range = free_range(nullptr, whole);
    } else if (reinterpret_cast<uintptr_t>(near) > distance + whole + kPieceBytes) {
      range = free_range(round_up(near - distance - whole), whole);
    }
    if (range.start != nullptr &&
        place_at(round_up(range.start), range.is_ours, file, size_bytes, pieces, count)) {
      return round_up(range.start);
    }
    if (distance == 0) {
      break;
    }
  }
  return nullptr;
}

void unmap_pieces(void* start, size_t size_bytes, const Piece* pieces, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    unmap_own(static_cast<uint8_t*>(start) + pieces[i].offset, pieces[i].size_bytes);
  }
  unmap_own(static_cast<uint8_t*>(start) + size_bytes, kPieceBytes);
}

bool extend_piece(void* start, size_t old_bytes, size_t new_bytes, size_t room_bytes) {
  // By its end: what others did to its beginning (mlock, madvise of all that is mapped) does not matter.
  const size_t before = old_bytes - kPieceBytes;
  uint8_t* const last = static_cast<uint8_t*>(start) + before;
  const bool is_there = remap(last, kPieceBytes, new_bytes - before) == last ||
                        is_one_piece(last, new_bytes - before, room_bytes - before);
  if (is_there) {
    note_own(start, new_bytes);
  }
  return is_there;
}

uint64_t address_space_limit() {
  uint64_t limits[2];  // as the kernel has them: the one in force, the most that it can become
  static_assert(static_cast<uint64_t>(RLIM_INFINITY) == UINT64_MAX);
  return syscall(SYS_prlimit64, 0, RLIMIT_AS, nullptr, limits) == 0 ? limits[0] : UINT64_MAX;
}

bool has_address_space(size_t size_bytes) {
  return address_space_limit() == UINT64_MAX || free_range(nullptr, size_bytes).start != nullptr;
}

}  // namespace memprof::platform
