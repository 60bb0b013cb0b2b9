// SPDX-License-Identifier: Apache-2.0
// The built page, src/profile/page/built/page.html, inside the program: CMake makes the bytes of it.
//
// Threads: constant.
#pragma once

#include <cstddef>

namespace memprof::profile {

extern const unsigned char kPageTemplate[];
extern const size_t kPageTemplateSize;

}  // namespace memprof::profile
