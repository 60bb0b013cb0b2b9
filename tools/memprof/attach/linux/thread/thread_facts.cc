// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/thread/thread_facts.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "memprof/attach/linux/target/survey.h"
#include "memprof/host/linux/process/proc_path.h"

namespace memprof::cli {
namespace {

std::ifstream fact(uint64_t process, pid_t thread, const char* name) {
  return std::ifstream(proc_path(process, "task/" + std::to_string(thread) + "/" + name));
}

}  // namespace

std::vector<pid_t> threads_of(uint64_t process) {
  std::vector<pid_t> found;
  std::error_code error;
  std::filesystem::directory_iterator at(proc_path(process, "task"), error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    found.push_back(static_cast<pid_t>(std::atoi(at->path().filename().c_str())));
  }
  return found;
}

uint64_t used_ns(uint64_t process, pid_t thread) {
  uint64_t used = 0;
  fact(process, thread, "schedstat") >> used;
  return used;
}

uint64_t sleeps_of(pid_t thread) {
  const std::string count = status_field(static_cast<uint64_t>(thread), "voluntary_ctxt_switches");
  return count.empty() ? 0 : std::stoull(count);
}

WaitLook::WaitLook(pid_t thread) : sleeps_(sleeps_of(thread)) {
  const int file = open(proc_path(static_cast<uint64_t>(thread), "syscall").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  const ssize_t bytes = read(file, text_, sizeof(text_) - 1);
  text_[bytes > 0 ? bytes : 0] = '\0';
  close(file);
}

// NUMBER 0xARGUMENT (six of them) 0xSTACK 0xCODE, or "running", or "-1 0xSTACK 0xCODE" where it waits in no call.
processor::WaitingCall WaitLook::call() const {
  processor::WaitingCall call;
  call.sleeps = sleeps_;
  std::istringstream text(text_);
  long number = -1;
  if (!(text >> number) || number < 0) return call;
  text >> std::hex;
  for (uint64_t& argument : call.arguments) text >> argument;
  if (text >> call.stack_pointer >> call.program_counter) call.number = number;
  return call;
}

bool has_signal_for_handler(pid_t thread) {
  const auto id = static_cast<uint64_t>(thread);
  const auto set = [&](const char* name) {
    const std::string text = status_field(id, name);
    return text.empty() ? 0 : std::stoull(text, nullptr, 16);
  };
  return ((set("SigPnd") | set("ShdPnd")) & set("SigCgt") & ~set("SigBlk")) != 0;
}

ThreadState state_of(uint64_t process, pid_t thread) {
  std::ifstream file = fact(process, thread, "stat");
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream rest(line.substr(name_end + 1));
  ThreadState state;
  std::string parent, group, session, terminal, foreground;
  rest >> state.letter >> parent >> group >> session >> terminal >> foreground >> state.flags;
  return state;
}

bool ThreadState::executes_nothing() const {
  constexpr uint64_t kIoWorker = 0x10;  // PF_IO_WORKER
  return letter == 'Z' || letter == 'X' || (flags & kIoWorker) != 0;
}

bool ThreadState::is_under_way() const {
  return strchr("RDTt", letter) != nullptr;
}

}  // namespace memprof::cli
