// SPDX-License-Identifier: Apache-2.0
#include "memprof/console/browser.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "memprof/console/console.h"

namespace memprof::cli {

bool has_display() {
  return is_variable_set("DISPLAY") || is_variable_set("WAYLAND_DISPLAY");
}

bool open_in_browser(const std::string& page) {
  if (!has_display()) return false;
  // A shell in between: it ends at once, and the browser is nobody's child that has to be waited for.
  std::string program = "sh";
  std::string option = "-c";
  std::string script =
      "command -v xdg-open >/dev/null || exit 1; xdg-open \"$1\" </dev/null >/dev/null 2>&1 &";
  std::string name = "memprof";
  std::string argument = page;
  std::array<char*, 6> arguments = {program.data(), option.data(),   script.data(),
                                    name.data(),    argument.data(), nullptr};
  pid_t child = 0;
  if (posix_spawnp(&child, program.c_str(), nullptr, nullptr, arguments.data(), environ) != 0) return false;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace memprof::cli
