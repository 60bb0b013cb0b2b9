// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/run_options.h"

#include <algorithm>

#include "memprof/console/arguments.h"
#include "memprof/console/failure.h"
#include "memprof/io/profile_format.h"
#include "memprof/run/python_program.h"

namespace memprof::cli {
namespace {

bool takes_value(const std::string& argument) {
  static const std::vector<std::string> kTaking = {"-r",       "--rate",  "-o",     "--output",
                                                   "--record", "--every", "--limit"};
  return std::find(kTaking.begin(), kTaking.end(), argument) != kTaking.end();
}

size_t command_begin(const std::vector<std::string>& arguments) {
  size_t i = 0;
  while (i < arguments.size()) {
    const std::string& argument = arguments[i];
    // -m is Python's: the module and all that follows are the program.
    if (argument == "--" || argument == "-m" || argument.size() < 2 || argument[0] != '-') break;
    i += takes_value(argument) ? 2 : 1;
  }
  return std::min(i, arguments.size());
}

void check_output(const std::string& output) {
  if (output.empty()) throw Failure("-o: the path is empty");
  if (output == "-") throw Failure("-o: run writes to a file, because standard output is the program's");
  check_pprof_name("run", output);
}

}  // namespace

RunOptions parse_run_options(const std::vector<std::string>& arguments) {
  const size_t begin = command_begin(arguments);
  const auto middle = arguments.begin() + static_cast<std::ptrdiff_t>(begin);
  RunOptions options;
  ArgumentParser parser("run");
  std::string rate;
  parser.add_option("-r,--rate", rate);
  parser.add_option("-o,--output", options.output);
  parser.add_flag("--force", options.force);
  parser.add_flag("--raw", options.raw);
  parser.add_flag("--no-follow");
  parser.add_flag("--merge", options.merge);
  parser.add_flag("--no-python");
  parser.add_flag("--native-interpreter", options.native_interpreter);
  parser.add_flag("--view", options.view);
  RecordOptions record(parser);
  parser.add_flag("--no-debuginfod");
  options.wants_help = parser.parse({arguments.begin(), middle});
  if (options.wants_help) return options;
  options.ask_servers = !parser.is_given("--no-debuginfod");
  options.python = !parser.is_given("--no-python");
  options.follow = !parser.is_given("--no-follow");
  if (options.merge && !options.follow) throw Failure("run: --merge and --no-follow exclude each other");
  if (options.view && options.raw)
    throw Failure("run: --view and --raw exclude each other: a page has names");
  if (parser.is_given("--rate")) options.rate_bytes = parse_rate(rate);
  check_output(options.output);
  options.record = record.choice("memprof.%n.%p.series");
  if (options.record) {
    options.record->force = options.force;
    options.record->ask_servers = options.ask_servers ? AskServers::kYes : AskServers::kNo;
  }
  const bool has_dashes = middle != arguments.end() && *middle == "--";
  options.command.assign(has_dashes ? middle + 1 : middle, arguments.end());
  if (options.command.empty())
    throw Failure("run: no program given; usage: memprof run [-r RATE] [-o PATH] -- CMD ARG...");
  options.command = with_python(options.command);
  return options;
}

}  // namespace memprof::cli
