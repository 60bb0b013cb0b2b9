// SPDX-License-Identifier: Apache-2.0
#include "memprof/doctor/doctor_allocator.h"

#include "format/affixes.h"
#include "memprof/host/program/inner_allocators.h"
#include "profile/memory/unseen_heap.h"

namespace memprof::cli {
namespace {

constexpr char kReport[] = "let it report its blocks (memprof_report_alloc: docs/own-allocators.md)";

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// Those whose malloc is the system's, ours, or the loader's own.
bool is_system(const std::string& name) {
  return begins_with(name, "libc.so") || begins_with(name, "libc-2.") || begins_with(name, "ld-") ||
         begins_with(name, "libmemprof") || begins_with(name, "libc_malloc_debug");
}

// The libraries that define malloc, by name.
std::vector<std::string> allocators(const std::vector<std::string>& libraries) {
  std::vector<std::string> found;
  for (const std::string& path : libraries) {
    const std::string name = file_name(path);
    if (is_system(name)) continue;
    std::string why;
    const auto file = profile::ElfFile::open(path, &why);
    if (file != nullptr && read_elf_facts(*file).malloc == ElfFacts::Malloc::kExported) found.push_back(name);
  }
  return found;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

const Sanitizer* sanitizer_of(const ProgramFiles& files, const ElfFacts& facts) {
  const Sanitizer* found = facts.sanitizer;
  for (const std::string& library : files.libraries) {
    if (found == nullptr) found = sanitizer_of_library(library.c_str());
  }
  return found;
}

// Libraries that have allocators of their own besides malloc.
void check_libraries(const ProgramFiles& files, Checks* checks) {
  for (const std::string& path : files.libraries) {
    if (is_system(file_name(path))) continue;
    std::string why;
    const auto file = profile::ElfFile::open(path, &why);
    // One that defines malloc stands behind memprof.
    if (file == nullptr || read_elf_facts(*file).malloc == ElfFacts::Malloc::kExported) continue;
    const std::string hooked = describe_hooked(inner_allocators(*file, false));
    if (!hooked.empty()) {
      checks->yes("allocator",
                  file_name(path) + " contains " + hooked + ": hooked by memprof run and memprof attach");
    }
  }
}

}  // namespace

AllocatorObstacle allocator_obstacle(const ProgramFiles& files, const ElfFacts& facts,
                                     const std::string& hooked) {
  if (const Sanitizer* sanitizer = sanitizer_of(files, facts); sanitizer != nullptr) {
    return {files.shown + " is built with " + sanitizer->name + ", whose malloc must be the first",
            "profile a build without -fsanitize"};
  }
  if (facts.malloc == ElfFacts::Malloc::kExported && !facts.has_memprof && hooked.empty()) {
    return {files.shown +
                " contains an allocator, whose malloc is called instead of a preloaded one: no allocation "
                "is seen",
            std::string("build it without that allocator, or with the allocator as a shared library; or ") +
                kReport};
  }
  return {};
}

std::string allocator_obstacle_of(const std::string& program, HookedAllocators hooked) {
  std::string unreadable;
  const auto file = profile::ElfFile::open(program, &unreadable);
  if (file == nullptr) return {};
  const std::string names =
      hooked == HookedAllocators::kNone ? "" : describe_hooked(inner_allocators(*file, true));
  const AllocatorObstacle obstacle = allocator_obstacle(files_of(program), read_elf_facts(*file), names);
  return obstacle.found.empty() ? "" : obstacle.found + "; " + obstacle.to_do;
}

void check_allocator(const ProgramFiles& files, const ElfFacts& facts, const std::string& hooked,
                     Checks* checks) {
  const std::string name = "allocator";
  const std::vector<std::string> others = allocators(files.libraries);
  const AllocatorObstacle obstacle = allocator_obstacle(files, facts, hooked);
  if (!obstacle.found.empty()) {
    checks->no(name, obstacle.found, obstacle.to_do);
    return;
  }
  if (facts.has_memprof) {
    checks->yes(name, files.shown + " has memprof linked into it: its own malloc is memprof's");
  } else if (!hooked.empty()) {
    // Loading a library calls malloc: attach cannot tell where the program's own one holds no lock.
    const bool is_malloc = facts.malloc == ElfFacts::Malloc::kExported;
    checks->yes(name, files.shown + " contains " + hooked +
                          (is_malloc ? ": hooked where memprof run starts it; memprof attach refuses it"
                                     : ": hooked by memprof run and memprof attach"));
  } else if (facts.malloc == ElfFacts::Malloc::kHidden) {
    checks->note(name,
                 files.shown +
                     " contains a malloc that it calls directly: its own allocations are not seen, those "
                     "of its libraries are",
                 std::string("build it without that allocator; or ") + kReport);
  } else if (!others.empty()) {
    checks->yes(name,
                "malloc is that of " + joined(others) + "; memprof is called before it and sees every call");
  } else {
    checks->yes(name, "malloc is the C library's; memprof is called before it");
  }
  check_libraries(files, checks);
  check_own_interface(files.shown, facts, checks);
  std::vector<std::string> names{files.path};
  names.insert(names.end(), files.libraries.begin(), files.libraries.end());
  if (const profile::RuntimeHeap* const heap = profile::runtime_heap_of(names); heap != nullptr) {
    checks->note("heap",
                 std::string(heap->name) + " is mapped memory, and not seen; what its C code allocates is",
                 heap->way_out[0] != '\0' ? std::string("for its objects: ") + heap->way_out
                                          : "memprof run --mmap shows who maps it");
  }
  if (facts.is_go) {
    checks->note("Go", "Go's heap is mapped memory, and not seen; what its C code allocates is",
                 "for Go's heap: runtime/pprof");
  }
}

void check_own_interface(const std::string& shown, const ElfFacts& facts, Checks* checks) {
  if (!facts.own_interface.empty()) {
    checks->note("own interface",
                 shown + " calls " + joined(facts.own_interface) +
                     " of an allocator's own interface: blocks that do not come from malloc are not seen",
                 std::string("call malloc and free, or ") + kReport);
  }
}

}  // namespace memprof::cli
