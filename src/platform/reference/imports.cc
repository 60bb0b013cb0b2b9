// SPDX-License-Identifier: Apache-2.0
// No hooks (platform/imports.h): only what a program reports itself is recorded.
#include "platform/imports.h"

namespace memprof::platform {

bool patch_imports() {
  return false;
}

bool prepare_imports() {
  return false;
}

}  // namespace memprof::platform
