// SPDX-License-Identifier: Apache-2.0
// The statistics of all stacks in few comments of a pprof file: "#memprof.stacks".  As text, each in a comment of its
// own ("#memprof.stack"), they were most of a file.
//
// Model: columns of numbers in base64.  Most stacks have samples of one kind of block, and two numbers say what eight
// sums do (sample_kind.h).  A stack is known by some bits of its id, as many as the file needs to tell its stacks
// apart from each other and, by chance in a million, from those that another tool makes of them.  Each comment
// stands alone, so that other tools may merge and reorder them.
//
// Format: docs/profile-format.md.
// Threads: no state.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/model/model.h"

namespace memprof::profile {

// What comments say of a stack.
struct IdentifiedStatistics {
  uint64_t id = 0;  // StackId
  StackStatistics statistics;
};

// As they come back out of the comments: sums to 12 digits, variances and mean lifetimes to 0.1 %, classes of
// lifetimes and births as in the text form.  Packed again they are
// the same.
StackStatistics as_packed(StackStatistics statistics, uint64_t rate_bytes);

// The comments.  The statistics are as_packed().
std::vector<std::string> pack_statistics(std::vector<IdentifiedStatistics> stacks, uint64_t rate_bytes);

// The same of so many that they are made only when it is their turn.  `ids` ascend, each of them once; statistics_of(i) are
// those of ids[i], and asked for once, in order.
std::vector<std::string> pack_statistics(const std::vector<uint64_t>& ids,
                                         const std::function<StackStatistics(size_t)>& statistics_of,
                                         uint64_t rate_bytes);

// The bits of an id that a comment has.
uint64_t short_id(uint64_t id, unsigned bits);

// The bits that ids have in this comment; nothing: the text is no comment of this kind.
std::optional<unsigned> packed_bits(std::string_view comment);

// Calls `each` with these bits, and each id and its statistics.  False: the text is no comment of this kind, or damaged;
// what came until then may be taken.
bool unpack_statistics(std::string_view comment,
                       const std::function<void(unsigned, uint64_t, StackStatistics&&)>& each);

}  // namespace memprof::profile
