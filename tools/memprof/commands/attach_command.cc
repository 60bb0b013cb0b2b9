// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/attach_command.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>

#include "memprof/attach/attach.h"
#include "memprof/attach/process_watch.h"
#include "memprof/attach/python/start_by_python.h"
#include "memprof/console/arguments.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/console/shared_options.h"
#include "memprof/host/process/process_ids.h"
#include "memprof/host/process/running_process.h"
#include "memprof/host/program/find_library.h"
#include "memprof/io/output_check.h"
#include "memprof/io/path_pattern.h"
#include "memprof/io/process_looks.h"
#include "memprof/io/profile_format.h"
#include "memprof/io/profile_input.h"
#include "memprof/io/profile_output.h"
#include "profile/text/units.h"

namespace memprof::cli {
namespace {

HelpText help() {
  return {
      "memprof attach PID | --name PROGRAM [OPTIONS]\n"
      "memprof attach --stop PID | --stop --name PROGRAM [--python]",
      R"(Starts memprof in a running process, which pauses for some milliseconds. It
records allocations from now on; memprof live PID shows them.
)",
      R"(It loads libmemprof.so into the process. One of its threads is stopped for some
milliseconds while it holds no lock; the others run on. No debugger is needed.
Allocations made before the attach are unknown, and so are their frees. The
library stays in the process; --stop ends the recording, attaching again resumes
it.
)",
      R"(A process of your own needs no rights but those of ptrace. Exit status: 0, 1 when
the process was refused or something failed there, 2 for wrong use.
)"};
}

struct Options {
  std::string pid;
  std::string name;
  bool stop = false;
  AttachOptions attach;
  bool by_python = false;  // the process's own Python makes the calls
  std::optional<double> seconds;
  std::string output;
  bool raw = false;
  AskServers ask_servers = AskServers::kYes;
};

// "30", "30s", "5m", "1h"
double parse_duration(const std::string& text) {
  char* end = nullptr;
  double seconds = std::strtod(text.c_str(), &end);
  const std::string unit = text.empty() ? "?" : end;
  if (unit == "m") seconds *= 60;
  if (unit == "h") seconds *= 3600;
  const bool is_unit = unit.empty() || unit == "s" || unit == "m" || unit == "h";
  // NOLINTNEXTLINE(readability-simplify-boolean-expr): refuses what is no number, too
  if (!is_unit || !(seconds >= 0.1 && seconds <= 31 * 86400)) {
    throw Failure("--for: '" + text + "' is not a time; give one like 30s, 5m or 1h, at most 31 days");
  }
  return seconds;
}

void check(const Options& options, bool has_time, bool has_settings) {
  if (options.pid.empty() == options.name.empty()) {
    throw Failure("attach: give one process; usage: memprof attach PID, or memprof attach --name PROGRAM");
  }
  if (options.stop && (has_time || has_settings)) {
    throw Failure("attach: --stop takes no other options than --name, --python and --force");
  }
  if (has_time == options.output.empty()) {
    throw Failure(
        "attach: --for and -o belong together: how long, and which file; without them look with "
        "`memprof live PID`");
  }
  if (options.raw && !has_time) throw Failure("attach: --raw needs --for and -o");
  if (!options.attach.python && options.attach.native_interpreter) {
    throw Failure("attach: --no-python and --native-interpreter exclude each other");
  }
  if (options.by_python && !options.attach.python) {
    throw Failure("attach: --python and --no-python exclude each other");
  }
  if (has_time && options.output == "-") throw Failure("-o: give the path of a file");
  if (has_time) check_pprof_name("attach", options.output);
}

std::optional<Options> parse(const std::vector<std::string>& arguments) {
  Options options;
  ArgumentParser parser("attach", help());
  using Shown = OptionText::Shown;
  std::string rate;
  std::string budget;
  std::string time;
  parser.add_argument(options.pid);
  parser.add_option(
      {"--name", "PROGRAM", "the process whose executable, or script, has this name", Shown::kInBoth},
      options.name);
  parser.add_option(
      {"-r,--rate", "RATE",
       "mean bytes between samples: 512k (default), 64k, 1M ...; 0 records every allocation", Shown::kInBoth},
      rate);
  add_budget(
      parser,
      "from RATE on, or from a coarse one if RATE is the default; ignored if memprof was started before",
      budget);
  parser.add_option(
      {"--for", "TIME",
       "with -o: record for this time (30s, 5m, 1h), write the profile, stop. Ctrl-C, or the end of the "
       "process, ends the wait",
       Shown::kInBoth},
      time);
  parser.add_option(
      {"-o,--output", "PATH",
       "the file to write, .pb.gz or .pb. %n is the program, %p its process id, %t the time in seconds "
       "since 1970",
       Shown::kInBoth},
      options.output);
  parser.add_flag(
      {"--stop", "", "stop recording. `memprof live PID -o PATH` still writes what there is", Shown::kInBoth},
      options.stop);
  parser.add_flag(
      {"--python", "",
       "let the process's own Python (3.14 or later) load the library, in its main thread: nothing is "
       "stopped, ptrace is not used; allocators inside modules are not hooked"},
      options.by_python);
  parser.add_flag({"--no-python", "", "look at no CPython: not at its objects, not at its frames"});
  add_native_interpreter(parser, options.attach.native_interpreter);
  add_no_inline_hooks(parser, ": otherwise all threads are stopped for a moment, and their functions hooked");
  parser.add_flag(
      {"--mmap", "",
       "also record the memory that the program maps itself from now on (mmap, sbrk), each mapping with its "
       "stack: a heap apart (docs/mappings.md); not where memprof was begun without it before"},
      options.attach.mappings);
  parser.add_flag({"--follow-fork", "", "profile fork children that it makes from now on, too"},
                  options.attach.follow_fork);
  parser.add_flag(
      {"--force", "",
       "replace PATH if it exists; attach also where a filter of system calls (seccomp) cannot be read, which "
       "may end the process"},
      options.attach.force);
  add_raw(parser, options.raw);
  add_no_debuginfod(parser);
  if (parser.parse(arguments)) return std::nullopt;
  options.attach.python = !parser.is_given("--no-python");
  options.attach.inline_hooks = !parser.is_given("--no-inline-hooks");
  const bool has_settings = parser.is_given("--rate") || parser.is_given("--budget") ||
                            parser.is_given("--no-python") || options.attach.native_interpreter ||
                            options.attach.follow_fork || options.attach.mappings ||
                            !options.attach.inline_hooks || !options.output.empty() || options.raw;
  check(options, parser.is_given("--for"), has_settings);
  if (parser.is_given("--for")) options.seconds = parse_duration(time);
  if (parser.is_given("--rate")) options.attach.rate_bytes = parse_rate(rate);
  if (parser.is_given("--budget")) options.attach.budget_ppm = parse_budget(budget);
  if (parser.is_given("--no-debuginfod")) options.ask_servers = AskServers::kNo;
  return options;
}

