// SPDX-License-Identifier: Apache-2.0
// Hashes.  Those that files or other processes see (Fnv1a, mix_hash) never change.
//
// Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace memprof {

// 2^64 over the golden ratio: multiplied by it, numbers that lie close together differ in their high bits.
inline constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;

// 64-bit FNV-1a.
class Fnv1a {
 public:
  // What a row of bytes does to a hash h: it becomes h * factor + sum.  The factor follows from the number of bytes;
  // the sum from the bytes and from the low byte of h, as a byte is combined with the low byte only: so from 256 cases.
  struct Step {
    uint64_t factor;
    uint64_t sum;
  };

  static constexpr uint64_t factor_of(size_t bytes) {
    uint64_t factor = 1;
    for (size_t i = 0; i < bytes; ++i) {
      factor *= kPrime;
    }
    return factor;
  }
  // What happened between two states, the factor of which is known.
  static Step step(const Fnv1a& before, const Fnv1a& after, uint64_t factor) {
    return {factor, after.hash_ - before.hash_ * factor};
  }
  void apply(const Step& step) { hash_ = hash_ * step.factor + step.sum; }
  uint32_t low_byte() const { return static_cast<uint32_t>(hash_ & 0xff); }

  void byte(uint64_t value) { hash_ = (hash_ ^ (value & 0xff)) * kPrime; }
  void bytes(const void* data, size_t size) {
    for (size_t i = 0; i < size; ++i) {
      byte(static_cast<const unsigned char*>(data)[i]);
    }
  }
  // 8 bytes, little-endian.
  void word(uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) {
      byte(value >> shift);
    }
  }
  uint64_t value() const { return hash_; }

  // One word more of each row.  The multiplications of a row wait for each other, those of several rows do not: so they
  // are written out, and the hashes stay in registers.
  template <size_t kRows>
  static void add_words(Fnv1a (&rows)[kRows], const uint64_t (&words)[kRows]) {
    add_words(rows, words, std::make_index_sequence<sizeof(uint64_t)>(), std::make_index_sequence<kRows>());
  }

 private:
  template <size_t... kBytes, size_t kRows, typename Rows>
  [[gnu::always_inline]] static void add_words(Fnv1a (&rows)[kRows], const uint64_t (&words)[kRows],
                                               std::index_sequence<kBytes...> /*bytes*/, Rows each) {
    (add_bytes<8 * kBytes>(rows, words, each), ...);
  }
  template <size_t kShift, size_t kRows, size_t... kEach>
  [[gnu::always_inline]] static void add_bytes(Fnv1a (&rows)[kRows], const uint64_t (&words)[kRows],
                                               std::index_sequence<kEach...> /*each*/) {
    (rows[kEach].byte(words[kEach] >> kShift), ...);
  }

  static constexpr uint64_t kPrime = 0x100000001b3u;

  uint64_t hash_ = 0xcbf29ce484222325u;
};

inline uint64_t hash_bytes(const void* bytes, size_t size) {
  Fnv1a hash;
  hash.bytes(bytes, size);
  return hash.value();
}

inline constexpr uint64_t mix_hash(uint64_t x) {  // murmur3's finaliser: a bijection, all bits depend on all
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdull;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ull;
  return x ^ (x >> 33);
}

// The hash of a row of words, with one more.  For tables in memory.
inline constexpr uint64_t hash_with(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * kGolden;
  return hash ^ (hash >> 32);
}

}  // namespace memprof
