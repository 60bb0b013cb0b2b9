// SPDX-License-Identifier: Apache-2.0
// For a command that carries no libraries.  A member of an archive: what one_file/ has comes in its place.
#include "memprof/host/program/carried_libraries.h"

namespace memprof::cli {

const Carried& carried_by_this_command() {
  static constexpr Carried kNothing{"", nullptr, 0};
  return kNothing;
}

}  // namespace memprof::cli
