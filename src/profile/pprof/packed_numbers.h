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

// Of samples: nothing, sums, or this + the index of a kind.
inline constexpr uint64_t kNothing = 0;
inline constexpr uint64_t kSums = 1;
inline constexpr uint64_t kFirstKind = 2;

// A number to 0.05 % in 16 bits.
uint16_t short_code(double value);
double short_value(uint16_t code);

// The kind of the smallest block among samples of several kinds, which says the largest that one stands for beside
// itself; nothing: no kind says it.
std::optional<SampleKind> smallest_of(const Totals& totals, uint64_t rate_bytes);
void set_maxima(const SampleKind& smallest, Totals* totals);

// As the sums come back.
Totals rounded(const Totals& totals, uint64_t rate_bytes);
// Freed samples have no variances.
Totals without_variances(Totals totals);
std::optional<SampleKind> freed_kind(const Totals& freed, uint64_t rate_bytes);

// The sums of this class follow from its samples.
bool stands_for_itself(const Lifetime& lifetime);

// The nearest float.
uint32_t float_bits(double number);
double of_float_bits(uint32_t bits);

}  // namespace memprof::profile::packed
