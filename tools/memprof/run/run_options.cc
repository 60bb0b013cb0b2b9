// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/run_options.h"

#include <algorithm>

#include "format/size_text.h"
#include "memprof/console/arguments.h"
#include "memprof/console/failure.h"
#include "memprof/console/shared_options.h"
#include "memprof/io/profile_format.h"
#include "memprof/run/python_program.h"
#include "memprof/ship/ship_options.h"
#include "profile/text/units.h"

namespace memprof::cli {
namespace {

HelpText help() {
  return {
      "memprof run [OPTIONS] [--] CMD ARG...\n"
      "memprof run [OPTIONS] SCRIPT.py ARG... | -m MODULE ARG...",
      R"(Runs CMD and writes a profile of its memory, and one for each process that it
starts. There is a profile even if a process is killed. For example:

  memprof run -o out.pb.gz -- sort /usr/share/dict/words
  memprof report out.pb.gz
)",
      R"(The program keeps its input, output and exit status (128+N if signal N ended it);
memprof writes messages to standard error. If a profile cannot be written, the
status is 2 instead of 0. SCRIPT.py and -m MODULE run under python3 (that of the
wheel, where memprof came with one).
)",
      R"(A process that allocates too little for a sample has no file, nor has one that
held next to nothing beside the largest (--keep-all); both are counted. The
data lie in /dev/shm (or $MEMPROF_ARENA_DIR) while they run.
)"};
}

size_t command_begin(const std::vector<std::string>& arguments, const ArgumentParser& parser) {
  size_t i = 0;
  while (i < arguments.size()) {
    const std::string& argument = arguments[i];
    // -m is Python's: the module and all that follows are the program.
    if (argument == "--" || argument == "-m" || argument.size() < 2 || argument[0] != '-') break;
    i += parser.takes_value(argument) ? 2 : 1;
  }
  return std::min(i, arguments.size());
}

void check_output(const std::string& output) {
  if (output.empty()) throw Failure("-o: the path is empty");
  if (output == "-") throw Failure("-o: run writes to a file, because standard output is the program's");
  check_pprof_name("run", output);
}

uint64_t parse_bound(const std::string& option, const std::string& text) {
  constexpr uint64_t kMaxRate = uint64_t{1} << 50;
  uint64_t bytes = 0;
  if (!parse_size(text, &bytes) || bytes == 0 || bytes > kMaxRate)
    throw Failure(option + ": '" + text + "' is not a rate; give bytes between samples like 16k, 1M");
  return bytes;
}

uint64_t parse_memory(const std::string& text) {
  constexpr uint64_t kMin = uint64_t{4} << 20;
  uint64_t bytes = 0;
  if (!parse_size(text, &bytes) || bytes < kMin)
    throw Failure("--memory: '" + text +
                  "' is not a limit for the profiler's tables; give bytes like 32m, at least 4m");
  return bytes;
}

// What the library takes by default is in memprof.h.
uint64_t lower_bound_of_rate(const RunOptions& options) {
  constexpr uint64_t kDefault = 16 * 1024;
  return options.min_rate != 0 ? options.min_rate : kDefault;
}
uint64_t upper_bound_of_rate(const RunOptions& options) {
  constexpr uint64_t kDefault = 64 * 1024 * 1024;
  return options.max_rate != 0 ? options.max_rate : kDefault;
}

}  // namespace

