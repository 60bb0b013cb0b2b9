// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/names/own_names.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "profile/files/system_file.h"
#include "profile/symbolize/cache/name_cache.h"

namespace memprof::cli {
namespace {

constexpr char kVariable[] = "MEMPROF_NAME_CACHE";
constexpr char kOff[] = "off";

std::unique_ptr<profile::NameCache> g_names;

// "": not set, or empty.
std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool is_absolute(const std::string& path) {
  return !path.empty() && path[0] == '/';
}

std::string home_cache(const std::string& home) {
  return home + "/.cache";
}

// Names are those of this very program: of another version, they may be others.  Empty: unknown.
std::string own_program() {
  struct stat status{};
  if (!profile::find_own_program(&status)) return {};
  return std::string("memprof " MEMPROF_VERSION " ") + profile::identity_of(status);
}

// Of the usual folder of a user, not before names are asked for.  That of another folder is there, or nothing is kept.
void make_parent() {
  const std::string home = variable("HOME");
  if (g_names == nullptr || !is_absolute(home)) return;
  if (g_names->path() == home_cache(home) + "/memprof/names") {
    static_cast<void>(mkdir(home_cache(home).c_str(), 0700));
  }
}

}  // namespace

std::optional<profile::PrivateFolder> names_folder_at(const std::string& who, const std::string& place) {
  if (place == kOff) return std::nullopt;
  std::string path = place;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const size_t slash = path.rfind('/');
  if (!is_absolute(path) || path.size() == 1) {
    throw Failure(who + ": '" + place + "' is neither the absolute path of a folder nor off");
  }
  return profile::PrivateFolder(slash == 0 ? "/" : path.substr(0, slash), {path.substr(slash + 1)});
}

std::optional<profile::PrivateFolder> usual_names_folder() {
  const std::string given = variable(kVariable);
  if (!given.empty()) return names_folder_at(kVariable, given);
  const std::vector<std::string> below = {"memprof", "names"};
  const std::string caches = variable("MEMPROF_CACHE_DIR");
  if (!caches.empty()) return profile::PrivateFolder(caches, below);
  if (geteuid() == 0) return profile::PrivateFolder("/var/cache", below);
  const std::string of_user = variable("XDG_CACHE_HOME");
  if (is_absolute(of_user)) return profile::PrivateFolder(of_user, below);
  const std::string home = variable("HOME");
  if (!is_absolute(home)) return std::nullopt;
  return profile::PrivateFolder(home_cache(home), below);
}

void open_own_names() {
  try {
    use_own_names(usual_names_folder());
  } catch (const Failure& failure) {
    complain(std::string(failure.what()) + "; names are not kept");
  }
}

void use_own_names(const std::optional<profile::PrivateFolder>& folder) {
  g_names.reset();
  const std::string program = own_program();
  if (folder && !program.empty()) g_names = std::make_unique<profile::NameCache>(*folder, program);
}

profile::NameCache* own_names() {
  static std::once_flag is_made;
  std::call_once(is_made, make_parent);
  return g_names.get();
}

void save_own_names() {
  if (g_names != nullptr) g_names->save();
}

}  // namespace memprof::cli
