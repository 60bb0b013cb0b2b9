// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/report_command.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "memprof/console/arguments.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/console/pager.h"
#include "memprof/console/report_options.h"
#include "memprof/console/shared_options.h"
#include "memprof/io/http/http_access.h"
#include "memprof/io/profile_input.h"
#include "memprof/io/source_map_option.h"
#include "profile/lifetimes/temporary.h"
#include "profile/report/output/report_csv.h"
#include "profile/report/output/report_json.h"
#include "profile/report/output/report_text.h"
#include "profile/report/output/seen_memory.h"
#include "profile/report/report.h"
#include "profile/series/series_file.h"
#include "profile/series/series_json.h"
#include "profile/series/series_report.h"

namespace memprof::cli {
namespace {

constexpr size_t kTableRows = 20;
constexpr size_t kTreeRows = 40;
constexpr double kTreePercent = 0.5;
constexpr double kJsonTreePercent = 0.1;  // all of a large profile are gigabytes

HelpText help() {
  return {"memprof report FILE [OPTIONS]",
          R"(Shows a profile as a table: which function holds how much memory.
)",
          R"(FILE is a pprof file, by memprof or others, or a heap profile of jemalloc or
tcmalloc, or a .heapprofile; `-` is standard input, and an address of HTTP, such
as http://127.0.0.1:6060/debug/pprof/heap, is asked for one. So is a Pyroscope,
for a service and a range of time: pyroscope+http://HOST:4040/SERVICE?from=now-1h
(docs/fleet.md). Of a series (docs/series.md) it shows how memory went over time,
or with --at one of its looks.
)",
          R"(self        what was allocated in the function itself (or by malloc,
            operator new, a standard library, native code below Python ...
            for it)
for, through  beside a line of an installed package the line of the program that
            called it, and beside any line of Python the native code that it
            allocated through, where either is so for half of it or more
file:line   where a function has several lines: the one that holds the most
cumulative  the same with everything that it called
±           the 95 % interval, its larger half: the truth is within this share
            of the number

REGEX has the syntax of RE2, as pprof's has; (?i) at its start ignores case.
FUNCTION is a name, with or without parameters, else a part of one, else a
REGEX. On a terminal lines are cut to its width; elsewhere nothing is cut,
unless COLUMNS says how wide lines are.
)"};
}

struct Options {
  std::string file;
  std::optional<size_t> rows;
  ReaderChoice choice;
  SourceMapChoice source_maps;
  HttpAccess access;
  bool mmap = false;
  bool tree = false;
  std::optional<double> min_percent;
  std::optional<size_t> depth;
  std::optional<std::string> callers;
  std::optional<std::string> callees;
  std::string sample_type;
  bool json = false;
  bool csv = false;
  bool sizes = false;
  bool details = false;
  bool ask_servers = true;  // debuginfod's
  bool may_page = true;
  bool is_series = false;  // all of one
};

// What shows one profile shows nothing of a series.
void require_series_options(const ArgumentParser& parser) {
  for (const char* option : {"--min-percent", "--depth", "--callers", "--callees", "--tree", "--by",
                             "--metric", "--younger", "--focus", "--ignore", "--process", "--hide", "--mmap",
                             "--resident", "--details", "--sizes", "--csv"}) {
    if (parser.is_given(option)) {
      throw Failure(std::string(option) + ": is for one look of a series; add --at MOMENT, like --at last");
    }
  }
}

// What excludes each other.
void settle_output(const Options& options) {
  if (options.csv && options.json) throw Failure("report: --csv and --json exclude each other");
  if (options.csv && (options.tree || options.details))
    throw Failure("--csv: has the rows of the table; leave out --tree and --details");
  if (options.sizes && options.tree) throw Failure("report: --sizes and --tree exclude each other");
}

std::string parse_function(const std::string& option, const std::string& text) {
  if (text.empty()) throw Failure(option + ": the name of the function is empty");
  return text;
}