RunOptions parse_run_options(const std::vector<std::string>& arguments) {
  RunOptions options;
  ArgumentParser parser("run", help());
  using Shown = OptionText::Shown;
  std::string rate;
  parser.add_option(
      {"-r,--rate", "RATE",
       "mean bytes between samples: 512k, 64k, 1M ...; 0 records every allocation; 8k at first without -r, "
       "and more as bytes go by, up to 512k (docs/accuracy.md). Smaller is more exact and costs more",
       Shown::kInBoth},
      rate);
  parser.add_option(
      {"-o,--output", "PATH",
       "the file to write, .pb.gz or .pb (memprof.%n.%p.pb.gz): %n is the program, %p its process id. %t is "
       "the time in seconds since 1970, %% a percent sign. Where PATH has no %p, the files of other "
       "processes get their id: out.1234.pb.gz",
       Shown::kInBoth},
      options.output);
  add_force(parser, "PATH if it exists", options.force);
  parser.add_flag(
      {"--merge", "",
       "one file for all processes (report --by process). Each stack is labelled with its process: --focus "
       "NAME",
       Shown::kInBoth},
      options.merge);
  parser.add_flag(
      {"--no-follow", "",
       "profile CMD only, not the processes that it starts. Also when it executes another program",
       Shown::kInBoth});
  parser.add_flag(
      {"--keep-all", "",
       "a file for each process, also for helpers of a wrapper (pyenv, npm) that held next to nothing"},
      options.keep_all);
  RecordOptions record(parser, "memprof.%n.%p.series");
  ShipChoice ship;
  std::string ship_every;
  parser.add_repeated_option(
      {"--ship", "TARGET",
       "also ship the run's processes, every minute and at the end. What does not arrive is said "
       "(docs/fleet.md). TARGET is as in memprof ship --to:" +
           list_of_targets(),
       Shown::kInBoth},
      ship.targets);
  parser.add_option({"--ship-every", "TIME", "time between two looks of --ship (1m), from 100ms to 1h"},
                    ship_every);
  ShipLabels ship_labels(parser, Shown::kInHelp);
  const HttpAccessOptions ship_access(parser);
  parser.add_flag(
      {"--view", "", "show the profile in the browser afterwards. As memprof view does, until Ctrl-C",
       Shown::kInBoth},
      options.view);
  parser.add_flag(
      {"--mmap", "",
       "also record the memory that the program maps itself (mmap, sbrk), each mapping with its stack: a heap "
       "apart (docs/mappings.md). Of Python programs also without it, where 4 MiB or more are in memory"},
      options.mmap);
  add_budget(parser,
             "between --min-rate and --max-rate, from RATE on, or from a coarse one without -r, or with 512k",
             options.budget);
  std::string min_rate;
  std::string max_rate;
  std::string memory;
  parser.add_option({"--min-rate", "RATE", "the finest of --budget (16k)"}, min_rate);
  parser.add_option({"--max-rate", "RATE", "the coarsest of --budget (64M)"}, max_rate);
  parser.add_option({"--memory", "SIZE", "that the profiler's tables of a process stay within, like 32m"},
                    memory);
  add_raw(parser, options.raw);
  parser.add_flag(
      {"--no-python", "",
       "leave the Python interpreter alone: objects of up to 512 bytes are not seen, and stacks have no "
       "Python functions"});
  add_native_interpreter(parser, options.native_interpreter);
  add_no_inline_hooks(parser, "");
  add_no_debuginfod(parser);
  const size_t begin = command_begin(arguments, parser);
  const auto middle = arguments.begin() + static_cast<std::ptrdiff_t>(begin);
  options.wants_help = parser.parse({arguments.begin(), middle});
  if (options.wants_help) return options;
  options.ask_servers = !parser.is_given("--no-debuginfod");
  options.python = !parser.is_given("--no-python");
  options.inline_hooks = !parser.is_given("--no-inline-hooks");
  options.follow = !parser.is_given("--no-follow");
  if (options.merge && !options.follow) throw Failure("run: --merge and --no-follow exclude each other");
  if (options.view && options.raw)
    throw Failure("run: --view and --raw exclude each other: a page has names");
  if (parser.is_given("--rate")) options.rate_bytes = parse_rate(rate);
  if (parser.is_given("--budget")) parse_budget(options.budget);
  if (parser.is_given("--min-rate")) options.min_rate = parse_bound("--min-rate", min_rate);
  if (parser.is_given("--max-rate")) options.max_rate = parse_bound("--max-rate", max_rate);
  if (parser.is_given("--memory")) options.memory = parse_memory(memory);
  if (options.budget.empty() && (options.min_rate != 0 || options.max_rate != 0))
    throw Failure("run: --min-rate and --max-rate are bounds of --budget, which is not given");
  if (lower_bound_of_rate(options) > upper_bound_of_rate(options))
    throw Failure("run: --min-rate " + profile::format_rate(lower_bound_of_rate(options)) +
                  " is more than --max-rate " + profile::format_rate(upper_bound_of_rate(options)));
  check_output(options.output);
  options.record = record.choice();
  if (options.record) {
    options.record->force = options.force;
    options.record->ask_servers = options.ask_servers ? AskServers::kYes : AskServers::kNo;
  }
  if (!ship.targets.empty()) {
    if (parser.is_given("--ship-every")) ship.every_s = parse_ship_every("--ship-every", ship_every);
    ship.labels = ship_labels.rules();
    ship.network.access = ship_access.access();
    ship.network.option = "--ship";
    options.ship = ship;
  } else {
    std::string given = parser.is_given("--ship-every") ? "--ship-every" : ship_labels.given();
    if (given.empty()) given = ship_access.given();
    if (!given.empty()) throw Failure(given + ": nothing is sent without --ship TARGET; leave it out");
  }
  const bool has_dashes = middle != arguments.end() && *middle == "--";
  options.command.assign(has_dashes ? middle + 1 : middle, arguments.end());
  if (options.command.empty())
    throw Failure("run: no program given; usage: memprof run [-r RATE] [-o PATH] -- CMD ARG...");
  options.command = with_python(options.command);
  return options;
}

}  // namespace memprof::cli
