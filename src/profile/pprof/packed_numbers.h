// SPDX-License-Identifier: Apache-2.0
// The numbers of packed statistics (packed_statistics.h): shortened to what an interval needs, and sums over samples
// of one kind, which follow from the kind and how many there are.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <optional>

#include "profile/model/model.h"
#include "profile/model/sample_kind.h"

namespace memprof::profile::packed {

// Of samples: nothing, sums, the same as was allocated, or this + the index of a kind.  Version 1 has no kSame.
inline constexpr uint64_t kNothing = 0;
inline constexpr uint64_t kSums = 1;
inline constexpr uint64_t kSame = 2;
inline constexpr uint64_t kFirstKind = 3;

// What stands there of a class of lifetimes beside it and its samples.
enum class LifetimeForm : unsigned char {
  kNumbers,  // sizes, bytes and blocks
  kItself,   // sizes: samples stand for themselves
  kShare,    // nothing: share_of() what was freed
  kAlike,    // sizes: samples of one size, alike()
};
inline constexpr uint64_t kLifetimeForms = 4;

// A comment has no more stacks, and unpacks to no more bytes.
inline constexpr uint64_t kMaxStacks = 8192;
inline constexpr uint64_t kMaxUnpackedBytes = uint64_t{1} << 20;

// A number to 0.05 % in 16 bits.
uint16_t short_code(double value);
double short_value(uint16_t code);

// The kind of the smallest block among samples of several kinds, which says the largest that one stands for beside
// itself; nothing: no kind says it.
std::optional<SampleKind> smallest_of(const Totals& totals, uint64_t rate_bytes);
void set_maxima(const SampleKind& smallest, Totals* totals);

// A variance of blocks whose root is less than a half is written as 0.  Where blocks were missed it is no less than their
// number, which says how many: without it they would be lost.
void restore_variance(Totals* totals);

// As the sums come back.
Totals rounded(const Totals& totals, uint64_t rate_bytes);
// Freed samples have no variances.
Totals without_variances(Totals totals);
std::optional<SampleKind> freed_kind(const Totals& freed, uint64_t rate_bytes);

// The sums of this class follow from its samples.
bool stands_for_itself(const Lifetime& lifetime);

// What a class of lifetimes, or a part of the run, has of sums if all samples are alike.  There are samples, and at
// most as many as in the sums.
Lifetime share_of(const Totals& freed, uint32_t lifetime_class, uint64_t samples);
Birth share_of_births(const Totals& allocated, uint32_t part, uint64_t samples);
// Whether it is that, but for rounding.
bool follows(const Totals& freed, const Lifetime& lifetime);
bool follows(const Totals& allocated, const Birth& birth);
// What so many samples of one size, drawn at a rate, are; and whether the class is that, but for rounding.
Lifetime alike(uint32_t lifetime_class, uint64_t samples, uint64_t size_bytes, uint64_t rate_bytes);
bool is_alike(const Lifetime& lifetime, uint64_t rate_bytes);
// Whether what was freed is what was allocated.
bool is_same(const Totals& allocated, const Totals& freed);

// The nearest float.
uint32_t float_bits(double number);
double of_float_bits(uint32_t bits);

}  // namespace memprof::profile::packed
