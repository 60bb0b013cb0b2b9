// SPDX-License-Identifier: Apache-2.0
// A look of a series by the moment that a person names.
//
// Threads: no state.
// Failure: throws Error "PATH: which moments there are".
#pragma once

#include <string>

#include "profile/series/series.h"

namespace memprof::profile {

// The look nearest to `moment`: first, last, peak (what held the most), 14:05 or 14:05:30 (the last one of the
// series' days, local time), 2026-05-01T14:05, +10m (after the first look), -10m (before the last).
// `path` stands in messages.
const SeriesLook& look_at(const Series& series, const std::string& moment, const std::string& path);

}  // namespace memprof::profile
