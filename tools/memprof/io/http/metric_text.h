// SPDX-License-Identifier: Apache-2.0
// What the command counts of itself, in the text form of Prometheus.
//
// Threads: no state.
#pragma once

#include <string>

namespace memprof::cli {

// One metric with its help: memprof_NAME.  `kind`: counter or gauge; `value`: a whole number.
void add_metric(const std::string& name, const char* kind, const char* help, double value, std::string* text);

}  // namespace memprof::cli
