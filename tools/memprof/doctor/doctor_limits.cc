// SPDX-License-Identifier: Apache-2.0
#include "memprof/doctor/doctor_limits.h"

#include <algorithm>
#include <cerrno>

#include "memprof/console/console.h"
#include "memprof/host/system/file_facts.h"
#include "profile/text/units.h"

namespace memprof::cli {
namespace {

using profile::format_bytes;

// A profile has this much, if its program is no toy.
constexpr uint64_t kMinFileBytes = uint64_t{256} << 10;
// Pages that thousands of stacks and a million of samples need.
constexpr uint64_t kMinFreeBytes = uint64_t{64} << 20;
// With this much a process has whole tables: they take a quarter of what is free.
constexpr uint64_t kWholeBytes = kArenaBytes * 5;
// The command itself, with its libraries and a small profile.
constexpr uint64_t kMinSpaceBytes = uint64_t{96} << 20;

constexpr char kLost[] =
    "the data go into private memory: a process writes its profile when it ends, but not when it is killed, "
    "and memprof live cannot read it";
constexpr char kOther[] = "set MEMPROF_ARENA_DIR to a folder that can be written, best one in memory";

std::string bytes_text(uint64_t bytes) {
  return format_bytes(static_cast<double>(bytes));
}

}  // namespace

void check_file_size(uint64_t limit_bytes, Checks* checks) {
  const std::string name = "file size";
  if (limit_bytes == kUnlimited) {
    checks->yes(name, "no limit on the size of files");
  } else if (limit_bytes >= kArenaBytes) {
    checks->yes(name, "files may be up to " + bytes_text(limit_bytes) + " large");
  } else if (limit_bytes >= kMinFileBytes) {
    checks->note(name,
                 "files may be only " + bytes_text(limit_bytes) +
                     " large, the data of a process take up to " + bytes_text(kArenaBytes) + "; " + kLost,
                 "raise `ulimit -f`");
  } else {
    checks->no(name, "files may be only " + bytes_text(limit_bytes) + " large: most profiles are larger",
               "raise `ulimit -f`");
  }
}

void check_address_space(uint64_t limit_bytes, Whose whose, Checks* checks) {
  const std::string name = "address space";
  if (limit_bytes == kUnlimited) {
    checks->yes(name, "no limit on memory that is mapped");
    return;
  }
  const std::string both = "limited to " + bytes_text(limit_bytes) + ", of which memprof takes up to " +
                           bytes_text(kArenaBytes) + " (address space, not memory)";
  if (limit_bytes >= kWholeBytes) {
    checks->yes(name, both);
  } else if (whose == Whose::kShell && limit_bytes < kMinSpaceBytes) {
    checks->no(name, both + ": `memprof run` needs " + bytes_text(kMinSpaceBytes) + " to write a profile",
               "raise `ulimit -v`, or set the limit in CMD alone");
  } else {
    checks->note(name,
                 both +
                     ": where that is more than a quarter of what is free it takes less, and drops samples "
                     "that find no room",
                 "raise `ulimit -v`, or set MEMPROF_MAX_LIVE_SAMPLES and MEMPROF_MAX_STACKS to less");
  }
}

void check_group_memory(uint64_t limit_bytes, Checks* checks) {
  constexpr uint64_t kShare = 64;
  constexpr uint64_t kMin = uint64_t{4} << 20;
  const std::string name = "table memory";
  if (limit_bytes == kUnlimited) {
    checks->yes(name, "no limit on the memory of this group; a process's tables grow with use up to " +
                          bytes_text(kArenaBytes) + ", MEMPROF_MEMORY sets a limit");
    return;
  }
  checks->yes(name, "this group may have " + bytes_text(limit_bytes) + ", a process's tables stay within " +
                        bytes_text(std::min(kArenaBytes, std::max(kMin, limit_bytes / kShare))) +
                        " of it (with rate 0 they may have all); MEMPROF_MEMORY sets another limit");
}

void check_arena_folder(const std::string& path, const std::string& seen_as, Try is_tried, Checks* checks) {
  const std::string name = "data folder";
  if (path.empty()) {
    checks->note(name, std::string("MEMPROF_ARENA_DIR is empty: ") + kLost, "unset it");
    return;
  }
  FolderFacts facts;
  if (const int unknown = read_folder_facts(seen_as, &facts)) {
    checks->note(name, path + ": " + error_text(unknown) + "; " + kLost, kOther);
    return;
  }
  if (!facts.is_folder) {
    checks->note(name, path + " is not a folder; " + kLost, kOther);
    return;
  }
  const uint64_t free_bytes = facts.free_bytes;
  const int error = is_tried == Try::kYes ? try_to_write_in(seen_as) : 0;
  const bool is_too_large = error == EFBIG;  // the check of file sizes says it
  if (error != 0 && !is_too_large) {
    checks->note(name, path + " cannot be written: " + error_text(error) + "; " + kLost, kOther);
  } else if (is_tried == Try::kNo && facts.is_read_only) {
    checks->note(name, path + " cannot be written: read-only file system; " + kLost, kOther);
  } else if (free_bytes < kMinFreeBytes && !is_too_large) {
    checks->note(
        name,
        path + ": only " + bytes_text(free_bytes) + " free; samples that find no room are dropped, and " +
            "counted in the report",
        "make room (`memprof clean` removes what dead processes left), or give more to it (docker run "
        "--shm-size), or set MEMPROF_ARENA_DIR to another folder");
  } else {
    checks->yes(name, path + " can be written, " + bytes_text(free_bytes) + " free");
  }
}

}  // namespace memprof::cli
