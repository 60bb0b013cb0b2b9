// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/doctor_command.h"

#include <algorithm>

#include "memprof/console/arguments.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/doctor/doctor_checks.h"
#include "memprof/doctor/doctor_process.h"
#include "memprof/doctor/doctor_program.h"
#include "memprof/doctor/doctor_system.h"

namespace memprof::cli {
namespace {

HelpText help() {
  return {
      "memprof doctor\n"
      "memprof doctor -- CMD ARG...\n"
      "memprof doctor PID",
      R"(Checks whether this system lets memprof work; with CMD, also whether that program
does (it is not started); with PID, that process (it is not touched). One line
for each check:

  yes   nothing to do
  note  works, but something is missing from the picture, or a limit is near
  no    stops memprof

and after -> what to do. The status is 0 if nothing stops memprof, 1 if something
does, 2 if the arguments are wrong.
)",
      "", ""};
}

constexpr int kStopped = 1;

uint64_t parse_pid(const std::string& text) {
  if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string::npos ||
      std::stoull(text) == 0) {
    throw Failure("doctor: '" + text + "' is not a process id; for a program: memprof doctor -- " +
                  shell_word(text));
  }
  return std::stoull(text);
}

}  // namespace

int doctor_command(const std::vector<std::string>& arguments) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  ArgumentParser parser("doctor", help());
  std::string pid;
  parser.add_argument(pid);
  if (parser.parse({arguments.begin(), dashes})) return 0;
  Checks checks;
  if (arguments.empty()) {
    check_system(&checks);
    check_surroundings(&checks);
  } else if (dashes != arguments.end()) {
    if (dashes + 1 == arguments.end())
      throw Failure("doctor: no program given; usage: memprof doctor -- CMD ARG...");
    if (!pid.empty())
      throw Failure("doctor: '" + pid + "': a process or a program? Give one PID, or -- CMD ARG...");
    check_system(&checks);
    check_surroundings(&checks);
    check_command(dashes[1], &checks);
  } else {
    check_process(parse_pid(pid), &checks);
  }
  print(checks.text(terminal_width(), wants_color()));
  return checks.count(Verdict::kNo) == 0 ? 0 : kStopped;
}

}  // namespace memprof::cli
