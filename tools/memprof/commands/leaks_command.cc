// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/leaks_command.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "memprof/console/arguments.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/console/limit_option.h"
#include "memprof/console/report_options.h"
#include "memprof/console/shared_options.h"
#include "memprof/host/process/process_ids.h"
#include "memprof/io/http/http_access.h"
#include "memprof/io/process_looks.h"
#include "memprof/io/profile_input.h"
#include "memprof/io/source_map_option.h"
#include "profile/leaks/leak_limits.h"
#include "profile/leaks/leaks.h"
#include "profile/leaks/leaks_report.h"
#include "profile/report/report.h"
#include "profile/series/series.h"
#include "profile/series/series_file.h"

namespace memprof::cli {
namespace {

constexpr size_t kTableRows = 10;
constexpr int kHasSuspect = 1;
constexpr int kCannotTell = 3;

HelpText help() {
  return {"memprof leaks FILE...|PID [OPTIONS]",
          R"(Finds places that leak: code that allocates throughout the run and never frees.
Says how fast they grow, and why. Exit status 1: there is a leak.
)",
          R"(A cache that is full, a warm-up, a ring buffer or a pool is no leak. FILE is a
profile by memprof, PID a running process, `-` standard input. Several FILEs are
profiles of one process at several times (MEMPROF_DUMP_INTERVAL, memprof live
-o): what was live then counts, too. So do the looks of a series (memprof run
--every, memprof live --record); the last one is judged, or the one before the
program began to clean up. For the JavaScript heap, growth needs at least 16
snapshots; with fewer, only the largest holders are shown.
)",
          R"(The status is 1 where there is a suspect, 3 where there is none but of most of
what lives nothing can be told yet, else 0. With --fail-on it is 0 or 1.
)"};
}

struct Options {
  std::vector<std::string> inputs;
  profile::LeakOptions leaks;
  profile::LeakRows rows;
  std::vector<profile::LeakLimit> limits;
  bool json = false;
  AskServers ask_servers = AskServers::kYes;
  SourceMapChoice source_maps;
  HttpAccess access;
};

void check_inputs(const std::vector<std::string>& inputs) {
  if (inputs.empty()) throw Failure("leaks: no profile given; usage: memprof leaks FILE...|PID");
  if (std::count(inputs.begin(), inputs.end(), "-") > 1) {
    throw Failure("leaks: standard input can be one profile only");
  }
  if (inputs.size() == 1) return;
  for (const std::string& input : inputs) {
    if (profile::is_series(input)) {
      throw Failure("leaks: " + input + ": a series is judged alone; of several, give looks of it, like " +
                    input + "@last");
    }
  }
}

// Nothing: --help was asked for.
std::optional<Options> parse(const std::vector<std::string>& arguments) {
  Options options;
  ArgumentParser parser("leaks", help());
  using Shown = OptionText::Shown;
  parser.add_arguments(options.inputs);
  std::string rows;
  std::string expected;
  std::vector<std::string> limits;
  add_rows(parser, "10; with --json all", rows);
  parser.add_flag({"--why", "", "also explain why the other places do not leak", Shown::kInBoth},
                  options.rows.has_reasons);
  parser.add_option(
      {"--expect", "REGEX", "stacks with a frame that matches may grow: they are not judged", Shown::kInBoth},
      expected);
  parser.add_repeated_option(
      {"--fail-on", "LIMIT",
       "status 1 only where suspects surely grow by more in a minute: the low end of the interval counts. LIMIT is "
       "\"growth > 5MB\", of all suspects, or \"row > 1MB\", of any one. May be repeated",
       Shown::kInBoth},
      limits);
  parser.add_flag({"--json", "", "print JSON for programs (docs/leaks.md describes it)", Shown::kInBoth},
                  options.json);
  ReaderOptions reader(parser, {"--metric", "--younger"});
  const SourceMapOption source_maps(parser);
  add_no_debuginfod(parser);
  const HttpAccessOptions access(parser);
  if (parser.parse(arguments)) return std::nullopt;
  if (parser.is_given("--no-debuginfod")) options.ask_servers = AskServers::kNo;
  options.rows.max = parser.is_given("-n") ? parse_count("-n", rows) : options.json ? SIZE_MAX : kTableRows;
  const ReaderChoice choice = reader.choice();
  options.source_maps = source_maps.choice();
  options.access = access.access();
  if (choice.metric) throw Failure("leaks: --metric: leaks are of what lives; leave it out");
  if (choice.younger_ns) throw Failure("leaks: --younger: leaks are of what is kept; leave it out");
  options.leaks.by = choice.by.value_or(options.leaks.by);
  options.leaks.filter = choice.filter;
  options.leaks.view = choice.view;
  options.leaks.view.full_names = options.leaks.view.full_names || options.json;
  if (parser.is_given("--expect")) options.leaks.expected = parse_pattern("--expect", expected);
  options.limits = parse_fail_on(limits, &profile::parse_leak_limit);
  check_inputs(options.inputs);
  return options;
}

