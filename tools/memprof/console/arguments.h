// SPDX-License-Identifier: Apache-2.0
// What every command's options have in common: one clear line for whatever is wrong, and values with checks.
//
// Failure: throws Failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memprof/help/option_text.h"
#include "profile/model/metric.h"

namespace memprof::cli {

// The options and arguments of one command, with what is said of them.  CLI11 parses them; it is included in
// arguments.cc alone, because each file that includes it costs seconds to compile.
class ArgumentParser {
 public:
  ArgumentParser(std::string command, HelpText help);
  ~ArgumentParser();
  ArgumentParser(const ArgumentParser&) = delete;
  ArgumentParser& operator=(const ArgumentParser&) = delete;

  // The help has options in the order in which they are added.  parse() writes `value` where one of the names is given,
  // and leaves it as it is where not.
  void add_flag(const OptionText& option);
  void add_flag(const OptionText& option, bool& value);
  void add_option(const OptionText& option, std::string& value);
  // May be given several times, each time with one value.
  void add_repeated_option(const OptionText& option, std::vector<std::string>& values);
  // What has no dash: one, or all.
  void add_argument(std::string& value);
  void add_arguments(std::vector<std::string>& values);
  // That names another program, or files of a side: for the help alone, since the command takes it itself.
  void describe(const OptionText& option);

  // True: --help was asked for, and is printed.
  bool parse(const std::vector<std::string>& arguments);
  // After parse(): was the flag or option given?  `name`: one of its names.
  bool is_given(const std::string& name) const;
  // Does one of the options that were added take a value by this name?
  bool takes_value(const std::string& name) const;
  const Description& description() const { return description_; }

 private:
  struct Parser;
  Description description_;
  std::unique_ptr<Parser> parser_;
};

// What a command says of itself.  `run`: the command.  Of one that adds no options: nothing.
std::optional<Description> describe_command(int (*run)(const std::vector<std::string>& arguments));

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
