// SPDX-License-Identifier: Apache-2.0
// Code is not moved yet.
#include "platform/code/relocation.h"

namespace memprof::platform {

bool reaches(const uint8_t*, size_t, uint64_t, const uint64_t*, size_t) {
  return false;
}

Relocation relocate(const uint8_t*, size_t, uint64_t, uint64_t) {
  Relocation r;
  r.refusal = Refusal::kUnsupported;
  return r;
}

}  // namespace memprof::platform
