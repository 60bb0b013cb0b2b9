// SPDX-License-Identifier: Apache-2.0
// The commands.  A new one is a file in commands/ and a line of the table; from it follow what `memprof`,
// `memprof --help` and an unknown word say.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

struct Command {
  const char* name;
  int (*run)(const std::vector<std::string>& arguments);  // what stands behind the name; returns the status
  bool needs_arguments;                                   // without any it prints its short help
  const char* synopsis;                                   // in the short help, with; nullptr: it is not there
  const char* purpose;                                    // what it is for, in half a line
  const char* about;  // what it is for, in `memprof --help`; lines end where the text is to
};

const std::vector<Command>& commands();

// nullptr: there is none of that name.
const Command* find_command(const std::string& name);

// The lists of the help texts, each line with its end.
std::string about_commands();        // "  run      run a program ..."
std::string synopses_of_commands();  // "  memprof run ... CMD  run a program ..."

// "run, report and doctor"
std::string names_of_commands();

}  // namespace memprof::cli
