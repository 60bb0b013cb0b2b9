// SPDX-License-Identifier: Apache-2.0
// What comparisons say in words and cells, the same in a terminal, in Markdown and in JUnit.
//
// Threads: no state.
#pragma once

#include <string>

#include "profile/compare/comparison.h"

namespace memprof::profile {

// "+5.1 MiB", "-12"; "0 B".
std::string signed_text(Metric metric, double value);
// "+2.0 MiB to +8.2 MiB"; "exact" where both ends are the value; "?" where nothing is known.
std::string interval_text(Metric metric, const Change& change);
// "+11.3 %"; empty where there was nothing before.
std::string percent_text(const Change& change);
// "0.012", "<1e-6".
std::string p_text(double p);
// A row's name, its place and what stands beside it: "insert (cache.cc:12)", "prices (app.py:4), through PyArray_Empty".
std::string row_text(const FrameGroup& group, const RowNotes& notes = {});

// What a total is called beside all others.
std::string total_title(Metric metric);
// "45.2 MiB -> 50.3 MiB: +5.1 MiB (95 %: +2.0 MiB to +8.2 MiB), +11.3 %, significant (p <1e-6)".
std::string total_text(const Comparison& comparison, Metric metric);
// "214 other functions did not change significantly: +1.2 MiB together."; empty where there are none.
std::string others_text(const Comparison& comparison);
// How it was tested, and what that means.
std::string method_text(const Comparison& comparison);
// "server (pid 12), 2026-11-23 01:02:03 UTC, after 3.1 s; rate 512 KiB, 1,234 samples", or of several files.
std::string side_text(const ComparedSide& side);

// What rows are called: "function", "lines" ...
std::string row_name(GroupBy by, size_t count);

}  // namespace memprof::profile
