// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/live_command.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <optional>

#include "memprof/console/arguments.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/console/report_options.h"
#include "memprof/console/screen.h"
#include "memprof/console/shared_options.h"
#include "memprof/host/process/running_process.h"
#include "memprof/io/output_check.h"
#include "memprof/io/path_pattern.h"
#include "memprof/io/process_looks.h"
#include "memprof/io/profile_format.h"
#include "memprof/io/profile_input.h"
#include "memprof/io/profile_output.h"
#include "memprof/live/live_looks.h"
#include "memprof/live/live_session.h"
#include "memprof/record/process_recorder.h"
#include "memprof/record/record_options.h"

namespace memprof::cli {
namespace {

HelpText help() {
  return {
      "memprof live PID... | --name PROGRAM [OPTIONS]\n"
      "memprof live PID -o PATH | --record FILE.series",
      R"(Shows what memory running processes hold. memprof must be in them: started by
`memprof run`, attached, preloaded or linked. They are not stopped. ? lists the
keys of the view, q ends it. memprof list shows such processes.
)",
      R"(How much each function holds, how much more than when the view began, and how
fast it allocates. A process is not signalled, and executes no code for this.
`memprof attach` starts memprof in a process that runs without it.

On a terminal the view is updated until you press q. After the processes have
ended the last look stays. Without a terminal the view is printed once.
)",
      ""};
}

struct Options {
  std::vector<std::string> pids;
  std::string name;
  bool whole_run = false;
  std::optional<std::string> output;
  bool force = false;
  bool raw = false;
  LiveOptions live;
  AskServers ask_servers = AskServers::kYes;
  std::optional<RecordChoice> record;
};

double parse_seconds(const std::string& text) {
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  // NOLINTNEXTLINE(readability-simplify-boolean-expr): refuses what is no number, too
  if (text.empty() || *end != '\0' || !(seconds >= 0.1 && seconds <= 86400)) {
    throw Failure("--interval: '" + text + "' is not a number of seconds from 0.1 to 86400");
  }
  return seconds;
}

profile::LiveSort parse_sort(const std::string& text) {
  const auto sort = profile::live_sort_from_name(text);
  if (!sort)
    throw Failure("--sort: '" + text + "' is not one of live, blocks, cumulative, growth, allocates");
  return *sort;
}

void require_live_metric(profile::Metric metric) {
  for (const profile::Metric known :
       {profile::Metric::kInuseSpace, profile::Metric::kAllocSpace, profile::Metric::kPeakSpace}) {
    if (metric == known) return;
  }
  throw Failure(metric == profile::Metric::kResidentSpace
                    ? "--metric: --resident shows what is in memory"
                    : "--metric: live shows live, alloc and peak; the column blocks counts blocks");
}

// What goes with one thing that the command does, and not with another.
void check(const ArgumentParser& parser, const Options& options) {
  if (options.pids.empty() == options.name.empty()) {
    throw Failure("live: give a process; usage: memprof live PID..., or memprof live --name PROGRAM");
  }
  if (options.output && (options.output->empty() || *options.output == "-")) {
    throw Failure("-o: give the path of a file");
  }
  if (options.output) check_pprof_name("live", *options.output);
  if ((options.output || options.record) && (options.pids.size() > 1 || options.whole_run)) {
    throw Failure(std::string(options.output ? "-o" : "--record") +
                  ": is for one process; call it once for each of several");
  }
  if (options.record) {
    for (const char* option :
         {"--output", "--raw", "-n", "--sort", "--tree", "--interval", "--count", "--by", "--metric",
          "--resident", "--focus", "--ignore", "--process", "--hide", "--all-frames", "--native", "--imports",
          "--native-interpreter", "--full-names"}) {
      if (!parser.is_given(option)) continue;
      throw Failure(std::string(option) +
                    ": not with --record; `memprof report FILE` shows what was recorded");
    }
  }
  if (!options.output && !options.record && (parser.is_given("--force") || parser.is_given("--raw"))) {
    throw Failure("live: --force and --raw need -o; --force goes with --record, too");
  }
  if (options.output) {
    for (const char* option : {"--tree", "--sort", "--by", "--metric", "--resident", "--focus", "--ignore",
                               "--process", "--hide"}) {
      if (!parser.is_given(option)) continue;
      throw Failure(std::string("live: -o writes all there is; ") + option +
                    " and others like it are for the view, and for memprof report");
    }
  }
  if (parser.is_given("--resident") && parser.is_given("--metric")) {
    throw Failure("live: --resident and --metric exclude each other");
  }
  if (parser.is_given("--tree") && parser.is_given("--sort")) {
    throw Failure("live: a tree is ordered by what is live; --sort is for the table");
  }
  if (parser.is_given("--younger")) throw Failure("--younger: live does not show what is temporary");
}

