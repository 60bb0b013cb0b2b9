// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/target/unsafe_code.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace memprof::cli {
namespace {

// Lie together in the C library, with the functions that they call between them.
const std::set<std::string>& allocator_functions() {
  static const std::set<std::string> kNames = {
      "malloc",         "free",          "cfree",           "calloc",         "realloc",
      "memalign",       "aligned_alloc", "valloc",          "pvalloc",        "malloc_trim",
      "mallinfo",       "mallinfo2",     "malloc_stats",    "mallopt",        "malloc_usable_size",
      "posix_memalign", "malloc_info",   "__libc_malloc",   "__libc_free",    "__libc_realloc",
      "__libc_calloc",  "__libc_valloc", "__libc_memalign", "__libc_pvalloc", "__libc_mallinfo",
      "__libc_mallopt"};
  return kNames;
}

const std::set<std::string>& locking_functions() {
  static const std::set<std::string> kNames = {"exit",
                                               "quick_exit",
                                               "_exit",
                                               "_Exit",
                                               "abort",
                                               "fork",
                                               "_Fork",
                                               "vfork",
                                               "posix_spawn",
                                               "posix_spawnp",
                                               "system",
                                               "popen",
                                               "daemon",
                                               "forkpty",
                                               "dl_iterate_phdr",
                                               "__cxa_atexit",
                                               "__cxa_finalize",
                                               "on_exit",
                                               "__cxa_at_quick_exit",
                                               "__cxa_thread_atexit_impl",
                                               "pthread_create",
                                               "pthread_exit",
                                               "pthread_atfork",
                                               "thrd_create",
                                               "thrd_exit",
                                               "__register_atfork",
                                               "__libc_freeres",
                                               "dlopen",
                                               "dlmopen",
                                               "dlclose",
                                               "dlsym",
                                               "dlvsym",
                                               "dladdr",
                                               "dladdr1",
                                               "dlinfo",
                                               "dlerror",
                                               "execve",
                                               "execv",
                                               "execvp",
                                               "execvpe",
                                               "fexecve",
                                               "setuid",
                                               "setgid",
                                               "setresuid",
                                               "setresgid",
                                               "setgroups"};
  return kNames;
}

}  // namespace

void UnsafeCode::add(const CodeRange& range, const std::string& what) {
  ranges_.push_back({range, what});
}

void UnsafeCode::add_image(const TargetImage& image, const std::string& what) {
  for (const CodeRange& range : image.code) add(range, what);
}

void UnsafeCode::except(const TargetImage& image, const std::string& function) {
  for (const ImageFunction& each : image.functions) {
    if (each.name == function) safe_.push_back({each.address, each.address + each.size_bytes});
  }
}

void UnsafeCode::add_c_library(const TargetImage& image) {
  uint64_t begin = UINT64_MAX, end = 0;
  for (const ImageFunction& function : image.functions) {
    if (allocator_functions().count(function.name) == 0) continue;
    begin = std::min(begin, function.address);
    end = std::max(end, function.address + function.size_bytes);
  }
  if (end != 0) {
    uint64_t before = 0, after = UINT64_MAX;
    for (const ImageFunction& function : image.functions) {
      const uint64_t function_end = function.address + function.size_bytes;
      if (function_end <= begin) before = std::max(before, function_end);
      if (function.address >= end) after = std::min(after, function.address);
    }
    add({before, after}, "malloc");
  }
  for (const ImageFunction& function : image.functions) {
    if (locking_functions().count(function.name) == 0) continue;
    add({function.address, function.address + std::max<uint64_t>(function.size_bytes, 1)}, function.name);
  }
}

const std::string* UnsafeCode::at(uint64_t address) const {
  const auto is_in = [&](const CodeRange& range) { return range.contains(address); };
  if (std::any_of(safe_.begin(), safe_.end(), is_in)) return nullptr;
  const auto found = std::find_if(ranges_.begin(), ranges_.end(),
                                  [&](const Range& range) { return range.code.contains(address); });
  return found != ranges_.end() ? &found->what : nullptr;
}

}  // namespace memprof::cli
