// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them: `45.2 MiB`, `12,345`, `2.3 M`.  KiB and the like are powers of 1024.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "profile/model/model.h"

namespace memprof::profile {

std::string format_bytes(double bytes);
// `+1.5 KiB`, `-1.5 KiB`, `0 B`.
std::string format_signed_bytes(double bytes);
std::string format_count(double count);
std::string format_metric(Metric metric, double value);

// Exact, in the largest unit that needs no fraction: `512 KiB`, `1000 B`.
std::string format_rate(uint64_t bytes);

// As parse_size (format/size_text.h).  Nothing where the text is not a size or is more than 2^50.
std::optional<uint64_t> parse_bytes(std::string_view text);

// `3 us`, `10 ms`, `300 s`, `50 min`, `2.8 h`, `12 days`: what people say of a time that something takes.
std::string format_duration_ns(double ns);

// `100us`, `10ms`, `2s`, `5m` or `5min`, `1h`, `7d`.  Nothing where the text is not a time, or is less than a
// nanosecond or more than 100 years.
std::optional<uint64_t> parse_duration_ns(std::string_view text);

// Without the blanks and tabs around it, as people write limits.
std::string trimmed(const std::string& text);

}  // namespace memprof::profile
