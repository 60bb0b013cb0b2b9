// SPDX-License-Identifier: Apache-2.0
// What stands beside a row of a language's runtime, for programs: `through` and `called_by` (docs/report-json.md).
//
// Threads: no state.
#pragma once

#include <nlohmann/json.hpp>

#include "profile/view/row_notes.h"

namespace memprof::profile {

inline void add_notes(const RowNotes& notes, nlohmann::ordered_json* row) {
  using Json = nlohmann::ordered_json;
  const auto& [through, called_by] = notes;
  (*row)["through"] =
      through ? Json{{"function", through->function}, {"module", through->module}} : Json(nullptr);
  (*row)["called_by"] =
      called_by
          ? Json{{"function", called_by->function}, {"file", called_by->file}, {"line", called_by->line}}
          : Json(nullptr);
}

}  // namespace memprof::profile
