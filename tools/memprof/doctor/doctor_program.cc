// SPDX-License-Identifier: Apache-2.0
#include "memprof/doctor/doctor_program.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <utility>

#include "cpu/facts.h"
#include "memprof/doctor/doctor_allocator.h"
#include "memprof/doctor/doctor_python.h"
#include "memprof/doctor/doctor_runtime.h"
#include "memprof/doctor/doctor_v8.h"
#include "memprof/host/program/code_library.h"
#include "memprof/host/program/elf_facts.h"
#include "memprof/host/program/inner_allocators.h"
#include "memprof/host/program/needed_libraries.h"
#include "memprof/host/program/target_program.h"
#include "profile/model/cut_stacks.h"
#include "profile/symbolize/elf/debug_files.h"
#include "profile/symbolize/elf/mini_symbols.h"

namespace memprof::cli {
namespace {

// Code that has no rules and needs none: padding, and assembly that calls nothing.
constexpr double kWholeShare = 0.9;

constexpr char kGetDebugFile[] =
    "install its debug package (-dbgsym, -debuginfo), or set DEBUGINFOD_URLS "
    "(https://debuginfod.elfutils.org "
    "knows many distributions), or build it with -g";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Those of LD_PRELOAD that are paths.
std::vector<std::string> preloaded_libraries() {
  const std::string list = variable("LD_PRELOAD");
  std::vector<std::string> paths;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find_first_of(" :", begin), list.size());
    std::string path = list.substr(begin, end - begin);
    if (path.find('/') != std::string::npos) paths.push_back(std::move(path));
    begin = end + 1;
  }
  return paths;
}

// The file that a program's code is in: its own, or that of one large library.
struct Code {
  std::string shown;
  std::unique_ptr<profile::ElfFile> library;  // nullptr: it is in the program
  ElfFacts facts;
};

Code code_of(const ProgramFiles& files, const profile::ElfFile& program, const ElfFacts& facts) {
  Code code{files.shown, nullptr, facts};
  const std::string path = code_library(program, facts, files.libraries);
  std::string why;
  if (!path.empty()) code.library = profile::ElfFile::open(path, &why);
  if (code.library == nullptr) return code;
  code.shown = path.substr(path.rfind('/') + 1) + " (the code of " + files.shown + ")";
  code.facts = read_elf_facts(*code.library);
  return code;
}

bool has_whole_tables(const ElfFacts& facts) {
  return facts.has_unwind_tables && (facts.unwind_share < 0 || facts.unwind_share >= kWholeShare);
}

// As in all programs of musl (docs/musl.md).
bool is_left_by_code(const ProgramFiles& files) {
  return cpu::kFollowsCode && is_musl_loader(elf_interpreter(files.path));
}

void check_stacks(const std::string& shown, const ElfFacts& facts, bool by_code, Checks* checks) {
  const std::string name = "stacks";
  if (facts.is_go) {
    checks->yes(name, shown + " is Go, whose stacks go by frame pointers");
    return;
  }
  if (!has_whole_tables(facts)) {
    if (by_code) {
      checks->yes(name,
                  shown + " is of musl: code without unwind tables is left by what its instructions do");
      return;
    }
    const int percent = facts.unwind_share > 0 ? static_cast<int>(facts.unwind_share * 100) : 0;
    checks->note(
        name,
        shown + " has unwind tables (.eh_frame) for " + std::to_string(percent) +
            " % of its code; stacks through the rest go by frame pointers, and are cut where there are none",
        "build it with -fasynchronous-unwind-tables, or at least -fno-omit-frame-pointer");
    return;
  }
  checks->yes(name, shown + " has unwind tables: whole stacks");
}

// Runtimes in it whose code at run time has no tables.
void check_runtimes(const ProgramFiles& files, Checks* checks) {
  std::vector<std::string> paths = files.libraries;
  paths.insert(paths.begin(), files.path);
  for (const profile::CutRuntime* runtime : profile::cut_runtimes(paths)) {
    checks->note(
        runtime->name,
        "the code that it makes at run time has no unwind tables: stacks are cut there, unless it keeps "
        "frame pointers",
        runtime->to_do);
  }
}

enum class Names { kLines, kFunctions, kExported };

Names names_of(const profile::ElfFile& file, const ElfFacts& facts) {
  const auto debug = file.has_debug_info() ? nullptr : profile::open_debug_file(file, profile::kDebugRoot);
  if (file.has_debug_info() || (debug != nullptr && debug->has_debug_info())) return Names::kLines;
  const bool has_mini = !facts.has_symbols && debug == nullptr && profile::open_mini_symbols(file) != nullptr;
  return facts.has_symbols || debug != nullptr || has_mini ? Names::kFunctions : Names::kExported;
}

