// SPDX-License-Identifier: Apache-2.0
#include "memprof/console/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "format/share_text.h"
#include "memprof/console/failure.h"
#include "profile/text/units.h"

namespace memprof::cli {

struct ArgumentParser::Parser {
  CLI::App app;
  bool wants_help = false;
};

ArgumentParser::ArgumentParser(std::string command)
    : command_(std::move(command)), parser_(std::make_unique<Parser>()) {
  parser_->app.set_help_flag();
  parser_->app.allow_extras();
  add_flag("-h,--help", parser_->wants_help);
}

ArgumentParser::~ArgumentParser() = default;

void ArgumentParser::add_flag(const std::string& names) {
  parser_->app.add_flag(names);
}

void ArgumentParser::add_flag(const std::string& names, bool& value) {
  parser_->app.add_flag(names, value);
}

void ArgumentParser::add_option(const std::string& names, std::string& value) {
  parser_->app.add_option(names, value);
}

void ArgumentParser::add_option(const std::string& names, std::vector<std::string>& values) {
  parser_->app.add_option(names, values);
}

void ArgumentParser::add_repeated_option(const std::string& name, std::vector<std::string>& values) {
  parser_->app.add_option(name, values)->expected(1)->take_all()->allow_extra_args(false);
}

bool ArgumentParser::is_given(const std::string& name) const {
  return parser_->app.count(name) != 0;
}

bool ArgumentParser::parse(const std::vector<std::string>& arguments) {
  const std::string& name = command_;
  const std::string hint = "; see `memprof " + name + " --help`";
  // An unknown option before --help must not hide it.
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  if (std::find(arguments.begin(), end, "--help") != end || std::find(arguments.begin(), end, "-h") != end) {
    return true;
  }
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants them
    parser_->app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    // "--rate: 1 required TEXT missing" and the like.
    const std::string what = error.what();
    const size_t colon = what.find(':');
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && colon != std::string::npos) {
      const bool is_missing = what.find("missing") != std::string::npos;
      throw Failure(name + ": " + what.substr(0, colon) +
                    (is_missing ? " needs a value" : " was given more values than it takes") + hint);
    }
    throw Failure(name + ": " + what + hint);
  }
  for (const std::string& extra : parser_->app.remaining()) {
    if (extra == "--") continue;
    const bool is_option = extra.size() > 1 && extra[0] == '-';
    throw Failure(name + ": " + (is_option ? "unknown option '" : "unexpected argument '") + extra + "'" +
                  hint);
  }
  return parser_->wants_help;
}

size_t parse_count(const std::string& option, const std::string& text) {
  size_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw Failure(option + ": '" + text + "' is not a whole number");
  }
  return count;
}

double parse_percent(const std::string& option, const std::string& text) {
  const size_t size = text.size() - (!text.empty() && text.back() == '%' ? 1 : 0);
  double percent = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + size, percent, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + size || std::isnan(percent) || percent < 0 ||
      percent > 100) {
    throw Failure(option + ": '" + text + "' is not a number from 0 to 100");
  }
  return percent;
}

uint32_t parse_budget(const std::string& text) {
  uint32_t ppm = 0;
  constexpr uint32_t kMaxPpm = 500000;
  if (!parse_share(text, &ppm) || ppm == 0 || ppm > kMaxPpm)
    throw Failure("--budget: '" + text + "' is not a share of the CPU time; give one like 0.5%, at most 50%");
  return ppm;
}

uint64_t parse_rate(const std::string& text) {
  const auto rate = profile::parse_bytes(text);
  if (!rate) {
    throw Failure(
        "-r: '" + text +
        "' is not a rate; give bytes between samples like 512k, 64k, 1M, or 0 for every allocation");
  }
  return *rate;
}

uint64_t parse_duration_ns(const std::string& option, const std::string& text) {
  const auto duration = profile::parse_duration_ns(text);
  if (!duration) {
    throw Failure(option + ": '" + text + "' is not a time; give one like 100us, 10ms, 2s, 5m or 1h");
  }
  return *duration;
}

profile::Metric parse_metric(const std::string& text) {
  const auto metric = profile::metric_from_short_name(text);
  if (!metric) {
    throw Failure(
        "--metric: '" + text +
        "' is not one of peak, live, alloc, mapped, mapped_resident, resident, js, temporary, peak_space, "
        "peak_objects, inuse_space, "
        "inuse_objects, alloc_space, alloc_objects, temporary_space, temporary_objects");
  }
  return *metric;
}

}  // namespace memprof::cli
