// SPDX-License-Identifier: Apache-2.0
#include "memprof/console/pager.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <vector>

#include "memprof/console/console.h"
#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

bool is_in_path(const std::string& program) {
  const char* variable = std::getenv("PATH");
  const std::string path = variable != nullptr ? variable : "/usr/bin:/bin";
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    if (access((path.substr(begin, end - begin) + "/" + program).c_str(), X_OK) == 0) return true;
    begin = end + 1;
  }
  return false;
}

bool fits_the_screen(std::string_view text) {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return false;
  return std::count(text.begin(), text.end(), '\n') < size.ws_row;
}

// Holds a signal off this process as long as it lives.
class Ignored {
 public:
  explicit Ignored(int signal) : signal_(signal) {
    struct sigaction ignore{};
    ignore.sa_handler = SIG_IGN;
    sigaction(signal_, &ignore, &before_);
  }
  ~Ignored() { sigaction(signal_, &before_, nullptr); }
  Ignored(const Ignored&) = delete;
  Ignored& operator=(const Ignored&) = delete;

 private:
  int signal_;
  struct sigaction before_{};
};

// less is told what git tells it, unless the user tells it something.
std::vector<std::string> pager_environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  if (std::getenv("LESS") == nullptr) variables.emplace_back("LESS=FRX");
  if (std::getenv("LV") == nullptr) variables.emplace_back("LV=-c");
  return variables;
}

// Returns the shell's process id; 0: it could not be started.
pid_t start_shell(const std::string& command, int input) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  sigset_t own;
  sigemptyset(&own);
  for (const int signal : {SIGINT, SIGQUIT, SIGPIPE}) sigaddset(&own, signal);
  posix_spawnattr_setsigdefault(&attributes, &own);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  std::string shell = "sh";
  std::string option = "-c";
  std::string script = command;
  const std::array<char*, 4> arguments = {shell.data(), option.data(), script.data(), nullptr};
  std::vector<std::string> variables = pager_environment();
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  pid_t child = 0;
  const int error =
      posix_spawn(&child, "/bin/sh", &actions, &attributes, arguments.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? child : 0;
}

// Until all is written, or nobody reads it.
void write_to(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

std::string pager_command() {
  for (const char* variable : {"MEMPROF_PAGER", "PAGER"}) {
    if (const char* command = std::getenv(variable); command != nullptr) {
      return std::string(command) == "cat" ? "" : command;
    }
  }
  return is_in_path("less") ? "less -FRX" : "";
}

bool page(std::string_view text, const std::string& command) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  const Ignored interrupt(SIGINT);
  const Ignored quit(SIGQUIT);
  const Ignored broken_pipe(SIGPIPE);  // closed early
  const pid_t child = start_shell(command, ends[0]);
  ::close(ends[0]);
  if (child != 0) write_to(ends[1], text);
  ::close(ends[1]);
  if (child == 0) return false;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return true;
  }
  return !WIFEXITED(status) || (WEXITSTATUS(status) != kCannotExecute && WEXITSTATUS(status) != kNotFound);
}

void print_paged(std::string_view text, bool may_page) {
  const std::string command =
      may_page && is_output_terminal() && !fits_the_screen(text) ? pager_command() : "";
  if (command.empty()) return print(text);
  if (page(text, command)) return;
  complain("pager: cannot run '" + command + "'; MEMPROF_PAGER or PAGER names another, --no-pager none");
  print(text);
}

}  // namespace memprof::cli
