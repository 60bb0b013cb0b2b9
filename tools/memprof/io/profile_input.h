// SPDX-License-Identifier: Apache-2.0
// Reads a profile for a command and names what has no names yet.
//
// Failure: throws profile::Error.
#pragma once

#include <string>
#include <vector>

#include "profile/model/model.h"
#include "profile/symbolize/shared_names.h"

namespace memprof::cli {

// Whether debuginfod servers may be asked (those in DEBUGINFOD_URLS; nobody is while it is not set).
enum class AskServers { kNo, kYes };

// A series as some of its looks, evenly over its time, the one to judge it by last
// (profile/series/series_choice.h).
struct SeriesLooks {
  std::vector<profile::Profile> profiles;  // by time, with names; at most kMostSeriesLooks
  size_t later = 0;                        // looks of the series after the last of these
};
inline constexpr size_t kMostSeriesLooks = 24;
SeriesLooks load_series(const std::string& path, AskServers ask_servers);

// Without names for what has none.  `path` may be the arena of a process, or a series: its last look then, or
// with FILE@MOMENT (profile/series/series_moment.h) the one of that moment; which one is printed.
profile::Profile read_profile(const std::string& path);

// `path` may be `-`, standard input, or the arena of a process.  Warnings are printed.
profile::Profile load_profile(const std::string& path, AskServers ask_servers);

// Names, and prints the warnings, few of many.
void add_names(profile::Profile& profile, AskServers ask_servers);

// The same for many profiles at once.
void add_names(profile::SharedNames& names, AskServers ask_servers);

// The path that means the look of a series at a moment.  `option`, which gave the moment, stands in messages.
std::string look_of_file(const std::string& option, const std::string& path, const std::string& moment);

// Names of JIT code only: the files that have them vanish.
// `folder`: where they are; empty: the usual places.
void add_jit_names(profile::Profile& profile, const std::string& folder = {});

// Whether the file has the metric; else throws Failure with those that it has.
void require_metric(const profile::Profile& profile, profile::Metric metric, const std::string& path);

}  // namespace memprof::cli
