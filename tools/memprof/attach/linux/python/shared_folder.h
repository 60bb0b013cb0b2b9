// SPDX-License-Identifier: Apache-2.0
// A folder for some files that another process is to read and write, where that process sees it: in a container, too.
//
// Security: the other process may belong to somebody else, who may put links and pipes wherever they can write.  No
// link is followed, and nothing is written once the folder is theirs.
//
// Threads: one.
// Owns: the folder, which goes with the object, with what was put into it and `leftovers`.
// Failure: throws Failure with status 1.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace memprof::cli {

class SharedFolder {
 public:
  // `leftovers`: names of files that the other process may leave there.
  SharedFolder(uint64_t pid, const std::string& shown, std::vector<std::string> leftovers);
  ~SharedFolder();
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;

  // As the process sees it.
  const std::string& path() const { return path_; }

  void put(const std::string& name, const std::string& content);
  void put_copy(const std::string& name, const std::string& of);
  // What was put there belongs to the user of the process from now on.
  void give();
  // The beginning of a file; "": there is none.
  std::string read(const std::string& name) const;

 private:
  int create(const std::string& name);

  const uint64_t pid_;
  const std::string shown_;
  std::vector<std::string> names_;
  std::vector<int> files_;
  std::string path_;
  std::string name_;
  int parent_ = -1;
  int folder_ = -1;
};

}  // namespace memprof::cli
