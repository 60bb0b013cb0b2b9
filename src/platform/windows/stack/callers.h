// SPDX-License-Identifier: Apache-2.0
// Of stack.cc: who of a module calls a hook.
#pragma once

#include <cstdint>

#include "platform/stack.h"

namespace memprof::platform {

// Was the hook called by `code`, directly or by functions in [start, limit), where it lies as well?  Looks no further than
// the first caller outside of that: mostly at one frame.
bool is_called_within(uint64_t start, uint64_t limit, const KnownCode& code);

}  // namespace memprof::platform
