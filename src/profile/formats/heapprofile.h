// SPDX-License-Identifier: Apache-2.0
// Writes one metric of a profile as a sampling heap profile of V8 (`.heapprofile`), for Chrome DevTools (Memory,
// "Load profile") and Visual Studio Code.
// Format: HeapProfiler.SamplingHeapProfile of the DevTools protocol.
//
// Threads: no state.
#pragma once

#include <string>

#include "profile/model/model.h"
#include "profile/names/frame_grouping.h"

namespace memprof::profile {

// What is below zero (a difference of profiles) is left out.
std::string write_heapprofile(const Profile& profile, Metric metric, GroupBy by = GroupBy::kFunction);

}  // namespace memprof::profile
