// SPDX-License-Identifier: Apache-2.0
// What a program allocates and frees again soon after: by place, how long it lived, what can be done about it,
// and the CPU that it is likely to cost.
//
// Model: a place is where reports have `self`.  Its temporary blocks are estimates with intervals; the median
// lifetime is of all its blocks that were freed.  The CPU is no measurement: what a pair of malloc and free of
// that size takes in common allocators, as a range (docs/churn.md has the table), times the blocks.
//
// Threads: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/matching/stack_filter.h"
#include "profile/model/estimate.h"
#include "profile/names/frame_grouping.h"
#include "profile/view/row_notes.h"

namespace memprof::profile {

enum class ChurnAdvice : uint8_t {
  kReserve,  // a container grows step by step
  kReuse,    // large blocks that come and go, or objects of a runtime
  kPool,     // many of like size that live as long as a piece of work
  kStack     // small ones that live no longer than a call
};
inline constexpr size_t kChurnAdvices = 4;
// "reserve", ...; and what to do, a sentence without a full stop.
const char* advice_name(ChurnAdvice advice);
const char* advice_text(ChurnAdvice advice);

struct CpuRange {
  double low_ns = 0;
  double high_ns = 0;
};
// Of so many pairs of malloc and free of blocks of this mean size.
CpuRange likely_cpu(double blocks, double mean_size_bytes);

struct ChurnRow {
  FrameGroup place;
  Estimate bytes;   // temporary
  Estimate blocks;  // temporary
  double allocated_bytes = 0;
  double median_lifetime_ns = 0;  // of all that was freed
  double mean_size_bytes = 0;     // of temporary blocks
  CpuRange cpu;
  ChurnAdvice advice = ChurnAdvice::kPool;
  RowNotes notes;
};

struct Churn {
  std::vector<ChurnRow> rows;  // the most bytes first
  size_t row_count = 0;        // with those that are not in `rows`
  CpuRange cpu;                // of all
  double median_lifetime_ns = 0;
};

struct ChurnOptions {
  GroupBy by = GroupBy::kFunction;
  bool by_blocks = false;  // the order
  size_t max_rows = SIZE_MAX;
  StackFilter filter;
  FrameView view;
};

// After set_temporary().
Churn find_churn(const Profile& profile, const ChurnOptions& options = {});

}  // namespace memprof::profile
