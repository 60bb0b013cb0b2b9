// SPDX-License-Identifier: Apache-2.0
// A cursor over bytes that may be damaged: every read is inside the given range, or fails.
//
// Threads, signals, fork: a plain value.
// Allocates: never.
// Failure: ok() becomes false and stays so; reads then give 0.
#pragma once

#include <cstdint>
#include <cstring>

namespace memprof::unwind {

class Bytes {
 public:
  // [at, end) is readable memory.
  Bytes(uint64_t at, uint64_t end) : at_(at), end_(end), ok_(at <= end) {}

  bool ok() const { return ok_; }
  bool empty() const { return !ok_ || at_ >= end_; }
  uint64_t position() const { return at_; }
  uint64_t end() const { return end_; }

  template <typename T>
  T read() {
    T value{};
    if (!ok_ || end_ - at_ < sizeof(T)) {
      ok_ = false;
      return value;
    }
    memcpy(&value, reinterpret_cast<const void*>(at_), sizeof(T));
    at_ += sizeof(T);
    return value;
  }

  void skip(uint64_t size) {
    if (!ok_ || end_ - at_ < size) {
      ok_ = false;
      return;
    }
    at_ += size;
  }

  // The next `size` bytes as a range of their own; this cursor moves past them.
  Bytes take(uint64_t size) {
    const uint64_t start = at_;
    skip(size);
    return ok_ ? Bytes(start, at_) : failed();
  }

  uint64_t read_uleb() {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const uint8_t byte = read<uint8_t>();
      if (shift < 64) {
        value |= uint64_t{byte & 0x7fu} << shift;
      }
      if ((byte & 0x80) == 0 || !ok_) {
        return value;
      }
    }
  }

  int64_t read_sleb() {
    uint64_t value = 0;
    for (unsigned shift = 0;;) {
      const uint8_t byte = read<uint8_t>();
      if (shift < 64) {
        value |= uint64_t{byte & 0x7fu} << shift;
      }
      shift += 7;
      if ((byte & 0x80) == 0 || !ok_) {
        if (shift < 64 && (byte & 0x40) != 0) {
          value |= ~uint64_t{0} << shift;
        }
        return static_cast<int64_t>(value);
      }
    }
  }

  static Bytes failed() {
    Bytes b(0, 0);
    b.ok_ = false;
    return b;
  }

 private:
  uint64_t at_;
  uint64_t end_;
  bool ok_;
};

}  // namespace memprof::unwind
