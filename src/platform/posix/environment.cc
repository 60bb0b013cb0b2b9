// SPDX-License-Identifier: Apache-2.0
#include "platform/posix/environment.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "platform/process.h"

extern "C" char** environ;  // some systems declare it only on request

namespace memprof::platform {

const char* environment(const char* name) {
  return environ != nullptr && !is_privileged() ? getenv(name) : nullptr;
}

void forget_environment() {
  constexpr char kOurs[] = "MEMPROF_";
  char** kept = environ;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (strncmp(*entry, kOurs, sizeof(kOurs) - 1) != 0) {
      *kept++ = *entry;
    }
  }
  if (kept != nullptr) {
    *kept = nullptr;
  }
}

}  // namespace memprof::platform
