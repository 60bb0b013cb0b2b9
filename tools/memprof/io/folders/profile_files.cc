// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/folders/profile_files.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "format/affixes.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "profile/model/error.h"

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kProfileEnd[] = ".pb.gz";
constexpr size_t kMaxNamed = 5;

}  // namespace

bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

std::vector<std::string> profile_files(const std::vector<std::string>& given) {
  std::vector<std::string> files;
  for (const std::string& path : given) {
    std::error_code error;
    if (!fs::exists(path, error)) {
      throw Failure(path + ": cannot read it: " + error_text(error ? error.value() : ENOENT));
    }
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    for (fs::recursive_directory_iterator entry(path, error), end; !error && entry != end;
         entry.increment(error)) {
      const std::string name = entry->path();
      if (ends_with(name, kProfileEnd) && entry->path().filename() != kProfileEnd) files.push_back(name);
    }
    if (error) throw Failure(path + ": cannot read it: " + error_text(error.value()));
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

void read_each(const std::vector<std::string>& given, const std::string& none,
               const std::function<void(const std::string& path)>& read) {
  size_t taken = 0;
  size_t left_out = 0;
  for (const std::string& path : profile_files(given)) {
    try {
      read(path);
      ++taken;
    } catch (const profile::Error& error) {
      if (left_out++ < kMaxNamed) complain("left out: " + std::string(error.what()));
    }
  }
  if (left_out > kMaxNamed) complain("left out: " + std::to_string(left_out - kMaxNamed) + " more");
  if (taken == 0) throw Failure(none);
}

}  // namespace memprof::cli
