// SPDX-License-Identifier: Apache-2.0
// What a server answers to a request of OpenTelemetry's profiles signal, in protobuf or as JSON.  Its bytes are not
// trusted.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace memprof::profile {

struct OtlpAnswer {
  uint64_t rejected_profiles = 0;
  std::string message;  // why, or a warning; empty: it has nothing to say
};

// Of a success.  Nothing: this is no such answer.
std::optional<OtlpAnswer> read_otlp_answer(std::string_view body);

// The message of an answer that is no success; empty: it has none.
std::string read_otlp_status(std::string_view body);

}  // namespace memprof::profile