// Nothing: --help was asked for.
std::optional<Options> parse(const std::vector<std::string>& arguments) {
  Options options;
  ArgumentParser parser("report", help());
  using Shown = OptionText::Shown;
  std::map<std::string, std::string> values;
  parser.add_argument(options.file);
  add_rows(parser, "20, of a tree 40; with --json all", values["-n"]);
  ReaderOptions reader(parser);
  bool resident = false;
  parser.add_flag(
      {"--mmap", "",
       "the program's own mappings: --metric mapped_resident, or mapped where what of them is in memory was "
       "not measured"},
      options.mmap);
  parser.add_flag({"--resident", "",
                   "what of the live bytes is in memory, and which share of each row's: --metric resident"},
                  resident);
  parser.add_flag(
      {"--tree", "",
       "show the calls from the root down, heaviest first. A function that calls itself is one row",
       Shown::kInBoth},
      options.tree);
  parser.add_option({"--min-percent", "P",
                     "leave out branches that hold less than this share of the tree (0.5; with --json 0.1)"},
                    values["--min-percent"]);
  parser.add_option({"--depth", "N", "show so many levels of the tree"}, values["--depth"]);
  parser.add_option(
      {"--callers", "FUNCTION",
       "show the functions that call it, with what is allocated through each. With --tree also the callers "
       "of those",
       Shown::kInBoth},
      values["--callers"]);
  parser.add_option(
      {"--callees", "FUNCTION", "show the functions that it calls, and what it allocates itself"},
      values["--callees"]);
  parser.add_flag(
      {"--sizes", "", "show how large live blocks are, in classes of powers of two", Shown::kInBoth},
      options.sizes);
  parser.add_flag(
      {"--json", "", "print JSON for programs (docs/report-json.md describes it)", Shown::kInBoth},
      options.json);
  parser.add_flag(
      {"--csv", "", "print the rows with comma-separated values (docs/exports.md has the columns)"},
      options.csv);
  std::string moment;
  add_moment(parser, "", moment);
  parser.add_flag(
      {"--details", "",
       "print all that is known of the run above the table: intervals, what the resident memory consists of, "
       "how complete stacks are"},
      options.details);
  const SourceMapOption source_maps(parser);
  add_sample_type(parser, options.sample_type);
  add_no_pager(parser);
  add_no_debuginfod(parser);
  const HttpAccessOptions access(parser);
  if (parser.parse(arguments)) return std::nullopt;
  options.ask_servers = !parser.is_given("--no-debuginfod");
  options.may_page = !parser.is_given("--no-pager");
  const auto given = [&](const char* option, const auto& use) {
    if (parser.is_given(option)) use(std::string(option), values[option]);
  };
  using Text = const std::string&;
  given("-n", [&](Text option, Text text) { options.rows = parse_count(option, text); });
  options.choice = reader.choice();
  options.source_maps = source_maps.choice();
  options.access = access.access();
  if (options.mmap || resident) {
    const char* const option = options.mmap ? "--mmap" : "--resident";
    if (options.mmap && resident) throw Failure("report: --mmap and --resident exclude each other");
    if (options.choice.metric)
      throw Failure(std::string("report: ") + option + " and --metric exclude each other");
    options.choice.metric =
        options.mmap ? profile::Metric::kMappedResidentSpace : profile::Metric::kResidentSpace;
  }
  settle_output(options);
  given("--min-percent", [&](Text option, Text text) { options.min_percent = parse_percent(option, text); });
  given("--depth", [&](Text option, Text text) { options.depth = parse_count(option, text); });
  given("--callers", [&](Text option, Text text) { options.callers = parse_function(option, text); });
  given("--callees", [&](Text option, Text text) { options.callees = parse_function(option, text); });
  if (options.details && options.json) throw Failure("--details: JSON has all of it; leave out --details");
  if (options.file.empty()) throw Failure("report: no profile given; usage: memprof report FILE");
  if (parser.is_given("--at")) {
    options.file = look_of_file("--at", options.file, moment);
  } else if (profile::is_series(options.file)) {
    require_series_options(parser);
    options.is_series = true;
  }
  const auto& metric = options.choice.metric;
  settle_younger(metric && profile::metric_is_temporary(*metric), options.json, &options.choice.younger_ns);
  for (const char* option : {"--min-percent", "--depth"}) {
    if (parser.is_given(option) && !options.tree) {
      throw Failure(std::string(option) + ": applies to trees only; add --tree");
    }
  }
  return options;
}

