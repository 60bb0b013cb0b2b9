// SPDX-License-Identifier: Apache-2.0
// Where a writer's bytes go: a function of the caller, which gets them in large pieces and in order.
//
// Failure: `write` returns false when it could not take all of the piece; it is not called again then.
#pragma once

#include <cstddef>

namespace memprof::profile {

struct Sink {
  bool (*write)(void* context, const void* data, size_t size);
  void* context;
};

}  // namespace memprof::profile
