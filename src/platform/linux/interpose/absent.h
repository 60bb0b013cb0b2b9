// SPDX-License-Identifier: Apache-2.0
// What stands in for functions of the family that the allocator behind us lacks (musl has no pvalloc), made of
// those that it has.
#pragma once

#include "platform/linux/interpose/real.h"

namespace memprof::interpose {

// Fills in what is nullptr in `real`, which has at least malloc and free.  Without any function for aligned
// blocks those that give them fail with ENOMEM; realloc without one fails, too, and the block stays.
void complete(Real* real);

}  // namespace memprof::interpose
