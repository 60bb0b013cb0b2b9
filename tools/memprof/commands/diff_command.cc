// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/diff_command.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>

#include "memprof/console/arguments.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/console/limit_option.h"
#include "memprof/console/pager.h"
#include "memprof/console/report_options.h"
#include "memprof/console/shared_options.h"
#include "memprof/host/process/process_ids.h"
#include "memprof/io/http/http_access.h"
#include "memprof/io/output_check.h"
#include "memprof/io/process_looks.h"
#include "memprof/io/profile_format.h"
#include "memprof/io/profile_input.h"
#include "memprof/io/source_map_option.h"
#include "profile/compare/comparison.h"
#include "profile/compare/comparison_limits.h"
#include "profile/compare/output/comparison_json.h"
#include "profile/compare/output/comparison_junit.h"
#include "profile/compare/output/comparison_markdown.h"
#include "profile/compare/output/comparison_text.h"
#include "profile/files/atomic_file.h"
#include "profile/lifetimes/temporary.h"
#include "profile/page/page_html.h"

namespace memprof::cli {
namespace {

constexpr size_t kTableRows = 20;
constexpr size_t kTreeRows = 40;
constexpr int kExceeded = 1;

HelpText help() {
  return {
      "memprof diff BEFORE AFTER [OPTIONS]\n"
      "memprof diff --before FILE... --after FILE... [OPTIONS]",
      R"(Shows what grew and what shrank between two profiles (files, or the ids of
running processes), and whether that is more than chance.
)",
      R"(BEFORE and AFTER are pprof files, by memprof or others, or addresses of HTTP that
have one; `-` is standard input. A Pyroscope has a service at two times:
pyroscope+http://HOST:4040/SERVICE?from=now-2h&until=now-1h (docs/fleet.md).
They may be of different rates, processes and versions of the program: functions
are matched by name, code without a name by build id and place in the file.
)",
      R"(A row is significant if its p-value is at most 0.05 after the correction of
Benjamini and Hochberg for the number of rows: of the rows that are listed, 5 %
are there by chance, and where nothing changed, 5 % of all comparisons list one.
All others are one line. docs/diff.md says how p and the interval are computed.
)"};
}

struct Options {
  std::vector<std::string> before;
  std::vector<std::string> after;
  std::optional<size_t> rows;
  profile::ComparisonOptions comparison;
  std::optional<uint64_t> younger_ns;
  std::vector<profile::Limit> limits;
  bool json = false;
  bool markdown = false;
  std::string junit;
  std::string sample_type;
  std::string output;
  bool force = false;
  bool may_page = true;
  AskServers ask_servers = AskServers::kYes;
  SourceMapChoice source_maps;
  HttpAccess access;
};

// Takes --before and --after with what follows each, up to the next option, out of the arguments.
std::vector<std::string> take_groups(const std::vector<std::string>& arguments, Options* options) {
  std::vector<std::string> rest;
  std::vector<std::string>* group = nullptr;
  for (const std::string& argument : arguments) {
    if (argument == "--before" || argument == "--after") {
      group = argument == "--before" ? &options->before : &options->after;
    } else if (group != nullptr && (argument == "-" || argument.compare(0, 1, "-") != 0)) {
      group->push_back(argument);
    } else {
      group = nullptr;
      rest.push_back(argument);
    }
  }
  return rest;
}

void take_files(const std::vector<std::string>& files, bool has_groups, Options* options) {
  if (has_groups) {
    if (!files.empty()) {
      throw Failure("diff: '" + files[0] +
                    "': is it before or after? With --before and --after every file has a side");
    }
    if (options->before.empty() || options->after.empty()) {
      throw Failure("diff: --before and --after each need a file or more");
    }
  } else {
    if (files.size() != 2) {
      throw Failure(files.size() < 2 ? "diff: two profiles are needed; usage: memprof diff BEFORE AFTER"
                                     : "diff: more than two profiles; memprof diff --before FILE... --after "
                                       "FILE... compares groups");
    }
    options->before = {files[0]};
    options->after = {files[1]};
  }
  const auto from_input = std::count(options->before.begin(), options->before.end(), "-") +
                          std::count(options->after.begin(), options->after.end(), "-");
  if (from_input > 1) throw Failure("diff: standard input can be one profile only");
}

bool is_page(const Options& options) {
  return is_page_path(options.output);
}

