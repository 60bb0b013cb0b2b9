// SPDX-License-Identifier: Apache-2.0
// Leaks as people read them, and for programs (docs/leaks.md describes the JSON).
//
// Threads: no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "profile/leaks/leaks.h"
#include "profile/report/report.h"
#include "profile/text/text_writer.h"

namespace memprof::profile {

// Why the verdict on a place is what it is: a sentence without a full stop.
std::string leak_reason(const LeakRow& row, const Leaks& leaks);

// When a part of the run that a place is judged by began, after the start; kBirthParts: when the last one ended.
double part_begin_ns(uint32_t part, const LeakRow& row, const Leaks& leaks);

// "idle since 14:05:07, for 1 min 40 s": of a program that is.
std::string idle_since(const Leaks& leaks);

// What a verdict means: a sentence without a full stop.
const char* verdict_text(LeakVerdict verdict);

struct LeakRows {
  size_t max = SIZE_MAX;     // of suspects, and of the others; of JSON together
  bool has_reasons = false;  // of the others, too
};

// `report`: of the last profile and the same stacks; it needs no table.
std::string leaks_text(const Leaks& leaks, const Report& report, const LeakRows& rows,
                       const TextOptions& options = {});
std::string leaks_json(const Leaks& leaks, const Report& report, const LeakRows& rows);

}  // namespace memprof::profile
