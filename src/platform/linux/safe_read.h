// SPDX-License-Identifier: Apache-2.0
// Reads memory that may not be there.
//
// Threads, signals: any; errno is kept.
// Allocates: never.
// Failure: false; never a fault, but where a sandbox forbids process_vm_readv and another thread unmaps the
// page between the question and the read.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::platform {

bool read_memory(uint64_t address, void* bytes, size_t size_bytes);

}  // namespace memprof::platform
