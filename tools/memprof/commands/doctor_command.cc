// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/doctor_command.h"

#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/doctor/doctor_checks.h"
#include "memprof/doctor/doctor_process.h"
#include "memprof/doctor/doctor_program.h"
#include "memprof/doctor/doctor_system.h"

namespace memprof::cli {
namespace {

constexpr char kHelp[] =
    R"(usage: memprof doctor
       memprof doctor -- CMD ARG...
       memprof doctor PID

Checks whether this system lets memprof work; with CMD, also whether that program
does (it is not started); with PID, that process (it is not touched). One line
for each check:

  yes   nothing to do
  note  works, but something is missing from the picture, or a limit is near
  no    stops memprof

and after -> what to do. The status is 0 if nothing stops memprof, 1 if something
does, 2 if the arguments are wrong.
)";

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
  Checks checks;
  if (arguments.empty()) {
    check_system(&checks);
    check_surroundings(&checks);
  } else if (arguments[0] == "--") {
    if (arguments.size() < 2) throw Failure("doctor: no program given; usage: memprof doctor -- CMD ARG...");
    check_system(&checks);
    check_surroundings(&checks);
    check_command(arguments[1], &checks);
  } else if (arguments[0] == "--help" || arguments[0] == "-h") {
    print(kHelp);
    return 0;
  } else if (arguments[0][0] == '-') {
    throw Failure("doctor: unknown option '" + arguments[0] + "' (memprof doctor --help)");
  } else {
    const uint64_t pid = parse_pid(arguments[0]);
    if (arguments.size() > 1) {
      throw Failure("doctor: '" + arguments[1] +
                    "' is an unexpected argument; give one PID, or -- CMD ARG...");
    }
    check_process(pid, &checks);
  }
  print(checks.text(terminal_width(), wants_color()));
  return checks.count(Verdict::kNo) == 0 ? 0 : kStopped;
}

}  // namespace memprof::cli
