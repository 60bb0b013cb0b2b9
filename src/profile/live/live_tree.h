// SPDX-License-Identifier: Apache-2.0
// How much more the calls of a tree hold than at an earlier look.
//
// Model: a call is known by the names, files and modules from the root down to it (by line: and lines), as a hash of
// 64 bits.  Of the earlier look every call is kept: what was too little to be shown then may have grown.
//
// Threads: plain values.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "profile/report/report.h"

namespace memprof::profile {

// Estimates are sums of fractions: what differs by less than half a byte is the same.
double growth_between(double before, double after);

// Of the report's metric, by call.
using CallValues = std::unordered_map<uint64_t, double>;

// Of a report with a tree that has no limits; without one: empty.
CallValues call_values(const Report& report);

// Of each node of the report's tree.
std::vector<double> tree_growth(const CallValues& before, const Report& now);

}  // namespace memprof::profile