// A file, standard input, or a process: its id, where no file is called so.
profile::NamedProfile load(const std::string& input, const Options& options) {
  uint64_t pid = 0;
  std::error_code missing;
  if (parse_pid(input, &pid) && !std::filesystem::exists(input, missing)) {
    return {"process " + input, ProcessLooks(find_process(input), options.ask_servers).look(false)};
  }
  return {input == "-" ? "standard input" : input,
          load_profile(input, options.ask_servers, "", options.access)};
}

// Which look of a series is judged, and why it is not the last.
void say_judged(const profile::Leaks& leaks, const SeriesLooks& looks) {
  std::string text = "note: " + leaks.judged + " is judged";
  if (leaks.profiles > 1) text += ", with " + std::to_string(leaks.profiles - 1) + " before it";
  if (leaks.profiles < looks.count()) {
    text += "; later ones have no process that --process names";
  } else if (looks.later() != 0) {
    text += looks.later() == 1 ? "; the one after it holds"
                               : "; the " + std::to_string(looks.later()) + " after it hold";
    text += " less, as at the end of a program";
  }
  complain(text);
}

struct Found {
  profile::Leaks leaks;
  profile::Profile judged;
};

Found find_in_series(const Options& options) {
  const std::string& path = options.inputs.front();
  SeriesLooks looks(path, options.ask_servers);
  const auto look_at = [&](size_t i) {
    const std::string time = profile::time_text(looks.time_unix_ns(i));
    return profile::NamedProfile{path + ": the look of " + time,
                                 with_source_lines(looks.look(i), options.source_maps)};
  };
  profile::LeakOptions how = options.leaks;
  how.are_of_a_series = true;
  Found found;
  found.leaks = profile::find_leaks(looks.count(), look_at, how);
  found.judged = with_source_lines(looks.look(found.leaks.profiles - 1), options.source_maps);
  say_judged(found.leaks, looks);
  return found;
}

Found find_in_profiles(const Options& options) {
  std::vector<profile::NamedProfile> profiles;
  for (const std::string& input : options.inputs) {
    profiles.push_back(load(input, options));
    profile::Profile& last = profiles.back().profile;
    last = with_source_lines(std::move(last), options.source_maps);
  }
  Found found;
  found.leaks = profile::find_leaks(profiles, options.leaks);
  const auto last = std::max_element(profiles.begin(), profiles.end(),
                                     [](const profile::NamedProfile& a, const profile::NamedProfile& b) {
                                       return a.profile.duration_ns < b.profile.duration_ns;
                                     });
  found.judged = std::move(last->profile);
  return found;
}

}  // namespace

int leaks_command(const std::vector<std::string>& arguments) {
  const std::optional<Options> options = parse(arguments);
  if (!options) return 0;
  const Found found =
      profile::is_series(options->inputs.front()) ? find_in_series(*options) : find_in_profiles(*options);
  const profile::Leaks& leaks = found.leaks;
  profile::ReportOptions header;
  header.by = options->leaks.by;
  header.filter = options->leaks.filter;
  header.has_table = false;
  const profile::Report report = profile::build_report(found.judged, header);
  if (options->json) {
    print(profile::leaks_json(leaks, report, options->rows));
  } else {
    print(profile::leaks_text(leaks, report, options->rows, terminal_text_options()));
  }
  if (options->limits.empty()) {
    return leaks.suspects != 0 || leaks.heap.suspects != 0 ? kHasSuspect : leaks.is_open() ? kCannotTell : 0;
  }
  bool is_exceeded = false;
  for (const profile::LeakLimit& limit : options->limits) {
    const profile::LeakLimitResult result = profile::check_leak_limit(leaks, limit);
    is_exceeded = is_exceeded || result.is_exceeded;
    complain((result.is_exceeded ? "FAIL: " : "pass: ") + limit.text + ": " + result.what);
  }
  return is_exceeded ? kHasSuspect : 0;
}

}  // namespace memprof::cli
