// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/python_program.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "memprof/console/failure.h"
#include "memprof/host/program/target_program.h"

namespace memprof::cli {
namespace {

constexpr char kVariable[] = "MEMPROF_PYTHON_PROGRAM";

// A file, not a program in PATH that is called so.
bool is_script(const std::string& word) {
  constexpr char kSuffix[] = ".py";
  constexpr size_t kLength = sizeof(kSuffix) - 1;
  std::error_code error;
  return word.size() > kLength && word.compare(word.size() - kLength, kLength, kSuffix) == 0 &&
         std::filesystem::is_regular_file(word, error);
}

std::string interpreter(const std::string& reason) {
  const char* given = std::getenv(kVariable);
  const bool is_given = given != nullptr && *given != '\0';
  const std::string program = is_given ? given : "python3";
  const TargetProgram target = inspect_target(program);
  if (target.status != 0) {
    throw Failure("run " + reason + ": no interpreter of Python: " + target.error +
                      (is_given ? std::string(" (") + kVariable + ")"
                                : "; name one: memprof run -- /PATH/python3 " + reason),
                  target.status);
  }
  return program;
}

}  // namespace

std::vector<std::string> with_python(const std::vector<std::string>& command) {
  const bool is_module = command[0] == "-m";
  if (is_module && command.size() == 1) {
    throw Failure("run -m: no module given; usage: memprof run -m PACKAGE.MODULE ARG...");
  }
  if (!is_module && !is_script(command[0])) return command;
  std::vector<std::string> result = {interpreter(is_module ? "-m " + command[1] : command[0])};
  result.insert(result.end(), command.begin(), command.end());
  return result;
}

}  // namespace memprof::cli
