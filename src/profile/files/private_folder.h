// SPDX-License-Identifier: Apache-2.0
// A folder of files that are this user's alone: nobody else can put one there, or read it.  Every call goes by the way from
// the beginning, so the folder may be removed meanwhile.
//
// Who else could: the parent belongs to root or this user, and others cannot replace what is in it; each folder below it
// belongs to this user, is not let others write, and is no link.  So it is with files.  The last folder is made for its
// owner only (0700), files too (0600); what it is in is made for all to read, since it may hold other things (0755).
//
// Threads: no state that changes.
// Failure: an errno, or nothing; *why says what is wrong with the folder, in a few words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memprof::profile {

class PrivateFolder {
 public:
  // `names` below `parent`, an absolute path: those that are missing are made.  The parent is not.
  PrivateFolder(std::string parent, std::vector<std::string> names);

  std::string path() const;

  // Nothing: it is not there, is not ours alone, has more bytes than `max_bytes`, or cannot be read.
  std::optional<std::string> read(const std::string& name, size_t max_bytes) const;

  // As a whole, by rename.  false: it could not be written, and the one before is still there.
  bool write(const std::string& name, std::string_view bytes, std::string* why) const;

  struct File {
    std::string name;
    uint64_t size_bytes = 0;
    uint64_t written_ns = 0;  // since 1970
  };
  // Regular files, those that are being written as well (is_part()).
  std::vector<File> files() const;
  static bool is_part(const std::string& name) { return !name.empty() && name[0] == '.'; }

  void remove(const std::string& name) const;
  // If it was written longer ago than that, it is from now on as if it had been written now.
  void touch_if_older(const std::string& name, uint64_t age_ns) const;

 private:
  // A descriptor of the folder; -1, and *why.
  int open(bool makes, std::string* why) const;

  std::string parent_;
  std::vector<std::string> names_;
};

}  // namespace memprof::profile
