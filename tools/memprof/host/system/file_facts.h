// SPDX-License-Identifier: Apache-2.0
// What the system says of files and folders, of those who own them, and what this process may do with them.
//
// Threads: no state; user_name uses what fgetpwent shares between threads.
// Failure: an errno as result; 0: none.
#pragma once

#include <cstdint>
#include <string>

namespace memprof::cli {

struct FileFacts {
  bool is_file = false;    // a regular one
  bool is_folder = false;  // and no link to one
  uint32_t user_id = 0;
  uint64_t memory_bytes = 0;  // that the file system has given to it
  int64_t changed_s = 0;      // since 1970
  uint64_t number = 0;        // its own in its file system, as long as it is there or somebody has it open
};

// Of what is at `path` itself: no link is followed.
int read_file_facts(const std::string& path, FileFacts* facts);

// Whether it belongs to the user of this process, or this process is root.
bool may_change_of(uint32_t user_id);

// "www-data (uid 33)"; users that /etc/passwd does not name have only their number.
std::string user_name(uint32_t user_id);

// Why this process may not read what is at `path`.
int why_not_readable(const std::string& path);

// Whether this process may make files there.
bool is_writable_folder(const std::string& path);

// A file in the folder that it was found in: others may put a link in the place of a folder, which is not followed.
int remove_file(const std::string& path);

// A folder that is not empty stays.
void remove_empty_folder(const std::string& path);

struct FolderFacts {
  bool is_folder = false;  // or a link to one
  bool is_read_only = false;
  uint64_t free_bytes = 0;  // for users other than root
};
int read_folder_facts(const std::string& path, FolderFacts* facts);

// Makes a file with a page of memory in it, and removes it again.
int try_to_write_in(const std::string& folder);

}  // namespace memprof::cli
