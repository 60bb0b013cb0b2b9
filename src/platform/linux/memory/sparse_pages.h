// SPDX-License-Identifier: Apache-2.0
// Where the pieces of an arena lie (platform/memory.h, map_pieces).
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/memory.h"

namespace memprof::platform {

// map_pieces of a file that is open; file -1: of private memory.
void* place_pieces(int file, size_t size_bytes, const Piece* pieces, uint32_t count);

}  // namespace memprof::platform