void check_outputs(const Options& options) {
  if (options.json && options.markdown) throw Failure("diff: --json or --markdown? One of them");
  if (!options.junit.empty() && options.limits.empty()) {
    throw Failure("--junit: its test cases are the limits; give one with --fail-on");
  }
  if (is_page(options)) {
    if (options.json || options.markdown) {
      throw Failure(options.output +
                    ": a page is neither JSON nor Markdown; leave out --json and --markdown");
    }
    if (options.before.size() + options.after.size() > 2) {
      throw Failure(options.output + ": a page compares two profiles; `memprof merge` makes one of several");
    }
  }
  const bool has_file = !options.output.empty() && options.output != "-";
  if (options.junit == "-" && !has_file && (options.json || options.markdown)) {
    throw Failure("--junit -: standard output has --json or --markdown already; give a file");
  }
  if (has_file) check_output_path(options.output, options.force);
  if (!options.junit.empty() && options.junit != "-") check_output_path(options.junit, options.force);
}

// Does a limit, or what is shown, need to know what is temporary?
bool has_temporary(const Options& options) {
  const auto is_temporary = [](const std::optional<profile::Metric>& metric) {
    return metric && profile::metric_is_temporary(*metric);
  };
  return is_temporary(options.comparison.metric) ||
         std::any_of(options.limits.begin(), options.limits.end(),
                     [&](const profile::Limit& limit) { return is_temporary(limit.metric); });
}

// Nothing: --help was asked for.
std::optional<Options> parse(const std::vector<std::string>& arguments) {
  Options options;
  const bool has_groups = std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
    return argument == "--before" || argument == "--after";
  });
  ArgumentParser parser("diff", help());
  using Shown = OptionText::Shown;
  std::vector<std::string> files;
  std::vector<std::string> limits;
  std::map<std::string, std::string> values;
  parser.add_arguments(files);
  parser.describe(
      {"--before,--after", "FILE...",
       "several profiles a side, such as five runs each: their means are compared, and the spread between "
       "the files counts, too"});
  add_rows(parser, "of each table 20, of a tree 40; with --json all", values["-n"]);
  parser.add_flag({"--tree", "", "the calls from the root down to what changed", Shown::kInBoth},
                  options.comparison.has_tree);
  parser.add_repeated_option(
      {"--fail-on", "LIMIT",
       "status 1 where the limit is exceeded and the change is significant; else 0. May be repeated. LIMIT is WHAT > "
       "AMOUNT:\n"
       "  growth > 5MB    the total of the metric\n"
       "  alloc > 10%     alloc_space, of what there was before\n"
       "  row > 1MB       any one row\n"
       "and the names of the metrics; >= means so much is too much",
       Shown::kInBoth},
      limits);
  parser.add_flag({"--json", "", "for programs; docs/diff.md describes it", Shown::kInBoth}, options.json);
  parser.add_flag({"--markdown", "", "for a comment on a pull request", Shown::kInBoth}, options.markdown);
  parser.add_option(
      {"--junit", "FILE", "also write the limits as test cases; `-` is standard output, instead of the text"},
      values["--junit"]);
  parser.add_option(
      {"-o,--output", "OUT",
       "write to a file instead of standard output. A name that ends in .html: a page for the browser "
       "(docs/view.md), of two profiles and all frames and metrics",
       Shown::kInBoth},
      options.output);
  add_force(parser, "OUT and the file of --junit if they exist", options.force);
  ReaderOptions reader(parser);
  const SourceMapOption source_maps(parser);
  add_sample_type(parser, options.sample_type);
  add_no_pager(parser);
  add_no_debuginfod(parser);
  const HttpAccessOptions access(parser);
  if (parser.parse(take_groups(arguments, &options))) return std::nullopt;
  if (parser.is_given("--no-debuginfod")) options.ask_servers = AskServers::kNo;
  options.may_page = !parser.is_given("--no-pager");
  const auto given = [&](const char* option, const auto& use) {
    if (parser.is_given(option)) use(std::string(option), values[option]);
  };
  using Text = const std::string&;
  profile::ComparisonOptions& comparison = options.comparison;
  given("-n", [&](Text option, Text text) { options.rows = parse_count(option, text); });
  const ReaderChoice choice = reader.choice();
  options.source_maps = source_maps.choice();
  options.access = access.access();
  comparison.by = choice.by.value_or(comparison.by);
  comparison.metric = choice.metric;
  comparison.filter = choice.filter;
  comparison.view = choice.view;
  options.younger_ns = choice.younger_ns;
  given("--junit", [&](Text option, Text text) {
    if (text.empty()) throw Failure(option + ": give the name of a file");
    options.junit = text;
  });
  options.limits = parse_fail_on(limits, &profile::parse_limit);
  const bool is_temporary = has_temporary(options);
  settle_younger(is_temporary, false, &options.younger_ns);
  take_files(files, has_groups, &options);
  check_outputs(options);
  comparison.max_tree_rows = options.rows.value_or(options.json ? SIZE_MAX : kTreeRows);
  comparison.max_intervals = options.rows.value_or(kTableRows);
  comparison.has_all_intervals = options.json;
  return options;
}

