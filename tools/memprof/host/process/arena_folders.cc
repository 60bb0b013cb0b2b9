// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/arena_folders.h"

#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>

#include "format/files/arena_name.h"
#include "memprof/host/process/process_ids.h"
#include "memprof/host/process/running_process.h"
#include "memprof/host/system/file_facts.h"

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;

Owner owner_of_run(const ArenaFile& run) {
  if (!is_same_namespace(run)) return Owner::kUnknown;
  return program_of(run.pid) == program_of(own_process_id()) ? Owner::kLives : Owner::kIsGone;
}

// And no link to one, which would lead anywhere.
bool is_own_folder(const std::string& path) {
  FileFacts facts;
  return read_file_facts(path, &facts) == 0 && facts.is_folder && may_change_of(facts.user_id);
}

}  // namespace

std::vector<std::string> arena_places() {
  std::vector<std::string> all;
  const char* given = std::getenv(kArenaFolderVariable);
  if (given != nullptr && *given != '\0') {
    all.emplace_back(given);
  } else {
    all = {kSharedMemoryFolder, kLastArenaFolder};
    const char* temporary = std::getenv("TMPDIR");
    if (temporary != nullptr && *temporary == '/') all.emplace_back(temporary);
  }
  std::vector<std::string> places;
  std::set<std::string> seen;
  for (const std::string& place : all) {
    std::error_code error;
    const std::string real = fs::canonical(place, error);
    if (!error && seen.insert(real).second) places.push_back(real);
  }
  return places;
}

std::vector<RunFolder> run_folders(const std::string& place) {
  std::vector<RunFolder> folders;
  std::error_code error;
  for (fs::directory_iterator entry(place, error), end; !error && entry != end; entry.increment(error)) {
    ArenaFile run;
    if (!parse_run_folder(entry->path().filename(), &run) || !is_own_folder(entry->path())) continue;
    folders.push_back({entry->path(), owner_of_run(run)});
  }
  return folders;
}

}  // namespace memprof::cli
