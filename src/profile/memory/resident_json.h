// SPDX-License-Identifier: Apache-2.0
// What a process has in memory, as JSON has it (docs/report-json.md).
//
// Threads: no state.
#pragma once

#include <nlohmann/json.hpp>
#include <utility>

#include "format/resident.h"

namespace memprof::profile {

// null: it is not known.
inline nlohmann::ordered_json number_or_null(bool is_known, nlohmann::ordered_json number) {
  return is_known ? std::move(number) : nlohmann::ordered_json(nullptr);
}

// The numbers of kResidentFields, by their names in JSON.
nlohmann::ordered_json resident_numbers(const ResidentMemory& memory);

}  // namespace memprof::profile
