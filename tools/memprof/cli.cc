// SPDX-License-Identifier: Apache-2.0
#include "memprof/cli.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "memprof/commands/attach_command.h"
#include "memprof/commands/churn_command.h"
#include "memprof/commands/diff_command.h"
#include "memprof/commands/doctor_command.h"
#include "memprof/commands/export_command.h"
#include "memprof/commands/list_command.h"
#include "memprof/commands/live_command.h"
#include "memprof/commands/merge_command.h"
#include "memprof/commands/report_command.h"
#include "memprof/commands/run_command.h"
#include "memprof/commands/view_command.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/short_help.h"
#include "profile/model/error.h"

namespace memprof::cli {
namespace {

constexpr char kHelp[] =
    R"(memprof: a sampling profiler of memory allocations

usage: memprof run [-r RATE] [-o PATH] [--merge | --no-follow] [--force]
                   [--raw] [--no-python | --native-interpreter]
                   [--no-debuginfod] [--] CMD ARG...
       memprof report FILE [-n N] [--by function|line|file|module|heap|process]
                           [--tree]
                           [--focus REGEX] [--ignore REGEX]
                           [--callers FUNCTION] [--callees FUNCTION]
                           [--metric METRIC] [--native-interpreter] [--json]
       memprof view FILE|PID [--no-open] [--port PORT]
       memprof diff BEFORE AFTER [--by WHAT] [--tree] [--fail-on LIMIT]
                           [--json | --markdown] [--junit FILE]
       memprof churn FILE [--younger TIME] [--json]
       memprof merge FILE... -o OUT [--skip-damaged] [--force]
       memprof export FILE -o OUT [--format FORMAT] [--metric METRIC] [--force]
       memprof live PID | --name PROGRAM [-o PATH]
       memprof attach PID | --name PROGRAM [-r RATE] [--for TIME -o PATH]
       memprof attach --stop PID
       memprof list
       memprof clean
       memprof doctor [PID | -- CMD ARG...]

commands:
  run      run a program and write a profile of what it allocated, and of each
           process that it starts
  report   show a profile: a table, a tree of calls, callers and callees
  view     show a profile in the browser: flame graph and table
  diff     what grew and shrank between two profiles, and whether that is more
           than chance
  churn    what was allocated and freed again soon after, and what to do about it
  merge    add up the profiles of many runs or machines
  export   turn a profile into another format (a page, pprof, speedscope, collapsed,
           JSON)
  live     look at a running process, or write its profile as of now
  attach   start memprof in a process that runs already
  list     processes that have memprof in them, and what dead ones left behind
  clean    remove what dead processes left behind
  doctor   check what would stop memprof here, in a program or in a process

`memprof COMMAND --help` says more about each.

try:
  memprof run -o out.pb.gz -- sort /usr/share/dict/words
  memprof report out.pb.gz
  memprof view out.pb.gz

The profile is an ordinary pprof file: `go tool pprof out.pb.gz` opens it, too.
Without this command:
  LD_PRELOAD=libmemprof.so MEMPROF_PROFILE=out.%p.pb MEMPROF_RATE=512k CMD

options:
  --help     this text; -h: the half of it
  --version  the version
)";

int dispatch(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0] == "-h") {
    print(short_help(""));
    return 0;
  }
  const std::string& command = arguments[0];
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  const std::string help = short_help(command);
  if (!help.empty() && rest == std::vector<std::string>{"-h"}) {
    print(help);
    return 0;
  }
  // Then the command says what is missing.
  if (rest.empty()) static_cast<void>(std::fputs(help.c_str(), stderr));
  if (command == "run") return run_command(rest);
  // A file over the limit of sizes is an error like a full disk. (A program that we run is to keep the
  // signal.)
  std::signal(SIGXFSZ, SIG_IGN);
  if (command == "report") return report_command(rest);
  if (command == "view") return view_command(rest);
  if (command == "diff") return diff_command(rest);
  if (command == "churn") return churn_command(rest);
  if (command == "merge") return merge_command(rest);
  if (command == "export") return export_command(rest);
  if (command == "live") return live_command(rest);
  if (command == "attach") return attach_command(rest);
  if (command == "list") return list_command(rest);
  if (command == "clean") return clean_command(rest);
  if (command == "doctor") return doctor_command(rest);
  if (command == "help" && !rest.empty()) return dispatch({rest[0], "--help"});
  if (command == "--help" || command == "help") {
    print(kHelp);
    return 0;
  }
  if (command == "--version") {
    print("memprof " MEMPROF_VERSION "\n");
    return 0;
  }
  const char* what = command.compare(0, 1, "-") == 0 ? "option" : "command";
  throw Failure("unknown " + std::string(what) + " '" + command +
                "'; the commands are run, report, view, diff, churn, merge, export, live, attach, list, "
                "clean and doctor "
                "(memprof --help)");
}

}  // namespace

int cli_main(const std::vector<std::string>& arguments) {
  try {
    return dispatch(arguments);
  } catch (const Failure& failure) {
    complain(failure.what());
    return failure.status();
  } catch (const profile::Error& error) {
    complain(error.what());
  } catch (const std::bad_alloc&) {
    complain("out of memory");
  } catch (const std::exception& error) {
    complain(std::string("unexpected error: ") + error.what());
  }
  return kBadInput;
}

}  // namespace memprof::cli
