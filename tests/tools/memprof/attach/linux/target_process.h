// SPDX-License-Identifier: Apache-2.0
// Processes to attach to (tests/tools/memprof/fixtures/attached.c), for the tests.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "../../process.h"

namespace memprof::cli::testing_tools {

// Runs until its standard input ends.
class TargetProcess {
 public:
  explicit TargetProcess(const std::vector<std::string>& arguments, const std::string& program = "attached") {
    int in[2] = {-1, -1};
    int out[2] = {-1, -1};
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      std::vector<std::string> words = arguments;
      words.insert(words.begin(), program[0] == '/' ? program : fixture(program));
      std::vector<char*> pointers;
      for (std::string& word : words) pointers.push_back(word.data());
      pointers.push_back(nullptr);
      execv(pointers[0], pointers.data());
      _exit(99);
    }
    close(in[0]);
    close(out[1]);
    in_ = in[1];
    out_ = out[0];
    EXPECT_EQ(read_line(), "ready\n");
  }
  ~TargetProcess() {
    if (in_ >= 0) finish();
    close(out_);
  }
  TargetProcess(const TargetProcess&) = delete;
  TargetProcess& operator=(const TargetProcess&) = delete;

  uint64_t pid() const { return static_cast<uint64_t>(pid_); }

  // Ends it; what it printed at last, and "" where it did not end by itself.
  std::string finish() {
    close(in_);
    in_ = -1;
    const std::string said = read_line();
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? said.substr(0, 2) : "ended badly: " + said;
  }

 private:
  std::string read_line() const {
    std::string line;
    for (char byte = 0; byte != '\n' && ::read(out_, &byte, 1) == 1;) line += byte;
    return line;
  }

  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
};

// Whether this machine lets a process trace its child.
inline bool can_trace() {
  static const bool can = [] {
    const pid_t child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
    const bool is_traced = ptrace(PTRACE_SEIZE, child, nullptr, nullptr) == 0;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    return is_traced;
  }();
  return can;
}

#define NEEDS_PTRACE() \
  if (!testing_tools::can_trace()) GTEST_SKIP() << "ptrace is refused here"

}  // namespace memprof::cli::testing_tools
