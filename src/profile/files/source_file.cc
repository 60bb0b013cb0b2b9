// SPDX-License-Identifier: Apache-2.0
#include "profile/files/source_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "profile/files/descriptor.h"
#include "profile/files/regular_file.h"
#include "profile/files/system_file.h"

namespace memprof::profile {
namespace {

namespace files = std::filesystem;

// Of languages whose lines memprof or another profiler names.  None that is used for settings or keys.
constexpr std::array<std::string_view, 77> kSourceEndings = {
    "adb",   "ads", "asm",  "c",   "c++",    "cc",   "cjs", "clj",  "cp",  "cpp", "cppm", "cr",    "cs",
    "cts",   "cu",  "cuh",  "cxx", "d",      "dart", "di",  "ex",   "f",   "f03", "f08",  "f77",   "f90",
    "f95",   "for", "fs",   "go",  "groovy", "h",    "h++", "hh",   "hpp", "hs",  "hxx",  "inc",   "inl",
    "ipp",   "ixx", "java", "jl",  "js",     "jsx",  "kt",  "l",    "ll",  "lua", "m",    "mjs",   "ml",
    "mm",    "mts", "nim",  "pas", "pxd",    "py",   "pyi", "pyx",  "r",   "rs",  "s",    "scala", "svelte",
    "swift", "tcc", "tpp",  "ts",  "tsx",    "txx",  "v",   "vala", "vue", "y",   "yy",   "zig"};

bool is_below(const std::string& path, const std::string& folder) {
  if (folder == "/") return true;
  return path.size() > folder.size() && path.compare(0, folder.size(), folder) == 0 &&
         path[folder.size()] == '/';
}

// Whether every user can read the file: its mode allows it, and every folder above lets everybody through.
bool is_public(const std::string& real, const struct stat& status) {
  if ((status.st_mode & S_IROTH) == 0) return false;
  files::path folder = real;
  do {
    folder = folder.parent_path();
    struct stat above{};
    if (stat(folder.c_str(), &above) != 0 || (above.st_mode & S_IXOTH) == 0) return false;
  } while (folder != folder.root_path());
  return true;
}

bool may_be_shown(const std::string& real, const struct stat& status, const SourceRule& rule) {
  if (real.empty() || real.front() != '/' || !is_source_name(real)) return false;
  if (std::any_of(rule.roots.begin(), rule.roots.end(),
                  [&](const std::string& root) { return is_below(real, root); })) {
    return true;
  }
  if (!rule.is_own) return false;
  if (status.st_uid != 0 && status.st_uid != geteuid()) return false;
  // What root's profile names can be the choice of a process of any user, and root's rights open all files.
  const bool may_be_private = geteuid() != 0 && status.st_uid == geteuid();
  return may_be_private || is_public(real, status);
}

// Whether no other user can put something else in the place of this part of a path.
bool is_firm(const files::path& part) {
  struct stat status{};
  if (lstat(part.c_str(), &status) != 0) return false;
  if (S_ISLNK(status.st_mode)) return status.st_uid == 0 || status.st_uid == geteuid();
  const bool is_sticky_folder = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
  if (is_sticky_folder) return status.st_uid == 0 || status.st_uid == geteuid();
  return is_trusted(status);
}

bool is_firm_path(const files::path& path) {
  files::path whole;
  for (const files::path& part : path) {
    whole /= part;
    if (!is_firm(whole)) return false;
  }
  return true;
}

}  // namespace

bool is_source_name(const std::string& path) {
  const size_t dot = path.rfind('.');
  if (dot == std::string::npos || path.find('/', dot) != std::string::npos) return false;
  std::string ending = path.substr(dot + 1);
  for (char& letter : ending) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return std::find(kSourceEndings.begin(), kSourceEndings.end(), ending) != kSourceEndings.end();
}

std::optional<SourceFile> read_source_file(const std::string& path, const SourceRule& rule,
                                           size_t max_bytes) {
  if (path.empty() || path.front() != '/' || !is_source_name(path)) return std::nullopt;
  struct stat status{};
  const Descriptor file(open_regular_file(path, Links::kFollow, &status));
  if (file.get() < 0 || status.st_size > static_cast<off_t>(max_bytes)) return std::nullopt;
  if (!may_be_shown(path_of_descriptor(file.get()), status, rule)) return std::nullopt;
  SourceFile source;
  std::string& text = source.text;
  text.resize(max_bytes + 1);
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  if (size > max_bytes) return std::nullopt;
  text.resize(size);
  source.changed_unix_ns = written_unix_ns(status);
  return source;
}

bool is_own_file(const std::string& path) {
  std::error_code error;
  const files::path named = files::absolute(path, error);
  const files::path real = error ? files::path() : files::canonical(named, error);
  if (error || !is_firm_path(named) || !is_firm_path(real)) return false;
  struct stat status{};
  return lstat(real.c_str(), &status) == 0 && status.st_uid == geteuid();
}

std::optional<std::string> real_folder(const std::string& path) {
  std::error_code error;
  const files::path real = files::canonical(path, error);
  if (error || !files::is_directory(real, error)) return std::nullopt;
  return real.string();
}

}  // namespace memprof::profile
