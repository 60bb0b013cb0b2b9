// SPDX-License-Identifier: Apache-2.0
// What a loaded PE image (64 bits) says of itself.  It is the loader's, so its headers are taken to be sound; what they point
// to is looked at within the image only.
//
// Threads: no state.  Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::platform {

// An entry of .pdata: the functions of an image in the order of their addresses, which are from its start.
struct FunctionRange {
  uint32_t begin;
  uint32_t end;
  uint32_t unwind;  // where its unwind information is
};

class PeImage {
 public:
  PeImage() = default;
  // false: no image of 64 bits begins at `start`.
  bool open(uint64_t start);

  uint64_t start() const { return start_; }
  uint64_t size_bytes() const { return size_bytes_; }
  const FunctionRange* functions() const { return functions_; }
  uint32_t function_count() const { return function_count_; }

  // The GUID and age by which a PDB is found, or the time stamp and size by which the image is; bytes.
  uint32_t read_build_id(uint8_t* id, uint32_t max_bytes) const;

  // 0: it does not export that name, or another module does for it.
  uint64_t find_export(const char* name) const;
  // The export nearest below `address`; nullptr: there is none.
  const char* export_at(uint64_t address, uint64_t* start) const;

 private:
  template <typename T>
  const T* at(uint64_t offset, uint64_t count = 1) const {
    return offset != 0 && offset <= size_bytes_ && count * sizeof(T) <= size_bytes_ - offset
               ? reinterpret_cast<const T*>(start_ + offset)
               : nullptr;
  }

  uint64_t start_ = 0;
  uint64_t size_bytes_ = 0;
  const void* headers_ = nullptr;
  const FunctionRange* functions_ = nullptr;
  uint32_t function_count_ = 0;
};

// The function of `offset` in `count` of them, by halves; nullptr: none, as a function that calls nothing may do without.
const FunctionRange* find_function(const FunctionRange* functions, uint32_t count, uint32_t offset);

}  // namespace memprof::platform
