// SPDX-License-Identifier: Apache-2.0
#include "memprof/report_command.h"

#include <optional>

#include "memprof/arguments.h"
#include "memprof/console.h"
#include "memprof/failure.h"
#include "memprof/profile_input.h"
#include "profile/report.h"
#include "profile/report_json.h"
#include "profile/report_text.h"

namespace memprof::cli {
namespace {

constexpr size_t kDefaultRows = 20;

constexpr char kHelp[] =
    R"(usage: memprof report FILE [-n N] [--by function|line|file|module]
                           [--metric METRIC] [--json]

Shows a profile as a table. FILE is a pprof file, by memprof or others; `-` is
standard input.

  -n N             rows to show (20; with --json all)
  --by WHAT        a row for each function (default), line, file or module
  --metric METRIC  what rows are ordered by:
                     inuse_space    bytes that are live (default)
                     inuse_objects  blocks that are live
                     alloc_space    bytes allocated since the start
                     alloc_objects  blocks allocated since the start
  --json           for programs; docs/report-json.md describes it

self        what was allocated in the function itself (or by malloc,
            operator new ... for it)
cumulative  the same with everything that it called
±           the 95 % interval, its larger half: the truth is within this share
            of the number
)";

struct Options {
  std::string file;
  std::optional<size_t> rows;
  profile::GroupBy by = profile::GroupBy::kFunction;
  std::optional<profile::Metric> metric;
  bool json = false;
};

profile::GroupBy parse_group_by(const std::string& text) {
  const auto by = profile::group_by_from_name(text);
  if (!by) throw Failure("--by: '" + text + "' is not one of function, line, file, module");
  return *by;
}

}  // namespace

int report_command(const std::vector<std::string>& arguments) {
  Options options;
  CLI::App app;
  std::string rows;
  std::string by;
  std::string metric;
  app.add_option("FILE", options.file);
  const auto* rows_option = app.add_option("-n", rows);
  const auto* by_option = app.add_option("--by", by);
  const auto* metric_option = app.add_option("--metric", metric);
  app.add_flag("--json", options.json);
  if (parse_arguments(app, "report", arguments)) {
    print(kHelp);
    return 0;
  }
  if (rows_option->count() != 0) options.rows = parse_count("-n", rows);
  if (by_option->count() != 0) options.by = parse_group_by(by);
  if (metric_option->count() != 0) options.metric = parse_metric(metric);
  if (options.file.empty()) throw Failure("report: which profile? memprof report FILE");

  const profile::Profile profile = load_profile(options.file);
  if (options.metric) require_metric(profile, *options.metric, options.file);
  profile::ReportOptions report_options;
  report_options.by = options.by;
  report_options.metric = options.metric.value_or(profile::default_metric(profile));
  report_options.max_rows = options.rows.value_or(options.json ? SIZE_MAX : kDefaultRows);
  report_options.skip_empty = !options.json;
  const profile::Report report = profile::build_report(profile, report_options);
  if (options.json) {
    print(profile::report_json(report));
  } else {
    profile::TextOptions text;
    text.width = terminal_width();
    text.has_color = wants_color();
    print(profile::report_text(report, text));
  }
  return 0;
}

}  // namespace memprof::cli
