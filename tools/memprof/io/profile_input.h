// SPDX-License-Identifier: Apache-2.0
// Reads a profile for a command and names what has no names yet.
//
// Failure: throws profile::Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "memprof/io/http/http_access.h"
#include "profile/model/model.h"
#include "profile/series/series_choice.h"
#include "profile/series/series_file.h"
#include "profile/symbolize/shared_names.h"

namespace memprof::cli {

// Whether debuginfod servers may be asked (those in DEBUGINFOD_URLS; nobody is while it is not set).
enum class AskServers { kNo, kYes };

// A series as some of its looks, evenly over its time, the one to judge it by last
// (profile/series/series_choice.h).
class SeriesLooks {
 public:
  SeriesLooks(const std::string& path, AskServers ask_servers);

  size_t count() const { return choice_.looks.size(); }  // at most kMax
  size_t later() const { return choice_.later; }         // looks of the series after the last of these
  uint64_t time_unix_ns(size_t index) const { return choice_.looks[index]->time_unix_ns; }
  // By time, with names; read anew with each call.
  profile::Profile look(size_t index);

  static constexpr size_t kMax = 24;

 private:
  profile::SeriesReader reader_;
  profile::SeriesChoice choice_;
  AskServers ask_servers_;
};

// Without names for what has none.  `path` may be `-`, standard input (once), an address of HTTP, the arena of
// a process, a question to a Pyroscope (pyroscope/pyroscope_query.h), or a series: its last look then, or with FILE@MOMENT (profile/series/series_moment.h) the one of that moment;
// which one is printed.
profile::Profile read_profile(const std::string& path, const HttpAccess& access = {});

// The same, with names.  Warnings are printed.
// `access`: to servers.  `sample_type`: of a pprof file by others only this one (--sample-type); empty: those that are of memory.
profile::Profile load_profile(const std::string& path, AskServers ask_servers,
                              const std::string& sample_type = "", const HttpAccess& access = {});

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

// Prints what the values of a profile are, where it says so (profile/view/origin.h): for outputs that do not.
void say_origin(const profile::Profile& profile, const std::string& path);

}  // namespace memprof::cli