// A file, standard input, or a process: its id, where no file is called so.
profile::ComparedProfile load(const std::string& input, const Options& options) {
  uint64_t pid = 0;
  std::error_code missing;
  if (parse_pid(input, &pid) && !std::filesystem::exists(input, missing)) {
    return {"process " + input, ProcessLooks(find_process(input), options.ask_servers).look(false)};
  }
  return {input == "-" ? "standard input" : input,
          load_profile(input, options.ask_servers, options.sample_type, options.access)};
}

std::vector<profile::ComparedProfile> load_all(const std::vector<std::string>& inputs,
                                               const Options& options) {
  std::vector<profile::ComparedProfile> profiles;
  for (const std::string& input : inputs) {
    profiles.push_back(load(input, options));
    profile::ComparedProfile& last = profiles.back();
    say_origin(last.profile, last.name);
    last.profile = with_source_lines(std::move(last.profile), options.source_maps);
    if (options.younger_ns) profile::set_temporary(*options.younger_ns, last.name, &last.profile);
  }
  return profiles;
}

void write(const std::string& path, const std::string& text, bool force) {
  if (path.empty() || path == "-") {
    print(text);
    return;
  }
  profile::write_file_atomically(path, text,
                                 force ? profile::IfExists::kReplace : profile::IfExists::kRefuse);
}

// Whether standard output does not have them: who reads the lines of the limits is to read them, too.
bool are_warnings_unseen(const Options& options) {
  const bool has_file = !options.output.empty() && options.output != "-";
  return options.json || options.junit == "-" || (has_file && !options.limits.empty());
}

// Where the limits have no place in the text.
void say_limits(const std::vector<profile::LimitResult>& limits) {
  for (const profile::LimitResult& limit : limits) {
    complain((limit.is_exceeded ? "FAIL: " : "pass: ") + limit.text + ": " + limit.what);
  }
}

}  // namespace

int diff_command(const std::vector<std::string>& arguments) {
  const std::optional<Options> options = parse(arguments);
  if (!options) return 0;
  const std::vector<profile::ComparedProfile> before = load_all(options->before, *options);
  const std::vector<profile::ComparedProfile> after = load_all(options->after, *options);
  const profile::Comparison comparison = profile::compare(before, after, options->comparison);
  const std::vector<profile::LimitResult> limits = profile::check_limits(comparison, options->limits);
  const size_t rows = options->rows.value_or(kTableRows);
  profile::TextOptions plain;
  plain.has_utf8 = true;
  const std::string junit =
      options->junit.empty()
          ? ""
          : profile::comparison_junit(limits, profile::comparison_text(comparison, rows, plain));
  if (!junit.empty() && options->junit != "-") write(options->junit, junit, options->force);
  if (is_page(*options)) {
    write(options->output, profile::write_change_page(before, after, options->comparison.metric),
          options->force);
  } else if (options->json) {
    write(options->output, profile::comparison_json(comparison, limits, options->rows.value_or(SIZE_MAX)),
          options->force);
  } else if (options->markdown) {
    write(options->output, profile::comparison_markdown(comparison, limits, rows), options->force);
  } else if (!options->output.empty() && options->output != "-") {
    write(options->output, profile::comparison_text(comparison, rows, plain), options->force);
  } else if (options->junit != "-") {
    print_paged(profile::comparison_text(comparison, rows, terminal_text_options()), options->may_page);
  }
  if (options->junit == "-") print(junit);
  if (are_warnings_unseen(*options)) {
    for (const std::string& warning : comparison.warnings) complain("warning: " + warning);
  }
  say_limits(limits);
  const bool is_exceeded = std::any_of(limits.begin(), limits.end(),
                                       [](const profile::LimitResult& limit) { return limit.is_exceeded; });
  return is_exceeded ? kExceeded : 0;
}

}  // namespace memprof::cli
