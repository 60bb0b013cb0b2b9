// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/churn_command.h"

#include <map>
#include <optional>

#include "memprof/console/arguments.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/console/report_options.h"
#include "memprof/io/profile_input.h"
#include "profile/churn/churn.h"
#include "profile/churn/churn_report.h"
#include "profile/lifetimes/temporary.h"
#include "profile/report/report.h"

namespace memprof::cli {
namespace {

constexpr size_t kTableRows = 20;

constexpr char kHelp[] =
    R"(usage: memprof churn FILE [--younger TIME] [-n N]
                          [--by function|line|file|module] [--blocks]
                          [--focus REGEX] [--ignore REGEX] [--json]
                          [--all-frames] [--native-interpreter] [--full-names]
                          [--no-debuginfod]

Shows what was allocated and freed again soon after, by the place that did it,
how long it lived, and what can be done about it. FILE is a profile by memprof;
`-` is standard input.

  --younger TIME   how soon: 100us, 10ms (default), 2s, 5m, 1h. Lifetimes are kept
                   in classes, two a decade (1, 3, 10 ...): the bound next to TIME
                   is used
  -n N             rows to show (20; with --json all)
  --by WHAT        a row for each function (default), line, file or module
  --blocks         most blocks first, instead of most bytes
  --focus REGEX, --ignore REGEX
                   only stacks with, or without, a frame that matches
  --json           print JSON for programs (docs/churn.md describes it)
  --all-frames, --native-interpreter, --full-names, --no-debuginfod
                   as in memprof report

lived        the median lifetime of the blocks of the place that were freed
CPU, likely  what malloc and free of blocks of this number and size take in common
             allocators: an estimate, not a measurement
advice       reserve, reuse, pool or stack: below the table
)";

struct Options {
  std::string file;
  uint64_t younger_ns = profile::kDefaultTemporaryNs;
  std::optional<size_t> rows;
  profile::ChurnOptions churn;
  bool json = false;
  AskServers ask_servers = AskServers::kYes;
};

// Nothing: --help was asked for.
std::optional<Options> parse(const std::vector<std::string>& arguments) {
  Options options;
  CLI::App app;
  std::map<std::string, std::string> values;
  app.add_option("FILE", options.file);
  for (const char* option : {"--younger", "-n", "--by", "--focus", "--ignore"}) {
    app.add_option(option, values[option]);
  }
  app.add_flag("--blocks", options.churn.by_blocks);
  app.add_flag("--json", options.json);
  app.add_flag("--native-interpreter", options.churn.view.interpreter);
  app.add_flag("--all-frames", options.churn.view.all);
  app.add_flag("--full-names", options.churn.view.full_names);
  const auto* no_servers = app.add_flag("--no-debuginfod");
  if (parse_arguments(app, "churn", arguments)) return std::nullopt;
  if (no_servers->count() != 0) options.ask_servers = AskServers::kNo;
  const auto given = [&](const char* option, const auto& use) {
    if (app.count(option) != 0) use(std::string(option), values[option]);
  };
  using Text = const std::string&;
  given("--younger", [&](Text option, Text text) { options.younger_ns = parse_duration_ns(option, text); });
  given("-n", [&](Text option, Text text) { options.rows = parse_count(option, text); });
  given("--by", [&](Text, Text text) { options.churn.by = parse_group_by(text); });
  given("--focus", [&](Text option, Text text) { options.churn.filter.focus = parse_pattern(option, text); });
  given("--ignore",
        [&](Text option, Text text) { options.churn.filter.ignore = parse_pattern(option, text); });
  if (options.file.empty()) throw Failure("churn: no profile given; usage: memprof churn FILE");
  options.churn.max_rows = options.rows.value_or(options.json ? SIZE_MAX : kTableRows);
  options.churn.view.full_names = options.churn.view.full_names || options.json;
  return options;
}

}  // namespace

int churn_command(const std::vector<std::string>& arguments) {
  const std::optional<Options> options = parse(arguments);
  if (!options) {
    print(kHelp);
    return 0;
  }
  profile::Profile profile = load_profile(options->file, options->ask_servers);
  profile::set_temporary(options->younger_ns, options->file == "-" ? "standard input" : options->file,
                         &profile);
  profile::ReportOptions header;
  header.by = options->churn.by;
  header.metric = profile::Metric::kTemporarySpace;
  header.filter = options->churn.filter;
  header.has_table = false;
  const profile::Report report = profile::build_report(profile, header);
  const profile::Churn churn = profile::find_churn(profile, options->churn);
  if (options->json) {
    print(profile::churn_json(churn, report));
    return 0;
  }
  profile::TextOptions text;
  text.width = terminal_width();
  text.has_color = wants_color();
  text.has_utf8 = wants_utf8();
  print(profile::churn_text(churn, report, text));
  return 0;
}

}  // namespace memprof::cli
