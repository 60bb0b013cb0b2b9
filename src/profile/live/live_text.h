// SPDX-License-Identifier: Apache-2.0
// A look at running processes as text, where there is no terminal to draw frames on.
//
// Threads: no state.
#pragma once

#include <cstddef>
#include <string>

#include "profile/live/live_model.h"
#include "profile/text/text_writer.h"

namespace memprof::profile {

// The header, and the table or tree that was chosen in at most `max_rows` rows.
std::string live_text(const LiveModel& model, size_t max_rows, const TextOptions& options);

// What stands where there is not one row.
std::string why_nothing_is_live(const Report& report);

}  // namespace memprof::profile
