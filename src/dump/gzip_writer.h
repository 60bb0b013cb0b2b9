// SPDX-License-Identifier: Apache-2.0
// Compresses a profile inside the profiled process: gzip (RFC 1952) around LZ77 with the fixed
// codes of deflate (RFC 1951, 3.2.6).  A profile becomes 2.5 to 3 times smaller; zlib, with codes of its own
// for each file, would make 15 to 21 % less of that.
//
// Model: a buffer of two windows.  When it is full, all text but the last match length is coded, and the last
// window stays, because later text may match it.  Positions in the text count modulo 2^16; the hash tables only
// give hints, because each match is compared in the buffer.
//
// Allocates: never.  The caller gives memory (pages of its own).  Depends on memcpy and memmove only.
// Threads: a plain value.
// Failure: false when the sink fails; it is not called again then.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/sink.h"

namespace memprof::profile {

class GzipWriter {
 public:
  static const size_t kMemoryBytes;

  // `memory`: kMemoryBytes, aligned to 8; what it holds does not matter.
  GzipWriter(void* memory, const Sink& to);

  // Takes bytes; they go to `to` in pieces, later.
  Sink sink() { return {write_to, this}; }
  // After the last bytes.  false: not all of them were written.
  bool finish();

 private:
  struct Memory;

  static bool write_to(void* context, const void* data, size_t size);
  bool write(const uint8_t* data, size_t size);
  void code(size_t limit);
  void slide();
  size_t find_match(size_t at, size_t end, uint32_t* distance) const;
  void remember(size_t at);
  void put_literal(uint32_t symbol);
  void put_match(uint32_t length, uint32_t distance);
  void put_bits(uint32_t value, uint32_t count);
  void put_number(uint32_t value);
  void put_bytes(uint32_t count);
  void flush();

  Memory* memory_;
  Sink to_;
  bool is_good_ = true;
  uint32_t first_ = 0;  // number of the byte that the buffer begins with
  size_t size_ = 0;     // bytes in the buffer
  size_t coded_ = 0;    // how many of them are coded already
  uint64_t bits_ = 0;   // that are not written yet, lowest first
  uint32_t bit_count_ = 0;
  size_t out_size_ = 0;
  uint32_t checksum_ = UINT32_MAX;
  uint32_t total_ = 0;
};

}  // namespace memprof::profile
