// SPDX-License-Identifier: Apache-2.0
// Memory of the seam (platform/memory.h): private pages, which reserve_pages of the system gives.
#include "platform/memory.h"

namespace memprof::platform {

// The whole range at once, gaps included: a system with a limit on the address space should map the pieces
// alone.  There is no file that outlives the process, so an arena at a path is refused.
void* map_pieces(const char* path, size_t size_bytes, const Piece*, uint32_t) {
  return path == nullptr ? reserve_pages(size_bytes) : nullptr;
}

bool extend_piece(void*, size_t, size_t new_bytes, size_t room_bytes) {
  return new_bytes <= room_bytes;  // it is there already
}

void unmap_pieces(void* start, size_t size_bytes, const Piece*, uint32_t) {
  release_pages(start, size_bytes);
}

// Of files only.
bool commit_pages(void*, size_t) {
  return true;
}
void drop_pages(void*, size_t) {}

uint64_t address_space_limit() {
  return UINT64_MAX;
}
uint64_t memory_limit() {
  return UINT64_MAX;
}
bool has_address_space(size_t) {
  return true;
}

// Neither POSIX nor C has a way to ask whether an address can be read.
bool read_memory(uint64_t, void*, size_t) {
  return false;
}

void advise_sparse(void*, size_t) {}

void advise_dense(void*, size_t) {}

uint64_t resident_bytes(uint64_t* max, uint64_t* files) {
  *max = 0;
  if (files != nullptr) {
    *files = 0;
  }
  return 0;
}

}  // namespace memprof::platform
