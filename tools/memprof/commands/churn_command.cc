// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/churn_command.h"

#include <optional>

#include "memprof/console/arguments.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/console/report_options.h"
#include "memprof/console/shared_options.h"
#include "memprof/io/http/http_access.h"
#include "memprof/io/profile_input.h"
#include "memprof/io/source_map_option.h"
#include "profile/churn/churn.h"
#include "profile/churn/churn_report.h"
#include "profile/lifetimes/temporary.h"
#include "profile/report/report.h"

namespace memprof::cli {
namespace {

constexpr size_t kTableRows = 20;

HelpText help() {
  return {"memprof churn FILE [OPTIONS]",
          R"(Shows which code allocates memory that it frees soon afterwards, how long the
memory lived, what this probably costs, and what you can do about it. FILE is a
profile by memprof; `-` is standard input.
)",
          "", R"(lived        the median lifetime of the blocks of the place that were freed
CPU, likely  what malloc and free of blocks of this number and size take in common
             allocators: an estimate, not a measurement
advice       reserve, reuse, pool or stack: below the table
)"};
}

struct Options {
  std::string file;
  uint64_t younger_ns = profile::kDefaultTemporaryNs;
  std::optional<size_t> rows;
  profile::ChurnOptions churn;
  bool json = false;
  AskServers ask_servers = AskServers::kYes;
  SourceMapChoice source_maps;
  HttpAccess access;
};

// Nothing: --help was asked for.
std::optional<Options> parse(const std::vector<std::string>& arguments) {
  Options options;
  ArgumentParser parser("churn", help());
  parser.add_argument(options.file);
  std::string rows;
  add_rows(parser, "20; with --json all", rows);
  ReaderOptions reader(parser, {"--metric"});
  const SourceMapOption source_maps(parser);
  using Shown = OptionText::Shown;
  parser.add_flag({"--blocks", "", "most blocks first, instead of most bytes", Shown::kInBoth},
                  options.churn.by_blocks);
  parser.add_flag({"--json", "", "print JSON for programs (docs/churn.md describes it)", Shown::kInBoth},
                  options.json);
  add_no_debuginfod(parser);
  const HttpAccessOptions access(parser);
  if (parser.parse(arguments)) return std::nullopt;
  if (parser.is_given("--no-debuginfod")) options.ask_servers = AskServers::kNo;
  if (parser.is_given("-n")) options.rows = parse_count("-n", rows);
  const ReaderChoice choice = reader.choice();
  options.source_maps = source_maps.choice();
  options.access = access.access();
  if (choice.metric) throw Failure("churn: --metric: it shows one metric; --blocks orders by blocks");
  options.younger_ns = choice.younger_ns.value_or(options.younger_ns);
  options.churn.by = choice.by.value_or(options.churn.by);
  options.churn.filter = choice.filter;
  options.churn.view = choice.view;
  if (options.file.empty()) throw Failure("churn: no profile given; usage: memprof churn FILE");
  options.churn.max_rows = options.rows.value_or(options.json ? SIZE_MAX : kTableRows);
  options.churn.view.full_names = options.churn.view.full_names || options.json;
  return options;
}

}  // namespace

int churn_command(const std::vector<std::string>& arguments) {
  const std::optional<Options> options = parse(arguments);
  if (!options) return 0;
  profile::Profile profile = with_source_lines(
      load_profile(options->file, options->ask_servers, "", options->access), options->source_maps);
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
  print(profile::churn_text(churn, report, terminal_text_options()));
  return 0;
}

}  // namespace memprof::cli
