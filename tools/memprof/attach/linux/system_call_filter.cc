// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/system_call_filter.h"

#include <sys/ptrace.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "memprof/attach/linux/library_calls.h"
#include "memprof/attach/linux/processor/processor.h"
#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

// The value that an instruction loads from the call; false: not in it.
bool load(const sock_filter& instruction, const seccomp_data& call, uint32_t* value) {
  if (instruction.k % sizeof(*value) != 0 || instruction.k + sizeof(*value) > sizeof(call)) return false;
  memcpy(value, reinterpret_cast<const char*>(&call) + instruction.k, sizeof(*value));
  return true;
}

constexpr char kWayOut[] = "; start it without that filter, or attach with --force where you know it";

uint32_t calculate(uint16_t operation, uint32_t a, uint32_t b) {
  switch (operation) {
    case BPF_ADD:
      return a + b;
    case BPF_SUB:
      return a - b;
    case BPF_MUL:
      return a * b;
    case BPF_DIV:
      return b != 0 ? a / b : 0;
    case BPF_AND:
      return a & b;
    case BPF_OR:
      return a | b;
    case BPF_XOR:
      return a ^ b;
    case BPF_LSH:
      return b < 32 ? a << b : 0;
    case BPF_RSH:
      return b < 32 ? a >> b : 0;
    default:
      return 0 - a;  // BPF_NEG
  }
}

bool is_true(uint16_t operation, uint32_t a, uint32_t b) {
  switch (operation) {
    case BPF_JEQ:
      return a == b;
    case BPF_JGT:
      return a > b;
    case BPF_JGE:
      return a >= b;
    default:
      return (a & b) != 0;  // BPF_JSET
  }
}

// What a filter has the kernel do; nullptr: the call is made as it is.
const char* what_happens(uint32_t result) {
  switch (result & SECCOMP_RET_ACTION_FULL) {
    case SECCOMP_RET_ALLOW:
    case SECCOMP_RET_LOG:
      return nullptr;
    case SECCOMP_RET_ERRNO:
      return "refuses ";
    case SECCOMP_RET_TRACE:
    case SECCOMP_RET_USER_NOTIF:
      return "has another process decide on ";
    case SECCOMP_RET_TRAP:
      return "raises SIGSYS for ";
    default:
      return "ends it for ";
  }
}

// Of a thread: how many filters it has; "0": none.  "?": the kernel does not say how many (before 5.9).
std::string filters_of(uint64_t pid, uint64_t thread) {
  const std::string task = std::to_string(pid) + "/task/" + std::to_string(thread);
  std::ifstream status("/proc/" + task + "/status");
  std::string mode;
  std::string count = "?";
  for (std::string line; std::getline(status, line);) {
    const size_t value = line.find_first_not_of(" \t", line.find(':') + 1);
    if (value == std::string::npos) continue;
    if (line.rfind("Seccomp:", 0) == 0) mode = line.substr(value);
    if (line.rfind("Seccomp_filters:", 0) == 0) count = line.substr(value);
  }
  return mode == "2" ? count : "0";
}

// Hooks run in every thread, and each may have filters of its own.
void check_other_threads(const Target& target, const std::string& checked) {
  std::error_code ignored;
  const std::string tasks = "/proc/" + std::to_string(target.pid) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks, ignored)) {
    const uint64_t id = std::strtoull(task.path().filename().c_str(), nullptr, 10);
    const std::string filters = filters_of(target.pid, id);
    if (filters == checked || filters == "0") continue;
    throw Failure("attach: " + target.shown + " has a thread (" + std::to_string(id) +
                      ") with a filter of system calls (seccomp) of its own, which could end it" + kWayOut,
                  kRefused);
  }
}

}  // namespace

