// SPDX-License-Identifier: Apache-2.0
// The images (executable, dylibs, bundles) that are loaded, in a list of our own: dyld tells of each one that comes and goes.
//
// Threads: dyld tells under its lock, so there is one writer; readers take no lock.  An entry that is written anew while it is
// read counts as not there.
// Allocates: never.  Failure: images beyond kMaxImages are not known, and what lies in them has no module.
#pragma once

#include <atomic>
#include <cstdint>

#include "platform/modules.h"

namespace memprof::platform {

inline constexpr uint32_t kMaxImages = 8192;

// Has dyld tell of images, from those that are there on.  Once; must not be called from a hook.
void follow_images();

// The image whose code `address` lies in.  May be called from a hook.
bool find_image(uint64_t address, ModuleInfo* info);

// Is it code of this library's, or of the functions of libmalloc that call it?
bool is_allocators_code(uint64_t address);

}  // namespace memprof::platform
