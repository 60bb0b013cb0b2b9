// SPDX-License-Identifier: Apache-2.0
#include "resident/mapping_list.h"

#include <string_view>

#include "format/affixes.h"
#include "format/files/arena_name.h"

namespace memprof::resident {
namespace {

constexpr uint64_t kMaxGuardBytes = 64 * 1024;

// Of a path, without " (deleted)".
std::string_view file_of(std::string_view path) {
  path = without_deleted(path);
  const size_t slash = path.rfind('/');
  path.remove_prefix(slash == std::string_view::npos ? 0 : slash + 1);
  return path;
}

bool is_arena(std::string_view name) {
  ArenaName parsed;
  return name[0] == '/' && parse_arena_name(file_of(name), &parsed);
}

// The kernel has no path for it but "(deleted)" or a name of its own.
bool is_shared_memory(std::string_view name) {
  return begins_with(name, "/dev/shm/") || begins_with(name, "/memfd:") || begins_with(name, "/SYSV") ||
         begins_with(name, "/dev/zero");
}

// "libc.so.6", "libc-2.31.so"
bool is_c_library(std::string_view file) {
  return file == "libc.so.6" || (begins_with(file, "libc-2.") && ends_with(file, ".so"));
}

}  // namespace

void MappingList::note_runtime(const Mapping& mapping) {
  if (mapping.inode != 0) {
    const std::string_view file = file_of(mapping.name);
    has_python_ = has_python_ || (mapping.is_executable &&
                                  (begins_with(file, "libpython3") || begins_with(file, "python3")));
    if (file == "libjvm.so") {
      runtime_ = ResidentRuntime::kJvm;
    } else if (file == "libcoreclr.so") {
      runtime_ = ResidentRuntime::kDotNet;
    } else if (runtime_ == ResidentRuntime::kNone && mapping.is_executable &&
               (file == "node" || file == "nodejs" || begins_with(file, "libnode.so") ||
                begins_with(file, "libv8") || file == "deno" || file == "chrome" || file == "electron")) {
      runtime_ = ResidentRuntime::kV8;
    }
  } else if (runtime_ == ResidentRuntime::kNone &&
             (begins_with(mapping.name, "[anon: Go") ||
              (mapping.start == 0xc000000000 && mapping.name.empty()))) {
    runtime_ = ResidentRuntime::kGo;  // where Go begins its heap
  }
}

MappingKind MappingList::kind_of(const Mapping& m) {
  const Before before = before_limit_ == m.start ? before_ : Before::kNothing;
  before_ = Before::kNothing;
  before_limit_ = m.limit;
  const bool is_accessible = m.is_readable || m.is_writable || m.is_executable;
  if (m.inode != 0 || begins_with(m.name, "/")) {
    if (m.inode != file_ || m.file_offset == 0) {
      file_ = m.inode;
      file_start_ = m.start;
    }
    if (is_arena(m.name)) {
      return MappingKind::kMemprof;
    }
    if (is_shared_memory(m.name)) {
      return m.is_shared || begins_with(m.name, "/dev/zero") ? MappingKind::kShared : MappingKind::kFiles;
    }
    const bool is_memprof = file_of(m.name) == "libmemprof.so";
    if (m.is_writable) {
      before_ = is_memprof ? Before::kMemprofData : Before::kFileData;
    }
    return is_memprof ? MappingKind::kMemprof : MappingKind::kFiles;
  }
  if (m.is_shared) {
    return MappingKind::kShared;
  }
  if (m.name == "[heap]") {
    return MappingKind::kHeap;
  }
  if (m.name == "[stack]") {
    return MappingKind::kStacks;
  }
  if (begins_with(m.name, "[anon: Go")) {
    return MappingKind::kRuntime;
  }
  if (begins_with(m.name, "[anon:glibc: malloc")) {
    return MappingKind::kHeap;
  }
  if (begins_with(m.name, "[anon:glibc: pthread stack") || begins_with(m.name, "[stack:")) {
    return MappingKind::kStacks;
  }
  if (!m.name.empty() && !begins_with(m.name, "[anon")) {
    return MappingKind::kFiles;  // [vdso] and its neighbours
  }
  if (!is_accessible) {
    before_ = m.limit - m.start <= kMaxGuardBytes ? Before::kGuard : Before::kNothing;
    return MappingKind::kAnonymous;
  }
  if (before == Before::kFileData || before == Before::kMemprofData) {
    before_ = before;  // .bss may have two parts, of which one is read-only
    return before == Before::kFileData ? MappingKind::kFiles : MappingKind::kMemprof;
  }
  if (before == Before::kGuard && m.is_writable && !m.is_executable) {
    return MappingKind::kStacks;
  }
  return m.is_executable ? MappingKind::kCode : MappingKind::kAnonymous;
}

void MappingList::add(const Mapping& mapping) {
  note_runtime(mapping);
  MappingEntry entry;
  entry.kind = kind_of(mapping);
  if (size_ == room_) {
    ++left_out_;
    return;
  }
  entry.start = mapping.start;
  entry.limit = mapping.limit;
  entry.resident_bytes = mapping.resident_bytes;
  entry.swap_bytes = mapping.swap_bytes;
  entry.has_resident = mapping.has_resident;
  entry.is_accessible = mapping.is_readable || mapping.is_writable || mapping.is_executable;
  entry.is_anonymous = mapping.inode == 0 && !mapping.is_shared && !begins_with(mapping.name, "/");
  entry.is_break = mapping.name == "[heap]" && entry.is_anonymous;
  entry.is_c_library = mapping.inode != 0 && mapping.is_writable && is_c_library(file_of(mapping.name));
  entry.is_boehm =
      mapping.inode != 0 && mapping.is_writable && begins_with(file_of(mapping.name), "libgc.so");
  entry.file_start =
      entry.kind == MappingKind::kFiles && entry.is_anonymous && mapping.name.empty() ? file_start_ : 0;
  entry.is_own_file = entry.kind == MappingKind::kMemprof && !entry.is_anonymous && is_arena(mapping.name);
  entries_[size_++] = entry;
}

MappingEntry* MappingList::find(uint64_t address) {
  size_t low = 0;
  size_t high = size_;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (entries_[middle].limit <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < size_ && entries_[low].start <= address ? &entries_[low] : nullptr;
}

}  // namespace memprof::resident
