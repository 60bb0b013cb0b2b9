// SPDX-License-Identifier: Apache-2.0
#include "resident/chunk_walk.h"

#include <algorithm>
#include <cstring>

#include "resident/glibc_layout.h"

namespace memprof::resident {
namespace {

constexpr uint64_t kAskedBytes = 1 << 20;  // whether all of it is in memory, is asked once
constexpr uint64_t kInUseBefore = 1;
constexpr uint64_t kMinChunkBytes = 32;
constexpr uint64_t kChunkHead = 48;  // of a free chunk: sizes and links, which lie in pages that are used
constexpr uint64_t kChunksBetweenClocks = 256;

}  // namespace

bool ChunkWalk::is_in_memory(uint64_t start, uint64_t limit) {
  for (uint64_t piece = start / kAskedBytes; piece * kAskedBytes < limit; ++piece) {
    if (piece != piece_) {
      piece_ = piece;
      is_piece_whole_ =
          source_.count(Pages::kPrivate, piece * kAskedBytes, (piece + 1) * kAskedBytes) == kAskedBytes;
    }
    if (!is_piece_whole_) {
      return false;
    }
  }
  return true;
}

bool ChunkWalk::load(uint64_t at, uint64_t limit, Header* header) {
  if (at % 16 != 0 || at < source_.page_bytes) {
    return false;
  }
  if (at < window_start_ || at + sizeof(Header) > window_limit_) {
    // A page that is not in memory is not read: that would bring it there.
    const uint64_t page_end = source_.page_of(at) + source_.page_bytes;
    uint64_t end = std::min(at + kWindowBytes, std::max(limit, at + sizeof(Header)));
    if (end > page_end && !is_in_memory(at, end)) {
      end = page_end;
    }
    window_start_ = at;
    window_limit_ = end;
    if (!source_.read(source_.context, at, window_, end - at)) {
      window_limit_ = std::min(end, page_end);
      if (window_limit_ == end || !source_.read(source_.context, at, window_, window_limit_ - at)) {
        window_limit_ = at;
        return false;
      }
    }
  }
  std::memcpy(header, window_ + (at - window_start_), sizeof(Header));
  return true;
}

bool ChunkWalk::is_chunk(uint64_t at, uint64_t limit, Header* header, uint64_t* bytes) {
  if (at >= limit || !load(at, limit, header)) {
    return false;
  }
  *bytes = header->size & ~kSizeFlags;
  return *bytes >= kMinChunkBytes && *bytes % 16 == 0 && *bytes <= limit - at;
}

// Nothing free is in front of it, and another one follows.
bool ChunkWalk::may_be_first(uint64_t at, uint64_t limit) {
  Header header;
  uint64_t bytes = 0;
  if (!is_chunk(at, limit, &header, &bytes) || (header.size & kInUseBefore) == 0) {
    return false;
  }
  uint64_t next_bytes = 0;
  return at + bytes == limit || is_chunk(at + bytes, limit, &header, &next_bytes);
}

void ChunkWalk::add(uint64_t chunk, uint64_t bytes) {
  free_bytes_ += bytes;
  const uint64_t inside = source_.page_behind(chunk + kChunkHead);
  const uint64_t end = source_.page_of(chunk + bytes);
  uint64_t absent = 0;
  if (end > inside && !is_in_memory(inside, end)) {
    absent = end - inside - std::min(end - inside, source_.count(Pages::kPrivate, inside, end));
  }
  free_resident_bytes_ += bytes - std::min(bytes, absent);
}

uint64_t ChunkWalk::walk(uint64_t first, uint64_t end) {
  uint64_t before = 0;
  uint64_t bytes_before = 0;
  for (uint64_t at = first;;) {
    if (++chunks_ % kChunksBetweenClocks == 0 && !source_.may_go_on()) {
      is_cut_ = true;
      return at;
    }
    Header header;
    if (at > end || !load(at, end + sizeof(Header), &header)) {
      return at;
    }
    // Where the two sizes differ, somebody is changing it.
    if (before != 0 && (header.size & kInUseBefore) == 0 && header.bytes_before == bytes_before) {
      add(before, bytes_before);
    }
    const uint64_t bytes = header.size & ~kSizeFlags;
    if (at == end || bytes < kMinChunkBytes || bytes % 16 != 0 || bytes > end - at) {
      return at;
    }
    before = at;
    bytes_before = bytes;
    at += bytes;
  }
}

}  // namespace memprof::resident