uint64_t find_pid(const Options& options) {
  if (!options.name.empty()) return find_any_process_named(options.name);
  uint64_t pid = 0;
  if (!parse_pid(options.pid, &pid)) {
    throw Failure("attach: '" + options.pid +
                  "' is not a process id; --name finds a process by the name of its program");
  }
  return pid;
}

std::string shown_ms(int64_t ns) {
  char text[32];
  static_cast<void>(std::snprintf(text, sizeof(text), "%.1f ms", static_cast<double>(ns) / 1e6));
  return text;
}

std::string described(uint64_t pid) {
  return std::to_string(pid) + " (" + program_of(pid) + ")";
}

// At which rate; a budget begins with one of its own where the default was left.
std::string rate_text(const AttachOptions& options) {
  std::string rate = "rate " + profile::format_bytes(static_cast<double>(options.rate_bytes));
  if (options.budget_ppm == 0) return rate;
  return options.rate_bytes == AttachOptions{}.rate_bytes ? "a rate within the budget"
                                                          : rate + " at first, within the budget";
}

AttachResult start_in(uint64_t pid, const Options& options) {
  return options.by_python ? start_by_python(pid, options.attach) : attach_and_start(pid, options.attach);
}

AttachResult stop_in(uint64_t pid, const Options& options) {
  return options.by_python ? stop_by_python(pid, options.attach) : attach_and_stop(pid, options.attach);
}

std::string paused(const Options& options, const AttachResult& result) {
  return (options.by_python ? ", whose main thread ran it for " : ", which paused for ") +
         shown_ms(result.pause_ns);
}

// As long as was asked for; then the profile, and the end of the sampling.
int wait_and_write(const Options& options, uint64_t pid) {
  PathFacts facts;
  facts.pid = static_cast<int64_t>(pid);
  facts.program = program_of(pid);
  facts.time_seconds = std::time(nullptr);
  const std::string path = expand_path(options.output, facts);
  ProcessWatch watch(find_process(std::to_string(pid)));
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): asked for by who calls
  const ProcessWatch::End end = watch.wait(*options.seconds);
  ProcessLooks looks(watch.process(), options.ask_servers);
  write_profile(looks.look(options.raw), path, options.attach.force);
  if (end == ProcessWatch::End::kProcessEnded) {
    complain("process " + std::to_string(pid) + " has ended; the profile is as of then");
  } else {
    stop_in(pid, options);
  }
  complain("wrote " + shell_word(path) + "; next: memprof report " + shell_word(path));
  return 0;
}

}  // namespace

int attach_command(const std::vector<std::string>& arguments) {
  std::optional<Options> options = parse(arguments);
  if (!options) return 0;
  const uint64_t pid = find_pid(*options);
  const std::string id = std::to_string(pid);
  if (options->stop) {
    const AttachResult result = stop_in(pid, *options);
    complain("stopped in " + described(pid) + paused(*options, result) + "; `memprof live " + id +
             "` shows what it held, `memprof attach " + id + "` goes on");
    return 0;
  }
  options->attach.library = find_library();
  if (options->seconds) {
    PathFacts facts;
    facts.pid = static_cast<int64_t>(pid);
    facts.program = program_of(pid);
    check_output_path(expand_path(options->output, facts), options->attach.force);
  }
  const AttachResult result = start_in(pid, *options);
  complain("attached to " + described(pid) + paused(*options, result) + "; " + rate_text(options->attach) +
           "; recording allocations from now on");
  for (const std::string& name : result.hooked) complain(name + " is hooked");
  for (const std::string& line : result.refused) complain(line);
  if (options->seconds) return wait_and_write(*options, pid);
  complain("next: memprof live " + id + ", memprof live " + id + " -o out.pb.gz, memprof attach --stop " +
           id);
  return 0;
}

}  // namespace memprof::cli