uint32_t filter_result(const std::vector<sock_filter>& filter, const seccomp_data& call) {
  uint32_t a = 0, x = 0;
  uint32_t memory[BPF_MEMWORDS] = {};
  for (size_t at = 0; at < filter.size(); ++at) {
    const sock_filter& i = filter[at];
    const uint32_t operand = BPF_SRC(i.code) == BPF_X ? x : i.k;
    uint32_t* const to = BPF_CLASS(i.code) == BPF_LDX ? &x : &a;
    switch (BPF_CLASS(i.code)) {
      case BPF_LD:
      case BPF_LDX:
        if (BPF_MODE(i.code) == BPF_IMM) {
          *to = i.k;
        } else if (BPF_MODE(i.code) == BPF_LEN) {
          *to = sizeof(call);
        } else if (BPF_MODE(i.code) == BPF_MEM && i.k < BPF_MEMWORDS) {
          *to = memory[i.k];
        } else if (BPF_MODE(i.code) != BPF_ABS || !load(i, call, to)) {
          return SECCOMP_RET_KILL_PROCESS;
        }
        break;
      case BPF_ST:
      case BPF_STX:
        if (i.k >= BPF_MEMWORDS) return SECCOMP_RET_KILL_PROCESS;
        memory[i.k] = BPF_CLASS(i.code) == BPF_ST ? a : x;
        break;
      case BPF_ALU:
        a = calculate(BPF_OP(i.code), a, operand);
        break;
      case BPF_JMP:
        if (BPF_OP(i.code) == BPF_JA) {
          at += i.k;
        } else {
          at += is_true(BPF_OP(i.code), a, operand) ? i.jt : i.jf;
        }
        break;
      case BPF_RET:
        return BPF_RVAL(i.code) == BPF_A ? a : i.k;
      default:  // BPF_MISC
        if (BPF_MISCOP(i.code) == BPF_TAX) {
          x = a;
        } else {
          a = x;
        }
    }
  }
  return SECCOMP_RET_KILL_PROCESS;
}

namespace {

template <size_t kCount>
std::string altered_of(const LibraryCall (&calls)[kCount], const std::vector<sock_filter>& filter) {
  for (const LibraryCall& each : calls) {
    seccomp_data call{};
    call.nr = static_cast<int>(each.number);
    call.arch = processor::audit_architecture();
    for (const LibraryCall::Argument& argument : each.arguments) {
      if (argument.index >= 0) call.args[argument.index] = argument.value;
    }
    const char* what = what_happens(filter_result(filter, call));
    if (what != nullptr) return std::string(what) + each.name;
  }
  return {};
}

}  // namespace

std::string altered_call(const std::vector<sock_filter>& filter, bool is_musl) {
  const std::string altered = altered_of(kLibraryCalls, filter);
  return altered.empty() && is_musl ? altered_of(kMuslCalls, filter) : altered;
}

void check_filters(const Target& target, const TracedThread& thread) {
  const std::string count = filters_of(target.pid, static_cast<uint64_t>(thread.id()));
  check_other_threads(target, count);
  if (count == "0") return;
  const auto own = static_cast<uint64_t>(getpid());
  if (count != "?" && count == filters_of(own, own)) return;
  for (size_t number = 0;; ++number) {
    const long length = ptrace(PTRACE_SECCOMP_GET_FILTER, thread.id(), number, nullptr);
    if (length < 0 && errno == ENOENT) return;
    std::vector<sock_filter> filter(static_cast<size_t>(std::max(length, 0L)));
    if (length < 0 || ptrace(PTRACE_SECCOMP_GET_FILTER, thread.id(), number, filter.data()) < 0) {
      throw Failure(
          "attach: " + target.shown +
              " has a filter of system calls (seccomp) that cannot be read from here, and could end it" +
              "; try as root, or with --force where you know that it allows mmap, mprotect, openat, "
              "ftruncate and madvise",
          kRefused);
    }
    const std::string altered = altered_call(filter, target.musl.has_value());
    if (altered.empty()) continue;
    throw Failure(
        "attach: " + target.shown + " has a filter of system calls (seccomp) that " + altered + kWayOut,
        kRefused);
  }
}

}  // namespace memprof::cli
