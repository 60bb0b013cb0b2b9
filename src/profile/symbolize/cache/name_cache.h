// SPDX-License-Identifier: Apache-2.0
// Names that were found before, in a folder of this user's: a file of it for each file with code and for what its names
// depend on (ObjectFile::names_depend_on).  Debug info is read only for addresses that nobody asked for before.
//
// Bounds: of all files together, the one that was used longest ago goes first; of what is in memory between two save().
// Threads: any; names are looked up outside of the lock.
// Failure: a file that is not whole is as if it were not there.  What cannot be written is counted, and tried again at the
// next save().
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "profile/files/private_folder.h"
#include "profile/symbolize/cache/kept_names.h"
#include "profile/symbolize/object/object_file.h"

namespace memprof::profile {

struct NameCacheLimits {
  uint64_t bytes = uint64_t{64} << 20;
  size_t files = 4096;
  size_t bytes_of_file = size_t{16} << 20;  // addresses that would make it larger are not kept
};

struct NameCacheCounts {
  // How often an address was asked for that was known, or that was looked up in files, with or without a name.
  uint64_t cached = 0;
  uint64_t resolved = 0;
  uint64_t failures = 0;  // files of the cache that could not be written
  uint64_t bytes = 0;     // of the folder, at the last save()
};

class NameCache {
 public:
  // `writer`: which program makes the names, in which version; it takes none of others.
  NameCache(PrivateFolder folder, std::string writer, NameCacheLimits limits = {});

  // As file.names_of() has them.
  std::vector<CodeNames> names_of(const ObjectFile& file, const std::vector<uint64_t>& vaddrs,
                                  const NameSources& sources, std::vector<std::string>* warnings);

  // Writes what is new, and removes what is too much.
  void save();
  // The same at the first call, and then every ten seconds at most.
  void save_if_due();

  NameCacheCounts counts() const;
  // Why files could not be written the last time, with the path; empty: they could, or there was nothing to write.
  std::string problem() const;
  std::string path() const { return folder_.path(); }

 private:
  struct Module {
    KeptNames names;
    size_t unsaved = 0;     // addresses
    bool was_used = false;  // since the last save
  };

  std::string file_of(const std::string& key) const;
  Module& module_of(const std::string& key);  // lock held
  void keep(const std::string& key, const std::vector<uint64_t>& vaddrs, const std::vector<CodeNames>& names);
  void save_module(const std::string& key, Module* module);
  void bound_folder();

  const PrivateFolder folder_;
  const std::string writer_;
  const NameCacheLimits limits_;
  mutable std::mutex mutex_;
  std::map<std::string, Module> modules_;  // by key
  NameCacheCounts counts_;
  std::string problem_;
  bool is_new_ = true;  // nothing was saved yet
  std::chrono::steady_clock::time_point next_save_{};
};

}  // namespace memprof::profile
