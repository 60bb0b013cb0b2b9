// SPDX-License-Identifier: Apache-2.0
#include "memprof/cli.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "memprof/command_table.h"
#include "memprof/commands/check_command.h"
#include "memprof/commands/run_command.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/short_help.h"
#include "profile/model/error.h"

namespace memprof::cli {
namespace {

constexpr char kBeginning[] =
    "memprof shows which code holds a program's memory, and which code allocated it.\n"
    "It records a sample of the allocations, so its numbers are estimates.\n\n";
constexpr char kEnd[] =
    R"(
`memprof COMMAND --help` explains a command and its options.

try:
  memprof run -o out.pb.gz -- sort /usr/share/dict/words
  memprof report out.pb.gz
  memprof view out.pb.gz

The profile is a pprof file: `go tool pprof out.pb.gz` opens it, too.
To profile a program without `memprof run`, preload the library:
  LD_PRELOAD=libmemprof.so MEMPROF_PROFILE=out.%p.pb MEMPROF_RATE=512k CMD

options:
  --help     show this text; -h: a shorter one
  --version  show the version
)";

std::string whole_help() {
  return std::string(kBeginning) + "usage: memprof COMMAND [OPTIONS]\n\ncommands:\n" + about_commands() +
         kEnd;
}

int dispatch(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0] == "-h") {
    print(short_help(""));
    return 0;
  }
  const std::string& command = arguments[0];
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (const Command* known = find_command(command)) {
    // Then it says what is missing.
    if (rest.empty() && known->needs_arguments)
      static_cast<void>(std::fputs(short_help(command).c_str(), stderr));
    // A file over the limit of sizes is an error like a full disk. (A program that we run is to keep the
    // signal.)
    if (known->run != run_command && known->run != check_command) std::signal(SIGXFSZ, SIG_IGN);
    return known->run(rest);
  }
  if (command == "help" && !rest.empty()) return dispatch({rest[0], "--help"});
  if (command == "--help" || command == "help") {
    print(whole_help());
    return 0;
  }
  if (command == "--version") {
    print("memprof " MEMPROF_VERSION "\n");
    return 0;
  }
  const char* what = command.compare(0, 1, "-") == 0 ? "option" : "command";
  throw Failure(fmt::format("unknown {} '{}'; the commands are {} (memprof --help)", what, command,
                            names_of_commands()));
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
    complain("out of memory; where `ulimit -v` limits the address space, raise it");
  } catch (const std::exception& error) {
    complain(std::string("unexpected error: ") + error.what());
  }
  return kBadInput;
}

}  // namespace memprof::cli
