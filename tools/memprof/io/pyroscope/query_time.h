// SPDX-License-Identifier: Apache-2.0
// Times as addresses of Pyroscope have them.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace memprof::cli {

// In milliseconds since 1970: now, now-1h30m (s, m, h, d, w), seconds, milliseconds, microseconds or
// nanoseconds since 1970 (10, 13, 16 or 19 digits), 2026-05-01T14:05 or 2026-05-01T14:05:30 (local time), the
// same with Z (UTC). Nothing: it is none of these.
std::optional<int64_t> query_time_ms(const std::string& text, int64_t now_ms);

}  // namespace memprof::cli
