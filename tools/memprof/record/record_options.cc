// SPDX-License-Identifier: Apache-2.0
#include "memprof/record/record_options.h"

#include "memprof/console/failure.h"
#include "profile/series/series_file.h"
#include "profile/text/units.h"

namespace memprof::cli {
namespace {

uint64_t parse_every(const std::string& text) {
  constexpr uint64_t kMinNs = 100'000'000;
  constexpr uint64_t kMaxNs = uint64_t{31} * 86400 * 1'000'000'000;
  const auto ns = profile::parse_duration_ns(text);
  if (!ns || *ns < kMinNs || *ns > kMaxNs) {
    throw Failure("--every: '" + text + "' is not a time from 100ms to 31d; give one like 10s or 5m");
  }
  return *ns;
}

uint64_t parse_series_limit(const std::string& text) {
  const auto bytes = profile::parse_bytes(text);
  if (!bytes || *bytes < profile::SeriesWriter::kMinBytes) {
    throw Failure("--limit: '" + text + "' is not a size of at least 1m; give one like 64m or 1g");
  }
  return *bytes;
}

// The name must end in .series.
void check_series_name(const std::string& pattern) {
  constexpr char kEnd[] = ".series";
  constexpr size_t kEndBytes = sizeof(kEnd) - 1;
  if (pattern.size() <= kEndBytes || pattern.compare(pattern.size() - kEndBytes, kEndBytes, kEnd) != 0) {
    throw Failure("--record: '" + pattern + "': the name must end in .series");
  }
}

}  // namespace

RecordOptions::RecordOptions(ArgumentParser& parser, const std::string& usual)
    : parser_(parser), usual_(usual) {
  parser.add_option(
      {"--every", "TIME",
       usual.empty()
           ? "time between two looks of --record (10s). Like 500ms, 5m, 1h"
           : "also record what the processes hold while they run. Every 10s, 500ms, 5m ...: memory over time (docs/series.md)",
       OptionText::Shown::kInBoth},
      every_);
  parser.add_option(
      {"--record", "FILE.series",
       usual.empty()
           ? "add a look to FILE every so often. Until the process ends or Ctrl-C; `memprof report FILE` shows them (docs/series.md)"
           : "the file for it (" + usual + ")",
       usual.empty() ? OptionText::Shown::kInBoth : OptionText::Shown::kInHelp},
      file_);
  parser.add_option(
      {"--limit", "SIZE", "of the .series file (256m): the older, the further apart are looks kept"}, limit_);
}

std::optional<RecordChoice> RecordOptions::choice() const {
  const bool has_every = parser_.is_given("--every");
  const bool has_limit = parser_.is_given("--limit");
  RecordChoice choice;
  if (parser_.is_given("--record")) {
    choice.pattern = file_;
  } else if (has_every && !usual_.empty()) {
    choice.pattern = usual_;
  } else if (has_every || has_limit) {
    throw Failure(std::string(has_every ? "--every" : "--limit") + ": is of a recording; add " +
                  (usual_.empty() ? "--record FILE.series" : "--every TIME"));
  } else {
    return std::nullopt;
  }
  check_series_name(choice.pattern);
  if (has_every) choice.every_ns = parse_every(every_);
  if (has_limit) choice.max_bytes = parse_series_limit(limit_);
  return choice;
}

}  // namespace memprof::cli
