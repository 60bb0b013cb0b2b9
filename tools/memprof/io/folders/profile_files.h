// SPDX-License-Identifier: Apache-2.0
// The profiles in folders: what `memprof ship --to /FOLDER` wrote, of any number of hosts.
//
// Failure: throws Failure.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace memprof::cli {

bool is_folder(const std::string& path);

// Of folders the files in them, at any depth, whose names end in .pb.gz; others as they are.  By name, each once.
std::vector<std::string> profile_files(const std::vector<std::string>& given);

// Calls `read` for each of profile_files().  One of which it throws profile::Error, because it is damaged or no such
// profile, is left out; the first of these are named.  Throws Failure "`none`" where all are.
void read_each(const std::vector<std::string>& given, const std::string& none,
               const std::function<void(const std::string& path)>& read);

}  // namespace memprof::cli
