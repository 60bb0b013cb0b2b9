// SPDX-License-Identifier: Apache-2.0
// Where a file of Windows is on this machine: in a folder that wine has for its drives.
//
// Threads: no state.
#pragma once

#include <string>
#include <vector>

namespace memprof::profile {

// "C:\..." or "C:/...".
bool is_windows_path(const std::string& path);

// Folders of wine in which to look for its drives ($WINEPREFIX, else ~/.wine): the folder dosdevices of each.
std::vector<std::string> wine_drives();

// Names are looked up as Windows does it, whatever the case of their letters.  Drive z: is this machine's root where `drives`
// say nothing of it.  Empty: it is not here.
std::string find_windows_file(const std::string& path, const std::vector<std::string>& drives);

// The file with this relative path in a folder, with names as find_windows_file takes them.  Empty: it is not there.
std::string find_file_below(const std::string& folder, const std::string& path);

}  // namespace memprof::profile
