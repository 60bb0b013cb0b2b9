// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/system_call_filter.h"

#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "memprof/attach/processor/processor.h"
#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

struct Call {
  long number;
  const char* name;
  uint64_t third = 0;  // argument: what is looked at of mmap and mprotect
};

// What loading the library and memprof_start do, and the hooks afterwards.
constexpr Call kCalls[] = {{SYS_mmap, "mmap", PROT_READ | PROT_EXEC},
                           {SYS_mmap, "mmap", PROT_READ | PROT_WRITE},
                           {SYS_munmap, "munmap"},
                           {SYS_mprotect, "mprotect", PROT_READ},
                           {SYS_openat, "openat"},
                           {SYS_read, "read"},
                           {SYS_pread64, "pread64"},
                           {SYS_close, "close"},
                           {SYS_fstat, "fstat"},
                           {SYS_newfstatat, "newfstatat"},
                           {SYS_ftruncate, "ftruncate"},
                           {SYS_madvise, "madvise"},
                           {SYS_rt_sigprocmask, "rt_sigprocmask"},
                           {SYS_rt_sigreturn, "rt_sigreturn"},
                           {SYS_rt_sigtimedwait, "rt_sigtimedwait"},
                           {SYS_sigaltstack, "sigaltstack"},
                           {SYS_gettid, "gettid"},
                           {SYS_getpid, "getpid"},
                           {SYS_futex, "futex"},
                           {SYS_process_vm_readv, "process_vm_readv"}};

// The value that an instruction loads from the call; false: not in it.
bool load(const sock_filter& instruction, const seccomp_data& call, uint32_t* value) {
  if (instruction.k % sizeof(*value) != 0 || instruction.k + sizeof(*value) > sizeof(call)) return false;
  memcpy(value, reinterpret_cast<const char*>(&call) + instruction.k, sizeof(*value));
  return true;
}

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

bool ends_the_process(uint32_t result) {
  const uint32_t action = result & SECCOMP_RET_ACTION_FULL;
  return action == SECCOMP_RET_KILL_PROCESS || action == SECCOMP_RET_KILL_THREAD;
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

const char* fatal_call(const std::vector<sock_filter>& filter) {
  for (const Call& each : kCalls) {
    seccomp_data call{};
    call.nr = static_cast<int>(each.number);
    call.arch = processor::audit_architecture();
    call.args[2] = each.third;
    if (ends_the_process(filter_result(filter, call))) return each.name;
  }
  return nullptr;
}

void check_filters(const Target& target, const TracedThread& thread) {
  if (status_field(target.pid, "Seccomp") != "2") return;
  const std::string count = status_field(target.pid, "Seccomp_filters");
  if (!count.empty() && count == status_field(static_cast<uint64_t>(getpid()), "Seccomp_filters")) return;
  constexpr char kWayOut[] = "; start it without that filter, or attach with --force where you know it";
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
    if (const char* name = fatal_call(filter); name != nullptr) {
      throw Failure("attach: " + target.shown + " has a filter of system calls (seccomp) that ends it for " +
                        name + kWayOut,
                    kRefused);
    }
  }
}

}  // namespace memprof::cli
