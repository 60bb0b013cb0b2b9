// SPDX-License-Identifier: Apache-2.0
// src/runtime/registry.cc with the toy's line.
#include "runtime/registry.h"

#include "runtime/cpython/runtime.h"
#include "tests/runtime/toy/toy_runtime.h"

namespace memprof::runtimes {

const Runtime* const kRegistry[] = {
    &cpython::kRuntime,
    &toy::kRuntime,
};
const uint32_t kRegistrySize = sizeof(kRegistry) / sizeof(kRegistry[0]);

}  // namespace memprof::runtimes
