// SPDX-License-Identifier: Apache-2.0
// The libraries that the command carries inside itself, so that it works as a single file.  They are written into a
// folder of the user's, once for each content, and preloaded from there.  An ordinary build carries none.
//
// Who else could write there: a folder is used only if it belongs to this user and nobody else may change it, and what lies
// in it is compared with what is carried, byte for byte, before it is used.  A file appears whole, by rename, and is never
// changed: a running program may have it mapped.
//
// Threads: carried_libraries() is called from one thread at a time.  Owns: where no folder will do, memory files, which are
// open until the command ends.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace memprof::cli {

enum class CarriedFor : unsigned char { kGlibc, kMusl, kRunningMusl };

struct CarriedFile {
  const char* path;  // below the folder; one '/' at a time: "libmemprof.so", "memprof/musl/libmemprof.so"
  const unsigned char* bytes;
  size_t size_bytes;
  CarriedFor programs;
};

// `id` is made of the contents.
struct Carried {
  const char* id;
  const CarriedFile* files;
  size_t count;
};

// Bound by the linker: nothing (carried_nothing.cc), or what tools/memprof/one_file/carried.cc has.
const Carried& carried_by_this_command();

// A folder `name` in `parent`, which has to be there.
struct CacheFolder {
  std::string parent;
  std::string name;
};

// Where libraries may be unpacked, best first: $MEMPROF_CACHE_DIR alone, if it is set; else the caches of the system (for
// root) or of the user, and folders for temporary files.
std::vector<CacheFolder> cache_folders();

// Unpacks into the first folder that will do, if that was not done before.  Returns the folder that `path` of each file is
// below; empty, and in `reasons` why each candidate was refused, if none will do.
std::string unpack(const Carried& carried, const std::vector<CacheFolder>& candidates, std::string* reasons);

// The paths of the libraries, unpacked; empty where there are none.
struct CarriedLibraries {
  std::string glibc;
  std::string musl;
  std::string musl_dlopen;  // that running processes of musl load
};

// Those that this command carries.  Throws Failure when it carries some and they can be put nowhere.
const CarriedLibraries& carried_libraries();

// Whether a command carries this very library for programs of glibc: a file of an installed tree, which needs no unpacking.
bool is_carried(const Carried& carried, const std::string& library);

}  // namespace memprof::cli