std::optional<Options> parse(const std::vector<std::string>& arguments) {
  Options options;
  ArgumentParser parser("live", help());
  using Shown = OptionText::Shown;
  std::string output;
  std::string rows;
  std::string sort;
  std::string interval;
  std::string count;
  parser.add_arguments(options.pids);
  parser.add_option(
      {"--name", "PROGRAM",
       "the processes whose executable, or script, has this name. Like gunicorn, with all its workers",
       Shown::kInBoth},
      options.name);
  add_whole_run(parser, options.whole_run);
  parser.add_option(
      {"--interval", "SECONDS",
       "time between two updates (2); on a terminal longer where looks would take more than 2 % of a core, "
       "as of thousands of stacks"},
      interval);
  parser.add_option(
      {"--sort", "COLUMN",
       "begin sorted by live (default), blocks, cumulative (with all that a function calls), growth or "
       "allocates"},
      sort);
  parser.add_flag({"--tree", "", "begin with a tree of calls", Shown::kInBoth}, options.live.choice.is_tree);
  parser.add_flag(
      {"--resident", "",
       "show what of the live bytes is in memory (RSS) instead; each look then reads the pages of the process "
       "(docs/rss.md)"});
  add_rows(parser, "where it is printed, 20", rows);
  parser.add_option({"--count", "N", "print the view so many times. Also on a terminal", Shown::kInBoth},
                    count);
  parser.add_option(
      {"-o,--output", "PATH",
       "write the profile up to now instead. A name in .pb.gz or .pb; %n is the program, %p its process id, %t the time in seconds since 1970, %% a percent sign",
       Shown::kInBoth},
      output);
  add_force(parser, "PATH or FILE if it exists", options.force);
  add_raw(parser, options.raw);
  RecordOptions record(parser);
  ReaderOptions reader(parser, {"--younger"});
  add_no_debuginfod(parser);
  if (parser.parse(arguments)) return std::nullopt;
  if (parser.is_given("--output")) options.output = output;
  options.record = record.choice();
  check(parser, options);
  const ReaderChoice chosen = reader.choice();
  profile::LiveChoice& choice = options.live.choice;
  choice.by = chosen.by.value_or(choice.by);
  choice.metric = chosen.metric.value_or(choice.metric);
  choice.filter = chosen.filter;
  choice.view = chosen.view;
  require_live_metric(choice.metric);
  if (parser.is_given("--resident")) choice.metric = profile::Metric::kResidentSpace;
  if (parser.is_given("--sort")) choice.sort = parse_sort(sort);
  if (parser.is_given("-n")) options.live.rows = parse_count("-n", rows);
  if (parser.is_given("--interval")) options.live.interval_s = parse_seconds(interval);
  if (parser.is_given("--count")) options.live.count = parse_count("--count", count);
  if (parser.is_given("--no-debuginfod")) options.ask_servers = AskServers::kNo;
  if (options.record) {
    options.record->force = options.force;
    options.record->ask_servers = options.ask_servers;
  }
  return options;
}

int write_now(const Options& options, ProcessLooks& looks) {
  PathFacts facts;
  facts.pid = static_cast<int64_t>(looks.process().pid);
  facts.program = looks.process().program;
  facts.time_seconds = std::time(nullptr);
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): asked for by who calls
  const std::string path = expand_path(*options.output, facts);
  check_output_path(path, options.force);
  write_profile(looks.look(options.raw), path, options.force);
  complain("wrote " + shell_word(path) + "; next: memprof report " + shell_word(path));
  return 0;
}

std::vector<RunningProcess> processes_of(const Options& options) {
  const bool is_for_one = options.output || options.record;
  if (!options.name.empty() && is_for_one) return {find_process_named(options.name)};
  if (!options.name.empty()) return find_processes_named(options.name);
  std::vector<RunningProcess> processes;
  for (const std::string& pid : options.pids) {
    const RunningProcess process = find_process(pid);
    const bool is_there = std::any_of(processes.begin(), processes.end(),
                                      [&](const RunningProcess& known) { return known.pid == process.pid; });
    if (!is_there) processes.push_back(process);
  }
  return processes;
}

}  // namespace

int live_command(const std::vector<std::string>& arguments) {
  const std::optional<Options> options = parse(arguments);
  if (!options) return 0;
  const std::vector<RunningProcess> processes = processes_of(*options);
  if (options->record) return record_process(processes.front(), *options->record);
  LiveLooks looks(processes, options->whole_run, options->ask_servers,
                  options->live.choice.metric == profile::Metric::kResidentSpace);
  if (options->output) return write_now(*options, looks.single());
  return options->live.count || !Screen::is_possible() ? print_live(options->live, looks)
                                                       : show_live(options->live, looks);
}

}  // namespace memprof::cli