void check_names(const ProgramFiles& files, const std::string& shown, const profile::ElfFile& file,
                 const ElfFacts& facts, Checks* checks) {
  size_t without = 0;
  for (const std::string& path : files.libraries) {
    std::string why;
    const auto library = profile::ElfFile::open(path, &why);
    if (library == nullptr) continue;
    if (names_of(*library, read_elf_facts(*library)) != Names::kLines) ++without;
  }
  const size_t count = files.libraries.size();
  const std::string libraries =
      count == 0 ? ""
                 : "; " + std::to_string(count - without) + " of " + std::to_string(count) +
                       (count == 1 ? " library has" : " libraries have") + " debug info here";
  const bool asks = !variable("DEBUGINFOD_URLS").empty() && !file.build_id().empty();
  const std::string asked = asks ? "; more may come from the servers in DEBUGINFOD_URLS" : "";
  switch (names_of(file, facts)) {
    case Names::kLines:
      checks->yes("names", shown + ": functions, files and lines" + libraries + asked);
      return;
    case Names::kFunctions:
      checks->note("names", shown + ": functions, but no files and lines (no debug info)" + libraries + asked,
                   asks ? "" : kGetDebugFile);
      return;
    case Names::kExported:
      break;
  }
  const std::string without_id =
      file.build_id().empty() ? "; without a build id no debug file can be found for it" : "";
  checks->note("names",
               shown + " is stripped: only exported functions have names, others are module+0xoffset" +
                   without_id + libraries + asked,
               asks ? "" : kGetDebugFile);
}

bool is_shell(const std::string& path) {
  static constexpr const char* kShells[] = {"sh", "bash", "dash", "ash", "busybox", "zsh", "ksh", "mksh"};
  return std::any_of(std::begin(kShells), std::end(kShells),
                     [name = path.substr(path.rfind('/') + 1)](const char* shell) { return name == shell; });
}

}  // namespace

void check_program(const ProgramFiles& files, Checks* checks) {
  std::string why;
  const auto file = profile::ElfFile::open(files.path, &why);
  if (file == nullptr) {
    checks->note("program file", files.shown + " cannot be read: " + why + "; nothing is known of it",
                 "try as its owner, or as root");
    return;
  }
  const ElfFacts facts = read_elf_facts(*file);
  const std::string hooked = describe_hooked(inner_allocators(*file, true));
  check_allocator(files, facts, hooked, checks);
  // Else nothing is seen, of Python neither.
  if (allocator_obstacle(files, facts, hooked).found.empty()) {
    check_python(files, checks);
    check_v8(files, checks);
    check_other_runtimes(files, checks);
  }
  const Code code = code_of(files, *file, facts);
  if (code.library != nullptr) check_own_interface(code.shown, code.facts, checks);
  // Stacks go through both, names are wanted of the code.
  if (has_whole_tables(facts)) {
    check_stacks(code.shown, code.facts, is_left_by_code(files), checks);
  } else {
    check_stacks(files.shown, facts, is_left_by_code(files), checks);
  }
  check_runtimes(files, checks);
  check_names(files, code.shown, code.library != nullptr ? *code.library : *file, code.facts, checks);
}

ProgramFiles files_of(const std::string& program) {
  ProgramFiles files;
  files.path = files.shown = program;
  files.python_malloc = variable("PYTHONMALLOC");
  files.memprof_python = variable("MEMPROF_PYTHON");
  files.memprof_node = variable("MEMPROF_NODE");
  files.libraries = preloaded_libraries();
  for (const NeededLibrary& library : needed_libraries(program)) {
    if (library.path.empty()) continue;
    files.libraries.push_back(library.path);
    const std::string machine = java_machine_of(library.path);
    if (!machine.empty()) files.libraries.push_back(machine);
  }
  return files;
}

void check_command(const std::string& command, Checks* checks) {
  const TargetProgram target = inspect_target(command);
  if (target.status != 0) {
    checks->no("program", target.error, "give the path of a program that can be executed");
    return;
  }
  std::string why;
  const auto file = target.elf.empty() ? nullptr : profile::ElfFile::open(target.elf, &why);
  const ElfFacts facts = file != nullptr ? read_elf_facts(*file) : ElfFacts();
  const bool has_memprof = facts.has_memprof;
  if (!target.obstacle.empty() && !has_memprof) {
    const Obstacle obstacle = split_obstacle(target.obstacle);
    checks->no("program", obstacle.found, obstacle.to_do);
    return;
  }
  if (target.elf.empty()) {
    checks->note("program", target.path + " cannot be read", "make it readable");
    return;
  }
  checks->yes("program",
              target.path + (target.elf == target.path ? "" : ", executed by " + target.elf) +
                  (has_memprof ? ": memprof is linked into it" : ": a library can be preloaded into it"));
  if (target.elf != target.path && is_shell(target.elf)) {
    // What is to be known of the shell itself helps nobody.
    checks->note("script", target.path + " is run by a shell; the programs that it starts are not looked at",
                 "memprof doctor -- PROGRAM, for each of them that matters");
    return;
  }
  check_program(files_of(target.elf), checks);
}

}  // namespace memprof::cli
