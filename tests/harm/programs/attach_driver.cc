// SPDX-License-Identifier: Apache-2.0
// Attaches as the command does, and does something wrong at one step of it:
//   attach_driver LIBRARY PID start|stop FAULT STEP LOOKS
// FAULT: none | kill (itself) | late (so long that the thread leaves) | stopped (by SIGSTOP, likewise) | signal (SIGUSR1 to the process) |
// pause (SIGSTOP and SIGCONT to it) | end (SIGKILL to it).  LOOKS: how often the thread looks for the command (CallTimes), 0 as ever.
// Exits 0: it was done; 1: refused, with the reason; 2: it was not what it should be.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "memprof/attach/attach.h"
#include "memprof/console/failure.h"

namespace {

using memprof::cli::AttachOptions;

// This process, all of it, stands still for so long.
void stand_still(unsigned us) {
  const pid_t self = getpid();
  const pid_t child = fork();
  if (child == 0) {
    usleep(us);
    kill(self, SIGCONT);
    _exit(0);
  }
  if (child < 0) return;
  raise(SIGSTOP);
  waitpid(child, nullptr, 0);
}

void go_wrong(const std::string& fault, pid_t target, unsigned late_us) {
  if (fault == "kill") kill(getpid(), SIGKILL);
  if (fault == "late") usleep(late_us);
  if (fault == "stopped") stand_still(late_us);
  if (fault == "signal") kill(target, SIGUSR1);
  if (fault == "pause") {
    kill(target, SIGSTOP);
    kill(target, SIGCONT);
  }
  if (fault == "end") kill(target, SIGKILL);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  const auto target = static_cast<pid_t>(std::atoi(argv[2]));
  const std::string fault = argv[4];
  int left = std::atoi(argv[5]);
  AttachOptions options;
  options.library = argv[1];
  options.rate_bytes = 512;
  options.force = true;
  options.times.looks = static_cast<uint64_t>(std::atoi(argv[6])) != 0
                            ? static_cast<uint64_t>(std::atoi(argv[6]))
                            : options.times.looks;
  const unsigned late_us = static_cast<unsigned>(options.times.looks) * 150 + 5000;
  options.observer = [&](const char*) {
    if (left-- == 0) go_wrong(fault, target, late_us);
  };
  try {
    if (std::string(argv[3]) == "start") {
      attach_and_start(static_cast<uint64_t>(target), options);
    } else {
      attach_and_stop(static_cast<uint64_t>(target), options);
    }
  } catch (const memprof::cli::Failure& failure) {
    std::puts(failure.what());
    return 1;
  } catch (const std::exception& error) {
    std::puts(error.what());
    return 2;
  }
  return 0;
}
