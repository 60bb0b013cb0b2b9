// SPDX-License-Identifier: Apache-2.0
// What the system is, which of the calls that memprof uses it allows, and the limits that programs inherit.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <string>

namespace memprof::cli {

// "Linux 6.1.0"
std::string kernel_name();

// "2.36"
std::string c_library_version();

// Each was tried: the kernel may not know it, or a sandbox forbid it.  `maps`: without it nothing else is tried.
struct KernelCalls {
  bool maps = false;           // mmap
  bool populates = false;      // MADV_POPULATE_WRITE
  bool adds = false;           // FUTEX_WAKE_OP
  bool wipes_on_fork = false;  // MADV_WIPEONFORK
  bool reads_process = false;  // process_vm_readv
};
KernelCalls try_kernel_calls();

// `ulimit -f` and `ulimit -v`; UINT64_MAX: no limit.
uint64_t file_size_limit();
uint64_t address_space_limit();

}  // namespace memprof::cli
