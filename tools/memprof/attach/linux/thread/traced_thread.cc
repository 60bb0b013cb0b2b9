// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/thread/traced_thread.h"

#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cerrno>
#include <ctime>
#include <utility>

#include "memprof/attach/linux/thread/thread_facts.h"

namespace memprof::cli {
namespace {

constexpr int kSystemCallStop = SIGTRAP | 0x80;
constexpr uint64_t kMaskBytes = 8;

long trace(int request, pid_t thread, uint64_t address, void* data) {
  return ptrace(static_cast<__ptrace_request>(request), thread, address, data);
}

long trace(int request, pid_t thread, uint64_t address, int64_t data) {
  return ptrace(static_cast<__ptrace_request>(request), thread, address, data);
}

sigset_t child_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  return set;
}

// Until a child has something to tell, or so long.
void wait_for_child(int64_t ns) {
  const sigset_t set = child_signal();
  const timespec time{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  sigtimedwait(&set, nullptr, &time);
}

}  // namespace

int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

TracedThread::TracedThread(pid_t thread) : thread_(thread) {
  // An ignored SIGCHLD would not be sent for stops.
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &action, nullptr);
  const sigset_t set = child_signal();
  sigprocmask(SIG_BLOCK, &set, &signals_before_);
  if (trace(PTRACE_SEIZE, thread, 0, int64_t{PTRACE_O_TRACESYSGOOD}) != 0) error_ = errno;
  is_gone_ = error_ != 0;
}

TracedThread::~TracedThread() {
  detach();
  sigprocmask(SIG_SETMASK, &signals_before_, nullptr);
}

void TracedThread::detach() {
  if (is_gone_) return;
  constexpr int64_t kDetachNs = 1'000'000'000;
  // From an event: behind other stops a system call would end with EINTR.
  if (!is_stopped_) {
    interrupt(kDetachNs);
  } else if (!is_event_) {
    to_event(kDetachNs);
  }
  if (is_stopped_) {
    end_call_if_signalled();
    trace(PTRACE_DETACH, thread_, 0, int64_t{0});
  }
  is_gone_ = true;
}

bool TracedThread::resume_as(Resume how, int signal) {
  end_call_if_signalled();
  is_stopped_ = false;
  return trace(how == Resume::kRun ? PTRACE_CONT : PTRACE_SYSCALL, thread_, 0, int64_t{signal}) == 0;
}

bool TracedThread::resume() {
  return resume_as(Resume::kRun, 0);
}

TracedThread::Stop TracedThread::wait_while(Resume how, int64_t timeout_ns) {
  const int64_t end = monotonic_ns() + timeout_ns;
  while (!is_gone_) {
    int status = 0;
    const pid_t got = waitpid(thread_, &status, __WALL | WNOHANG);
    if (got == 0) {
      const int64_t left = end - monotonic_ns();
      if (left <= 0) return Stop::kTimeout;
      wait_for_child(left);
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 || WIFEXITED(status) || WIFSIGNALED(status)) {
      is_gone_ = true;
      break;
    }
    is_stopped_ = true;
    is_event_ = false;
    const int signal = WSTOPSIG(status);
    const int event = status >> 16;
    if (event == PTRACE_EVENT_STOP && signal == SIGTRAP) {
      is_event_ = true;
      repeat_interrupted_call();
      return Stop::kEvent;
    }
    if (event == PTRACE_EVENT_STOP) {
      is_event_ = true;
      return Stop::kGroup;
    }
    if (signal == kSystemCallStop) {
      if (how == Resume::kToSystemCall) return Stop::kSystemCall;
    } else if (event == 0) {
      resume_as(how, signal);
      continue;
    }
    resume_as(how, 0);
  }
  return Stop::kGone;
}

// Where it has to be known what the thread waits in, a moment in which it waits is looked for, so long.
long TracedThread::ask_for_event(int64_t patience_ns) {
  if (!processor::needs_waiting_call()) return trace(PTRACE_INTERRUPT, thread_, 0, int64_t{0});
  const int64_t end = monotonic_ns() + patience_ns;
  while (true) {
    const WaitLook look(thread_);
    if (!look.is_waiting() && monotonic_ns() < end) {
      const timespec time{0, 50'000};
      nanosleep(&time, nullptr);
      continue;
    }
    const long result = trace(PTRACE_INTERRUPT, thread_, 0, int64_t{0});
    waits_in_ = look.call();
    return result;
  }
}

void TracedThread::repeat_interrupted_call() {
  processor::WaitingCall was;
  std::swap(was, waits_in_);
  repeats_call_ = false;
  // The stop is a sleep, too.
  if (was.number >= 0 && sleeps_of(thread_) != was.sleeps + 1) was.number = -1;
  processor::Registers registers;
  if (!processor::read_registers(thread_, &registers)) return;
  const processor::Repeat repeat = processor::repeat_interrupted_call(&registers, was);
  if (repeat == processor::Repeat::kNone || !processor::write_registers(thread_, registers)) return;
  repeats_call_ = repeat == processor::Repeat::kAlways;
}

bool TracedThread::take_repeated_call() {
  return std::exchange(repeats_call_, false);
}

void TracedThread::end_call_if_signalled() {
  processor::Registers registers;
  if (!take_repeated_call() || !has_signal_for_handler(thread_) ||
      !processor::read_registers(thread_, &registers)) {
    return;
  }
  processor::end_repeated_call(&registers);
  processor::write_registers(thread_, registers);
}

void TracedThread::ask_to_stop() {
  if (!is_gone_) ask_for_event(0);
}

TracedThread::Stop TracedThread::interrupt(int64_t timeout_ns) {
  constexpr int64_t kPatienceNs = 10'000'000;
  if (is_gone_ || ask_for_event(is_stopped_ ? 0 : kPatienceNs) != 0) return Stop::kGone;
  return wait_while(Resume::kRun, timeout_ns);
}

TracedThread::Stop TracedThread::to_event(int64_t timeout_ns) {
  if (is_gone_ || ask_for_event(0) != 0 || !resume()) return Stop::kGone;
  return wait_while(Resume::kRun, timeout_ns);
}

TracedThread::Stop TracedThread::to_system_call(int64_t timeout_ns) {
  while (true) {
    if (is_gone_ || !resume_as(Resume::kToSystemCall, 0)) return Stop::kGone;
    const Stop stop = wait_while(Resume::kToSystemCall, timeout_ns);
    // An event that was asked for before and comes only now.
    if (stop != Stop::kEvent) return stop;
  }
}

TracedThread::Stop TracedThread::wait(int64_t timeout_ns) {
  return wait_while(Resume::kRun, timeout_ns);
}

bool TracedThread::signal_mask(uint64_t* mask) const {
  return trace(PTRACE_GETSIGMASK, thread_, kMaskBytes, mask) == 0;
}

bool TracedThread::set_signal_mask(uint64_t mask) const {
  return trace(PTRACE_SETSIGMASK, thread_, kMaskBytes, &mask) == 0;
}

bool TracedThread::is_in_restartable_sequence() const {
  __ptrace_rseq_configuration rseq{};
  if (trace(PTRACE_GET_RSEQ_CONFIGURATION, thread_, sizeof(rseq), &rseq) <= 0) return false;
  if (rseq.rseq_abi_pointer == 0) return false;
  constexpr uint64_t kSequenceAt = 8;  // struct rseq's rseq_cs
  errno = 0;
  const long sequence = ptrace(PTRACE_PEEKDATA, thread_, rseq.rseq_abi_pointer + kSequenceAt, nullptr);
  return errno == 0 && sequence != 0;
}

}  // namespace memprof::cli
