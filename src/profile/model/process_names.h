// SPDX-License-Identifier: Apache-2.0
// How processes are called: "NAME PID", and behind a colon the part of the command line that tells processes of one
// program apart, whatever the program is: "chromium 4711: --type=renderer".
//
// Threads: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace memprof::profile {

struct CommandLine {
  std::string program;                 // of its executable
  std::string name;                    // what the system calls the process; empty: not known
  std::vector<std::string> arguments;  // from its own name on; empty: not known
};

// `text`: as format/programs/command_line.h has it.
CommandLine command_line_of(const std::string& program, std::string_view text);

// For each what tells it from the others of the same program; empty: nothing does. That is the first argument in which
// they differ, with the option that it belongs to; among those with the same one also the next; without such an
// argument the title that it gave itself, or the system's name of it. Of long texts the part that differs is left.
std::vector<std::string> tell_apart(const std::vector<CommandLine>& processes);

// `number`: of several with this name and id, from 1 on.
std::string process_label(const std::string& program, uint64_t pid, const std::string& told_apart,
                          unsigned number = 1);
// The program's name in it.
std::string_view program_of_label(std::string_view label);

}  // namespace memprof::profile
