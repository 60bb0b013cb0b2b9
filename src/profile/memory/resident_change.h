// SPDX-License-Identifier: Apache-2.0
// How RSS and its parts went from one profile to another, as text.
#pragma once

#include <cstdint>
#include <string>

#include "format/resident.h"

namespace memprof::profile {

// "33.0 MiB to 41.2 MiB: +8.2 MiB (heap +5.0 MiB, kept free +2.0 MiB, not explained +1.2 MiB); fragmentation 12 % to 19 %";
// where the parts of one are not known, the most that was ever resident: "at most 33.0 MiB to 41.2 MiB: +8.2 MiB"; "": neither
// is known. The most is 0 where it is not known.
std::string resident_change_text(const ResidentMemory& before, uint64_t before_most_bytes,
                                 const ResidentMemory& after, uint64_t after_most_bytes);

}  // namespace memprof::profile
