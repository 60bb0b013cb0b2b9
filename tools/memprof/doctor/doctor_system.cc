// SPDX-License-Identifier: Apache-2.0
#include "memprof/doctor/doctor_system.h"

#include <cstdio>
#include <cstdlib>

#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/doctor/doctor_limits.h"
#include "memprof/host/process/arena_files.h"
#include "memprof/host/process/group_memory.h"
#include "memprof/host/program/elf_facts.h"
#include "memprof/host/program/find_library.h"
#include "memprof/host/program/target_program.h"
#include "memprof/host/system/system_facts.h"
#include "memprof/io/temporary_folder.h"

namespace memprof::cli {
namespace {

std::string version_text(const std::vector<unsigned>& version) {
  return std::to_string(version[0]) + "." + std::to_string(version[1]);
}

void check_c_library(const std::string& library, Checks* checks) {
  const std::string name = "C library";
  std::string why;
  const auto file = profile::ElfFile::open(library, &why);
  if (file == nullptr) {
    checks->no(name, library + ": " + why,
               "set MEMPROF_LIBRARY to the path of libmemprof.so, or install it anew");
    return;
  }
  const std::vector<unsigned> needs = read_elf_facts(*file).needs_glibc;
  const std::string version = c_library_version();
  std::vector<unsigned> has(2);
  if (std::sscanf(version.c_str(), "%u.%u", has.data(), &has[1]) != 2 || needs.empty()) {
    checks->yes(name, "glibc " + version);
    return;
  }
  const std::string both = "glibc " + version + "; the library needs " + version_text(needs);
  if (has < needs) {
    checks->no(name, both, "build memprof on a system with this glibc or an older one");
  } else {
    checks->yes(name, both + " or newer");
  }
}

// What the kernel does not know, or a sandbox forbids, does without.
struct Call {
  const char* name;
  bool works;
  const char* loss;
};

std::vector<Call> try_calls() {
  const KernelCalls calls = try_kernel_calls();
  if (!calls.maps) return {{"mmap", false, "nothing can be recorded"}};
  return {{"MADV_POPULATE_WRITE, nor FUTEX_WAKE_OP in its place", calls.populates || calls.adds,
           "room for data cannot be had safely: samples may be dropped"},
          {"MADV_WIPEONFORK", calls.wipes_on_fork,
           "a child that fork handlers do not know of may be taken for its parent"},
          {"process_vm_readv", calls.reads_process,
           "memory is checked before it is read instead: a sample costs more"}};
}

void check_kernel(Checks* checks) {
  std::string missing;
  for (const Call& call : try_calls()) {
    if (call.works) continue;
    missing += (missing.empty() ? "" : "; ") + std::string("no ") + call.name + " (" + call.loss + ")";
  }
  const std::string release = kernel_name();
  if (missing.empty()) {
    checks->yes("kernel", release + "; room for data, MADV_WIPEONFORK and process_vm_readv can be had");
  } else {
    checks->note("kernel", release + ": " + missing,
                 "Linux 4.14 or newer knows them; in a container, allow them in its seccomp profile");
  }
}

void check_temporary_folder(Checks* checks) {
  try {
    const TemporaryFolder folder;
    checks->yes("temp folder", folder.path().substr(0, folder.path().rfind('/')) + " can be written");
  } catch (const Failure& failure) {
    const std::string line = failure.what();
    const size_t split = line.find("; ");
    checks->no("temp folder", line.substr(0, split), line.substr(split + 2));
  }
}

void check_preload(Checks* checks) {
  const char* others = std::getenv("LD_PRELOAD");
  if (others == nullptr || *others == '\0') return;
  const std::string name = "LD_PRELOAD";
  const std::string list = others;
  const std::string sanitizer = preloaded_sanitizer();
  if (!sanitizer.empty()) {
    checks->no(name, list + ": the malloc of " + sanitizer + " must be the first", "unset LD_PRELOAD");
  } else if (list.find("libheaptrack") != std::string::npos) {
    checks->note(name, list + ": memprof is loaded before it, and both replace malloc",
                 "unset LD_PRELOAD, or keep one of the two");
  } else {
    checks->yes(name, list + ": memprof is loaded before it");
  }
}

void check_debuginfod(Checks* checks) {
  const char* servers = std::getenv("DEBUGINFOD_URLS");
  const std::string name = "debuginfod";
  if (servers != nullptr && *servers != '\0') {
    checks->yes(name, std::string("debug files are downloaded from ") + servers);
  } else {
    checks->yes(name, "DEBUGINFOD_URLS is not set: debug files of this machine only, no server is contacted");
  }
}

}  // namespace

void check_library(Checks* checks) {
  try {
    const std::string library = find_library();
    checks->yes("library", library);
    check_c_library(library, checks);
  } catch (const Failure& failure) {
    const std::string line = failure.what();
    const size_t split = line.rfind("; ");
    checks->no("library", line.substr(0, split), line.substr(split + 2));
  }
}

void check_system(Checks* checks) {
  check_library(checks);
  check_kernel(checks);
}

void check_surroundings(Checks* checks) {
  const std::string arenas = arena_parent();
  check_arena_folder(arenas, arenas, Try::kYes, checks);
  check_temporary_folder(checks);
  check_file_size(file_size_limit(), checks);
  check_address_space(address_space_limit(), Whose::kShell, checks);
  check_group_memory(ProcessGroup::of_this_process().limit_bytes(), checks);
  check_preload(checks);
  check_debuginfod(checks);
}

}  // namespace memprof::cli
