// SPDX-License-Identifier: Apache-2.0
#include "memprof/command_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "memprof/commands/attach_command.h"
#include "memprof/commands/check_command.h"
#include "memprof/commands/churn_command.h"
#include "memprof/commands/diff_command.h"
#include "memprof/commands/doctor_command.h"
#include "memprof/commands/export_command.h"
#include "memprof/commands/fleet_command.h"
#include "memprof/commands/leaks_command.h"
#include "memprof/commands/list_command.h"
#include "memprof/commands/live_command.h"
#include "memprof/commands/merge_command.h"
#include "memprof/commands/report_command.h"
#include "memprof/commands/run_command.h"
#include "memprof/commands/ship_command.h"
#include "memprof/commands/view_command.h"
#include "memprof/help_commands.h"

namespace memprof::cli {
namespace {

// A text of several lines, the later ones behind so many spaces.
std::string indented(const std::string& text, size_t spaces) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '\n') out.append(spaces, ' ');
  }
  return out;
}

}  // namespace

const std::vector<Command>& commands() {
  // clang-format off
  static const std::vector<Command> kCommands = {
    {"run", run_command, true,
     "memprof run [-r RATE] [-o PATH] CMD", "run a program, write its profile",
     "run a program and write a profile of its memory, and one for each\n"
     "process that it starts"},
    {"report", report_command, true,
     "memprof report FILE", "which code holds memory; --tree: calls",
     "print a profile: a table of functions, a tree of calls"},
    {"view", view_command, true,
     "memprof view FILE|PID", "the same in the browser, as a flame graph",
     "show a profile in the browser: flame graph and table"},
    {"diff", diff_command, true,
     "memprof diff BEFORE AFTER", "what grew, what shrank",
     "compare two profiles: what grew and shrank, and whether it is more\n"
     "than chance"},
    {"check", check_command, false,
     "memprof check [-- CMD | FILE...]", "check a program against limits",
     "check a program against the limits in memprof.toml, for CI"},
    {"churn", churn_command, true,
     "memprof churn FILE", "what is freed soon after it is allocated",
     "show memory that is freed soon after it is allocated, and what to do\n"
     "about it"},
    {"leaks", leaks_command, true,
     "memprof leaks FILE...|PID", "which code leaks",
     "find the places that leak, with the reason for each"},
    {"merge", merge_command, true,
     "memprof merge FILE... -o OUT", "add up many profiles",
     "add up profiles of several runs or machines"},
    {"export", export_command, true,
     "memprof export FILE -o OUT", ".html, .json, .parquet, ...",
     "convert a profile to another format (web page, pprof, speedscope,\n"
     "collapsed, JSON)"},
    {"live", live_command, true,
     "memprof live PID", "look at a running process",
     "look at a running process, or write its profile up to now"},
    {"attach", attach_command, true,
     "memprof attach PID", "start memprof in a running process",
     "start memprof in a running process"},
    {"ship", ship_command, true,
     "memprof ship --to URL|DIR", "send profiles to Pyroscope, a collector",
     "send what all processes of this machine allocate and hold to\n"
     "Pyroscope, an OpenTelemetry collector or a folder, every minute"},
    {"fleet", fleet_command, true,
     "memprof fleet FOLDER", "what many hosts hold, which stand out",
     "read what `memprof ship` wrote to a folder: sums by service, hosts\n"
     "that stand out, growth by version"},
    {"list", list_command, false,
     "memprof list", "processes that have memprof in them",
     "list processes that have memprof in them, and data of dead ones"},
    {"clean", clean_command, false,
     "memprof clean", "remove the data of dead processes",
     "remove the data that dead processes left behind"},
    {"doctor", doctor_command, false,
     "memprof doctor [PID | -- CMD]", "what could stop memprof here",
     "check this system, a program or a process for what could stop memprof"},
    {"completion", completion_command, true,
     nullptr, nullptr,
     "print the completion of commands and options for bash, zsh or fish"},
    {"manual", manual_command, false,
     nullptr, nullptr,
     "print a manual page, for man"},
  };
  // clang-format on
  return kCommands;
}

const Command* find_command(const std::string& name) {
  const auto found = std::find_if(commands().begin(), commands().end(),
                                  [&](const Command& command) { return name == command.name; });
  return found != commands().end() ? &*found : nullptr;
}

std::string about_commands() {
  std::string out;
  for (const Command& command : commands()) {
    constexpr size_t kIndentation = 13;
    out += fmt::format("  {:<10} {}\n", command.name, indented(command.about, kIndentation));
  }
  return out;
}

std::string synopses_of_commands() {
  std::string out;
  for (const Command& command : commands()) {
    if (command.synopsis != nullptr) out += fmt::format("  {:<36} {}\n", command.synopsis, command.purpose);
  }
  return out;
}

std::string names_of_commands() {
  std::string out;
  for (size_t i = 0; i < commands().size(); ++i) {
    out += i == 0 ? "" : i + 1 < commands().size() ? ", " : " and ";
    out += commands()[i].name;
  }
  return out;
}

}  // namespace memprof::cli