// Of mappings that which there is.
std::optional<profile::Metric> chosen_metric(const Options& options, const profile::Profile& profile) {
  using profile::Metric;
  const auto has = [&](Metric metric) { return profile.has_metric[profile::metric_index(metric)]; };
  if (options.mmap && !has(Metric::kMappedResidentSpace) && has(Metric::kMappedSpace))
    return Metric::kMappedSpace;
  return options.choice.metric;
}

profile::ReportOptions report_options(const Options& options, const profile::Profile& profile) {
  profile::ReportOptions report;
  const bool has_calls = options.callers || options.callees;
  report.by = options.choice.by.value_or(profile::GroupBy::kFunction);
  report.metric = chosen_metric(options, profile).value_or(profile::default_metric(profile));
  report.max_rows = options.rows.value_or(options.json || options.csv ? SIZE_MAX
                                          : options.tree              ? kTreeRows
                                                                      : kTableRows);
  report.skip_empty = !options.json && !options.csv;
  report.fold_single = !options.json && !options.csv && !options.details;
  report.filter = options.choice.filter;
  report.view = options.choice.view;
  report.view.full_names = report.view.full_names || options.json || options.csv;
  report.has_table = options.json || options.csv || (!options.tree && !has_calls && !options.sizes);
  report.has_sizes = options.sizes;
  report.has_tree = options.tree;
  report.tree.min_percent = options.min_percent.value_or(options.json ? kJsonTreePercent : kTreePercent);
  report.tree.max_depth = options.depth.value_or(SIZE_MAX);
  report.callers = options.callers;
  report.callees = options.callees;
  return report;
}

// The largest mappings, where they are much of the process and somebody asks for the table of blocks.
std::optional<profile::Report> much_mapped(const Options& options, const profile::Profile& profile,
                                           const profile::Report& report) {
  constexpr size_t kRows = 5;
  const auto metric = profile::metric_of_much_mapped(report);
  const bool is_of_blocks = !profile::metric_is_apart(report.metric) && report.has_table && !report.has_sizes;
  if (!metric || !is_of_blocks || report.is_filtered()) return std::nullopt;
  profile::ReportOptions mapped = report_options(options, profile);
  mapped.metric = *metric;
  mapped.max_rows = kRows;
  mapped.skip_empty = true;
  profile::Report result = profile::build_report(profile, mapped);
  // What only called them holds nothing itself: they are the rows of a table of their own.
  const auto holds_nothing = [&](const profile::ReportRow& row) {
    return row.self[profile::metric_index(*metric)].value == 0;
  };
  result.rows.erase(std::remove_if(result.rows.begin(), result.rows.end(), holds_nothing), result.rows.end());
  return result;
}

void show_series(const Options& options) {
  const profile::SeriesReader reader(options.file);
  print(options.json ? profile::series_json(reader.series())
                     : profile::series_text(reader.series(), shell_word(options.file),
                                            options.rows.value_or(kTableRows), terminal_text_options()));
}

}  // namespace

int report_command(const std::vector<std::string>& arguments) {
  const std::optional<Options> options = parse(arguments);
  if (!options) return 0;
  if (options->is_series) {
    show_series(*options);
    return 0;
  }
  profile::Profile profile =
      with_source_lines(load_profile(options->file, options->ask_servers ? AskServers::kYes : AskServers::kNo,
                                     options->sample_type, options->access),
                        options->source_maps);
  if (options->choice.younger_ns) {
    profile::set_temporary(*options->choice.younger_ns,
                           options->file == "-" ? "standard input" : options->file, &profile);
  }
  if (const auto metric = chosen_metric(*options, profile)) require_metric(profile, *metric, options->file);
  const profile::Report report = profile::build_report(profile, report_options(*options, profile));
  if (options->json) {
    print(profile::report_json(report));
  } else if (options->csv) {
    print(profile::report_csv(report));
  } else {
    const std::optional<profile::Report> mapped = much_mapped(*options, profile, report);
    print_paged(
        profile::report_text(report, terminal_text_options(),
                             options->file == "-" ? "FILE" : shell_word(options->file),
                             options->details ? profile::HeaderKind::kDetails : profile::HeaderKind::kSummary,
                             mapped ? &*mapped : nullptr),
        options->may_page);
  }
  return 0;
}

}  // namespace memprof::cli
