// SPDX-License-Identifier: Apache-2.0
// Code is not followed yet.
#include "platform/code/code_rule.h"

namespace memprof::platform {

bool find_code_rule(uint64_t, const CodeRange&, bool (*)(uint64_t), unwind::Rule*) {
  return false;
}

}  // namespace memprof::platform
