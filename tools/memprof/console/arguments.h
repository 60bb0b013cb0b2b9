// SPDX-License-Identifier: Apache-2.0
// What every command's options have in common: one clear line for whatever is wrong, and values with checks.
//
// Failure: throws Failure.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "profile/model/metric.h"

namespace memprof::cli {

// Parses the arguments of the command `name`.  True: --help was asked for.
bool parse_arguments(CLI::App& app, const std::string& name, const std::vector<std::string>& arguments);

// "-n" with a whole number.
size_t parse_count(const std::string& option, const std::string& text);
// "--min-percent" with a number from 0 to 100.
double parse_percent(const std::string& option, const std::string& text);
uint64_t parse_rate(const std::string& text);
// "--younger" with a time like 10ms, in nanoseconds.
uint64_t parse_duration_ns(const std::string& option, const std::string& text);
profile::Metric parse_metric(const std::string& text);

}  // namespace memprof::cli
