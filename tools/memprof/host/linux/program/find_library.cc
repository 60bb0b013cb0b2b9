// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/program/find_library.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "memprof/console/failure.h"
#include "memprof/host/program/carried_libraries.h"
#include "memprof/host/program/elf_facts.h"
#include "profile/symbolize/elf/elf_file.h"

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char kName[] = "libmemprof.so";

// libmemprof.so, libmemprof.so.0, libmemprof.so.0.1.0; not libmemprof.so.bak.
bool is_library_name(const std::string& name) {
  const size_t length = sizeof(kName) - 1;
  if (name.compare(0, length, kName) != 0) return false;
  return name.size() == length ||
         (name[length] == '.' && name.find_first_not_of("0123456789.", length) == std::string::npos);
}

std::string find_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (is_library_name(name) && fs::is_regular_file(entry->path(), error)) names.push_back(name);
  }
  if (names.empty()) return {};
  // The shortest name is the link that points to the current version.
  const auto best =
      std::min_element(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
        return a.size() != b.size() ? a.size() < b.size() : a > b;
      });
  return fs::weakly_canonical(folder, error) / *best;
}

// A program of glibc that this is preloaded into would not start.
bool is_for_musl(const std::string& library) {
  std::string why;
  const auto file = profile::ElfFile::open(library, &why);
  if (file == nullptr) return false;
  const std::vector<std::string> needed = needed_by(*file);
  return std::any_of(needed.begin(), needed.end(), [](const std::string& name) {
    return name == "libc.so" || name.compare(0, 9, "libc.musl") == 0;
  });
}

}  // namespace

std::string find_library_near(const std::string& program_folder) {
  const fs::path folder(program_folder);
  for (const fs::path& candidate :
       {folder / ".." / MEMPROF_LIBRARY_FOLDER, folder / ".." / "lib", folder / ".." / "lib64",
        folder / ".." / "lib" / MEMPROF_LIBRARY_ARCHITECTURE, folder}) {
    std::string found = find_in(candidate);
    if (!found.empty()) return found;
  }
  return {};
}

std::string find_library() {
  const char* given = std::getenv("MEMPROF_LIBRARY");
  if (given != nullptr && *given != '\0') {
    std::error_code error;
    if (!fs::is_regular_file(given, error) || access(given, R_OK) != 0) {
      throw Failure("MEMPROF_LIBRARY: " + std::string(given) +
                    " is not a file that can be read; give the path of libmemprof.so");
    }
    if (is_for_musl(given)) {
      throw Failure(
          "MEMPROF_LIBRARY: " + std::string(given) +
          " was built for musl; MEMPROF_MUSL_LIBRARY names that one, this variable the one for glibc");
    }
    return fs::absolute(given, error);
  }
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  std::string found = error ? std::string() : find_library_near(self.parent_path());
  if (carried_by_this_command().count != 0) {
    // One of another version may lie beside a single file that was copied into a folder of programs.
    return !found.empty() && is_carried(carried_by_this_command(), found) ? found : carried_libraries().glibc;
  }
  if (found.empty()) {
    throw Failure("libmemprof.so was not found near " +
                  (error ? std::string("this program") : self.string()) +
                  "; set MEMPROF_LIBRARY to its path");
  }
  if (is_for_musl(found)) {
    throw Failure(found + " was built for musl; set MEMPROF_LIBRARY to the path of the one for glibc");
  }
  return found;
}

MuslLibrary find_musl_library(const std::string& library) {
  const char* const given = std::getenv("MEMPROF_MUSL_LIBRARY");
  std::error_code error;
  fs::path path = given != nullptr   ? fs::path(given)
                  : !library.empty() ? fs::path(library).parent_path() / "memprof/musl" / kName
                                     : fs::path();
  if (given == nullptr && library.compare(0, 6, "/proc/") == 0) path = carried_libraries().musl;  // in memory
  if (fs::is_regular_file(path, error) && access(path.c_str(), R_OK) == 0) {
    return {fs::absolute(path, error), ""};
  }
  if (given != nullptr && *given != '\0') {
    return {"", "MEMPROF_MUSL_LIBRARY names " + path.string() + ", which is not a file that can be read"};
  }
  return {"", "build one for musl (./dev musl), whose path MEMPROF_MUSL_LIBRARY can name"};
}

MuslLibrary find_musl_dlopen_library(const std::string& library) {
  MuslLibrary preloaded = find_musl_library(library);
  if (preloaded.path.empty()) return preloaded;
  const bool is_in_memory = preloaded.path.compare(0, 6, "/proc/") == 0;  // by carried_libraries()
  const fs::path path = is_in_memory ? fs::path(carried_libraries().musl_dlopen)
                                     : fs::path(preloaded.path).parent_path() / "libmemprof-dlopen.so";
  std::error_code error;
  if (fs::is_regular_file(path, error) && access(path.c_str(), R_OK) == 0) return {path, ""};
  return {"", "libmemprof-dlopen.so is not beside " + preloaded.path + " (./dev musl builds it)"};
}

MuslLibrary find_musl_library() {
  std::string library;
  try {
    library = find_library();
  } catch (const Failure&) {
    library.clear();  // said by who needs it
  }
  return find_musl_library(library);
}

}  // namespace memprof::cli
