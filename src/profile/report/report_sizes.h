// SPDX-License-Identifier: Apache-2.0
// How large the live blocks of some stacks are: a histogram with a row for each power of two.
//
// Model: a profile of memprof has the size of each sampled live block.  A sample stands for 1 / p blocks of its size, p
// being how likely a block of that size is sampled; so a row is an estimate with an interval, as all rows are.  Of what
// was freed a profile has sums and no sizes.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/model/estimate.h"
#include "profile/model/model.h"
#include "profile/text/columns.h"
#include "profile/text/text_writer.h"

namespace memprof::profile {

struct Report;

// Blocks of `from` bytes and more, but less than `to`.
struct SizeRow {
  uint64_t from_bytes = 0;
  uint64_t to_bytes = 0;
  uint64_t samples = 0;
  Estimate bytes;
  Estimate blocks;
};

// Ascending; only those that have a sample.  Blocks of 0 bytes are in that of 1.
std::vector<SizeRow> size_rows(const std::vector<const Stack*>& stacks);

// The columns keep a reference to the report.
std::vector<Column<SizeRow>> size_columns(const Report& report, const TextOptions& options = {});

void write_sizes(const Report& report, TextWriter* writer);

}  // namespace memprof::profile
