// SPDX-License-Identifier: Apache-2.0
// The columns of rows that a person watches: in frames on a terminal, and as text.
//
// Threads: no state.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "profile/live/live_model.h"
#include "profile/text/columns.h"
#include "profile/text/text_writer.h"

namespace memprof::profile {

struct LiveColumn {
  Column<LiveRow> column;
  size_t width = 0;                // in a frame, where nothing moves sideways from look to look
  std::optional<LiveSort> sort{};  // that orders rows by it
};

// They keep a reference to the model.  The one that rows are ordered by is never left out.
std::vector<LiveColumn> live_columns(const LiveModel& model, const TextOptions& options);

// "1 KiB/s"
std::string bytes_a_second(double bytes);

}  // namespace memprof::profile
