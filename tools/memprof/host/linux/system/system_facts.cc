// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/system/system_facts.h"

#include <gnu/libc-version.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace memprof::cli {
namespace {

constexpr int kWipeOnFork = 18;     // MADV_WIPEONFORK, Linux 4.14
constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, Linux 5.14

uint64_t limit_of(__rlimit_resource resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return limit.rlim_cur;
}

}  // namespace

std::string kernel_name() {
  utsname system{};
  uname(&system);
  return std::string(system.sysname) + " " + system.release;
}

std::string c_library_version() {
  return gnu_get_libc_version();
}

KernelCalls try_kernel_calls() {
  KernelCalls calls;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* memory = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  calls.maps = memory != MAP_FAILED;
  if (!calls.maps) return calls;
  calls.populates = madvise(memory, page, kPopulateWrite) == 0;
  calls.wipes_on_fork = madvise(memory, page, kWipeOnFork) == 0;
  uint32_t mine = 0;
  calls.adds = syscall(SYS_futex, &mine, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, nullptr, memory,
                       FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0)) >= 0;
  char from = 1;
  char to = 0;
  const iovec source{&from, 1};
  const iovec target{&to, 1};
  calls.reads_process = process_vm_readv(getpid(), &target, 1, &source, 1, 0) == 1;
  munmap(memory, page);
  return calls;
}

uint64_t file_size_limit() {
  return limit_of(RLIMIT_FSIZE);
}

uint64_t address_space_limit() {
  return limit_of(RLIMIT_AS);
}

}  // namespace memprof::cli
