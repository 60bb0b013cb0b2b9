// SPDX-License-Identifier: Apache-2.0
// Writes a profile as DHAT's JSON (`.dhat.json`), for valgrind's dh_view.html and the Firefox Profiler.
// Format: version 2 of what valgrind 3.19 writes (its dh_main.c), mode "heap".
//
// Model: what DHAT calls t-gmax is the peak, t-end is when the profile was made.  A site's own maximum is not known:
// the larger of these two stands for it.  Lifetimes are those of blocks that were freed; where none was, the
// length of the run.
// Threads: no state.
#pragma once

#include <string>

#include "profile/model/model.h"

namespace memprof::profile {

// What is below zero (a difference of profiles) is left out.
std::string write_dhat(const Profile& profile);

}  // namespace memprof::profile
