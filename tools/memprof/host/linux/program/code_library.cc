// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/program/code_library.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>

#include "memprof/host/program/code_bytes.h"

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;

// A main() that calls the library, between start code; small programs have more.
constexpr uint64_t kMaxStubBytes = 2048;
constexpr uint64_t kMinCodeBytes = 512u << 10;

// They are large and everybody needs them.
constexpr const char* kRuntimes[] = {"libc.so", "libm.so", "libstdc++.so", "libc++.so", "libgcc_s.so"};

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_runtime(const std::string& name) {
  return std::any_of(std::begin(kRuntimes), std::end(kRuntimes),
                     [&](const char* one) { return name.rfind(one, 0) == 0; });
}

// `libruby-3.1.so.3.1` is needed, and the file is `libruby-3.1.so.3.1.2`.
bool is_file_of(const std::string& file, const std::string& needed) {
  return file.compare(0, needed.size(), needed) == 0 &&
         (file.size() == needed.size() || file[needed.size()] == '.');
}

// Loaded when it runs: the launcher of java needs only libjli.so.
bool is_loaded_by(const std::string& needed, const std::string& file) {
  return needed == "libjli.so" && file == "libjvm.so";
}

bool is_own(const ElfFacts& facts, const std::string& file) {
  return !is_runtime(file) &&
         std::any_of(facts.needed.begin(), facts.needed.end(), [&](const std::string& needed) {
           return is_file_of(file, needed) || is_loaded_by(needed, file);
         });
}

}  // namespace

std::string code_library(const profile::ElfFile& program, const ElfFacts& facts,
                         const std::vector<std::string>& libraries) {
  const std::string_view text = program.section(".text");
  if (text.size() >= kMinCodeBytes || code_bytes(text) > kMaxStubBytes) return {};
  std::string found;
  uint64_t max = kMinCodeBytes;
  for (const std::string& path : libraries) {
    if (!is_own(facts, file_name(path))) continue;
    std::string why;
    const auto file = profile::ElfFile::open(path, &why);
    if (file == nullptr || file->section(".text").size() < max) continue;
    // An allocator is no program.
    if (read_elf_facts(*file).malloc == ElfFacts::Malloc::kExported) continue;
    max = file->section(".text").size();
    found = path;
  }
  return found;
}

std::string java_machine_of(const std::string& launcher_library) {
  if (file_name(launcher_library) != "libjli.so") return {};
  std::error_code error;
  const fs::path folder = fs::path(launcher_library).parent_path();
  for (const fs::path& path : {folder / "server/libjvm.so", folder / "../server/libjvm.so"}) {
    if (fs::is_regular_file(path, error)) return path.lexically_normal();
  }
  return {};
}

}  // namespace memprof::cli
