// SPDX-License-Identifier: Apache-2.0
#include "memprof/doctor_allocator.h"

#include <algorithm>

namespace memprof::cli {
namespace {

constexpr char kReport[] = "let it report its blocks (memprof_report_alloc: docs/own-allocators.md)";

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool begins_with(const std::string& text, const char* beginning) {
  return text.rfind(beginning, 0) == 0;
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

// AddressSanitizer refuses to start with a library before its own.
bool is_sanitized(const ProgramFiles& files, const ElfFacts& facts) {
  return facts.has_address_sanitizer ||
         std::any_of(files.libraries.begin(), files.libraries.end(),
                     [](const std::string& path) { return begins_with(file_name(path), "libasan.so"); });
}

void check_python(const ProgramFiles& files, Checks* checks) {
  const bool is_python =
      begins_with(file_name(files.shown), "python3") ||
      std::any_of(files.libraries.begin(), files.libraries.end(),
                  [](const std::string& path) { return begins_with(file_name(path), "libpython3"); });
  if (!is_python || begins_with(files.python_malloc, "malloc")) return;
  checks->note("Python",
               "objects of up to 512 bytes lie in arenas of Python's own: the profile shows the arenas",
               "set PYTHONMALLOC=malloc to see each object");
}

}  // namespace

void check_allocator(const ProgramFiles& files, const ElfFacts& facts, Checks* checks) {
  const std::string name = "allocator";
  const std::vector<std::string> others = allocators(files.libraries);
  if (is_sanitized(files, facts)) {
    checks->no(name, files.shown + " is built with AddressSanitizer, whose malloc suffers no other before it",
               "profile a build without -fsanitize=address");
    return;
  }
  if (facts.has_memprof) {
    checks->yes(name, files.shown + " has memprof linked into it: its own malloc is memprof's");
  } else if (facts.malloc == ElfFacts::Malloc::kExported) {
    checks->no(
        name,
        files.shown +
            " has an allocator in itself, whose malloc everybody calls before a preloaded one: "
            "nothing is seen",
        std::string("build it without that allocator, or with the allocator as a shared library; or ") +
            kReport);
    return;
  } else if (facts.malloc == ElfFacts::Malloc::kHidden) {
    checks->note(name,
                 files.shown +
                     " has a malloc in itself that it calls directly: of its own allocations nothing is "
                     "seen, those of its libraries are",
                 std::string("build it without that allocator; or ") + kReport);
  } else if (!others.empty()) {
    checks->yes(name,
                "malloc is that of " + joined(others) + "; memprof stands before it and sees all of it");
  } else {
    checks->yes(name, "malloc is the C library's; memprof stands before it");
  }
  if (!facts.own_interface.empty()) {
    checks->note("own interface",
                 files.shown + " calls " + joined(facts.own_interface) +
                     " of an allocator's own interface: blocks that do not come from malloc are not seen",
                 std::string("call malloc and free, or ") + kReport);
  }
  if (facts.is_go) {
    checks->note("Go", "Go's heap is mapped memory, and not seen; what its C code allocates is",
                 "for Go's heap: runtime/pprof");
  }
  check_python(files, checks);
}

}  // namespace memprof::cli
