// SPDX-License-Identifier: Apache-2.0
#include "memprof/console/arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "memprof/console/failure.h"
#include "profile/text/units.h"

namespace memprof::cli {

bool parse_arguments(CLI::App& app, const std::string& name, const std::vector<std::string>& arguments) {
  const std::string hint = "; see `memprof " + name + " --help`";
  bool wants_help = false;
  app.set_help_flag();
  app.add_flag("-h,--help", wants_help);
  app.allow_extras();
  // An unknown option before --help must not hide it.
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  if (std::find(arguments.begin(), end, "--help") != end || std::find(arguments.begin(), end, "-h") != end) {
    return true;
  }
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants them
    app.parse(reversed);
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
  for (const std::string& extra : app.remaining()) {
    if (extra == "--") continue;
    const bool is_option = extra.size() > 1 && extra[0] == '-';
    throw Failure(name + ": " + (is_option ? "unknown option '" : "unexpected argument '") + extra + "'" +
                  hint);
  }
  return wants_help;
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
    throw Failure("--metric: '" + text +
                  "' is not one of peak, live, alloc, temporary, peak_space, peak_objects, inuse_space, "
                  "inuse_objects, alloc_space, alloc_objects, temporary_space, temporary_objects");
  }
  return *metric;
}

}  // namespace memprof::cli
