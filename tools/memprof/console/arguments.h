// SPDX-License-Identifier: Apache-2.0
// What every command's options have in common: one clear line for whatever is wrong, and values with checks.
//
// Failure: throws Failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "profile/model/metric.h"

namespace memprof::cli {

// The options and arguments of one command.  CLI11 parses them; it is included in arguments.cc alone, because
// each file that includes it costs seconds to compile.
class ArgumentParser {
 public:
  explicit ArgumentParser(std::string command);
  ~ArgumentParser();
  ArgumentParser(const ArgumentParser&) = delete;
  ArgumentParser& operator=(const ArgumentParser&) = delete;

  // `names`: "--force", "-o,--output", or "FILE" for an argument without a dash.  parse() writes `value` where
  // the name is given, and leaves it as it is where not.
  void add_flag(const std::string& names);
  void add_flag(const std::string& names, bool& value);
  void add_option(const std::string& names, std::string& value);
  // All arguments without a dash.
  void add_option(const std::string& names, std::vector<std::string>& values);
  // An option that may be given several times, each time with one value.
  void add_repeated_option(const std::string& name, std::vector<std::string>& values);

  // True: --help was asked for.
  bool parse(const std::vector<std::string>& arguments);
  // After parse(): was the flag or option given?  `name`: one of its names.
  bool is_given(const std::string& name) const;

 private:
  struct Parser;
  std::string command_;
  std::unique_ptr<Parser> parser_;
};

// "-n" with a whole number.
size_t parse_count(const std::string& option, const std::string& text);
// "--min-percent" with a number from 0 to 100.
double parse_percent(const std::string& option, const std::string& text);
uint64_t parse_rate(const std::string& text);

// "0.5%" -> 5000 parts in a million, for --budget.  Throws Failure.
uint32_t parse_budget(const std::string& text);
// "--younger" with a time like 10ms, in nanoseconds.
uint64_t parse_duration_ns(const std::string& option, const std::string& text);
profile::Metric parse_metric(const std::string& text);

}  // namespace memprof::cli
