// SPDX-License-Identifier: Apache-2.0
// What the file of an arena is called, and in which folder it lies:
//
//     FOLDER/memprof-PID-NAMESPACE-START-IMAGE.arena
//
// the process id, the namespace in which it is one, when the process began, and a random number for each
// program that the process executes.  IMAGE is missing outside of runs; files of older versions have no START
// either.
//
// Signals, fork: pure.
// Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace memprof {

struct ArenaName {
  uint64_t process_id = 0;
  uint64_t process_namespace = 0;
  uint64_t process_start = 0;  // 0: unknown
  uint64_t image = 0;          // 0: the process has one arena
};

inline constexpr char kArenaSuffix[] = ".arena";
// With its NUL: four numbers of 20 digits.
inline constexpr size_t kMaxArenaNameBytes = sizeof("memprof----") + 4 * 20 + sizeof(kArenaSuffix);

// Writes the NUL-terminated name, without a folder, into kMaxArenaNameBytes.
void write_arena_name(const ArenaName& name, char* to);

// false: it is not the name of an arena.
bool parse_arena_name(std::string_view name, ArenaName* parsed);

// The folder is MEMPROF_ARENA_DIR where that is set; else memory rather than a disk: this one where it can be
// written, else `temporary` ($TMPDIR; nullptr: not set) if that is an absolute path, else the last one.
inline constexpr char kArenaFolderVariable[] = "MEMPROF_ARENA_DIR";
inline constexpr char kSharedMemoryFolder[] = "/dev/shm";
inline constexpr char kLastArenaFolder[] = "/tmp";
inline const char* usual_arena_folder(bool has_shared_memory, const char* temporary) {
  return has_shared_memory                             ? kSharedMemoryFolder
         : temporary != nullptr && temporary[0] == '/' ? temporary
                                                       : kLastArenaFolder;
}

}  // namespace memprof
