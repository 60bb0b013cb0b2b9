// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/files/windows_path.h"

#include <strings.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace memprof::profile {
namespace {

namespace fs = std::filesystem;

// Empty: there is none.
fs::path entry_of(const fs::path& folder, const std::string& name) {
  std::error_code ignored;
  if (fs::exists(folder / name, ignored)) return folder / name;
  for (const auto& entry :
       fs::directory_iterator(folder, fs::directory_options::skip_permission_denied, ignored)) {
    if (strcasecmp(entry.path().filename().c_str(), name.c_str()) == 0) return entry.path();
  }
  return {};
}

fs::path find_below(fs::path at, std::string_view rest) {
  while (!rest.empty() && !at.empty()) {
    const size_t end = rest.find_first_of("\\/");
    const std::string name(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (!name.empty()) at = entry_of(at, name);
  }
  return at;
}

}  // namespace

bool is_windows_path(const std::string& path) {
  return path.size() > 3 && std::isalpha(static_cast<unsigned char>(path[0])) != 0 && path[1] == ':' &&
         (path[2] == '\\' || path[2] == '/');
}

std::vector<std::string> wine_drives() {
  const char* prefix = std::getenv("WINEPREFIX");
  if (prefix != nullptr && *prefix != '\0') return {std::string(prefix) + "/dosdevices"};
  const char* home = std::getenv("HOME");
  return home != nullptr && *home != '\0' ? std::vector<std::string>{std::string(home) + "/.wine/dosdevices"}
                                          : std::vector<std::string>();
}

std::string find_windows_file(const std::string& path, const std::vector<std::string>& drives) {
  const std::string drive{static_cast<char>(std::tolower(static_cast<unsigned char>(path[0]))), ':'};
  std::error_code ignored;
  for (const std::string& folder : drives) {
    const fs::path root = fs::path(folder) / drive;
    if (!fs::exists(root, ignored)) continue;
    const fs::path found = find_below(root, std::string_view(path).substr(3));
    if (!found.empty()) return found.string();
  }
  return drive == "z:" ? find_below("/", std::string_view(path).substr(3)).string() : std::string();
}

std::string find_file_below(const std::string& folder, const std::string& path) {
  return folder.empty() ? std::string() : find_below(folder, path).string();
}

}  // namespace memprof::profile
