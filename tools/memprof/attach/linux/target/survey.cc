// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/target/survey.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string_view>

#include "cpu/facts.h"
#include "memprof/attach/linux/processor/processor.h"
#include "memprof/attach/linux/target/musl_frames.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/host/linux/process/proc_path.h"
#include "memprof/host/process/other_user.h"
#include "memprof/host/process/running_process.h"
#include "memprof/host/program/target_program.h"

namespace memprof::cli {
namespace {

constexpr char kStartAnew[] = "start it anew with `memprof run`";

// In the C library, all of it since 2.34.
constexpr const char* kCalls[] = {
    "dlopen", "dlsym", "dlerror", "mmap", "__errno_location", "pthread_setcancelstate"};

[[noreturn]] void refuse(const std::string& why) {
  throw Failure("attach: " + why, kRefused);
}

// "": nobody traces it.
std::string tracer_of(uint64_t pid) {
  const std::string tracer = status_field(pid, "TracerPid");
  return tracer == "0" ? "" : tracer;
}

// A way without ptrace, for who may have it.
std::string or_by_python(uint64_t pid) {
  return program_of(pid).rfind("python", 0) == 0
             ? "; or --python, with which Python 3.14 and later load the library"
             : "";
}

std::string is_traced(uint64_t pid, const std::string& shown, const std::string& tracer) {
  return shown + " is traced by process " + tracer + " (" + program_of(std::stoull(tracer)) +
         "); a process has one tracer at most: end that one first" + or_by_python(pid);
}

// `state`: its first thread's.
bool is_ended(const std::string& state) {
  return state.empty() || state[0] == 'Z' || state[0] == 'X';
}

bool has_other_threads(uint64_t pid) {
  const std::string threads = status_field(pid, "Threads");
  return !threads.empty() && threads != "1";
}

void refuse_by_state(uint64_t pid, const std::string& shown) {
  const std::string state = status_field(pid, "State");
  if (state.empty()) refuse("process " + std::to_string(pid) + " does not exist");
  if (is_ended(state)) {
    if (!has_other_threads(pid)) refuse(shown + " has ended");
    refuse(shown +
           " runs on without its first thread, by which the system tells of its memory; nothing can be " +
           "loaded into it");
  }
  if (const std::string tracer = tracer_of(pid); !tracer.empty()) refuse(is_traced(pid, shown, tracer));
  if (state[0] == 'T' || state[0] == 't') {
    refuse(shown + " is stopped; let it go on with `kill -CONT " + std::to_string(pid) + "` first");
  }
  if (status_field(pid, "Seccomp") == "1") {
    refuse(shown + " is under seccomp's strict mode: it may read, write and end, nothing else");
  }
}

// Refused without its memory: the kernel tells nobody else of that.
void refuse_by_program(uint64_t pid, const std::string& shown) {
  std::ifstream file(proc_path(pid, "exe"), std::ios::binary);
  Elf64_Ehdr header{};
  file.read(reinterpret_cast<char*>(&header), sizeof(header));
  if (!file) return;
  if (header.e_ident[EI_CLASS] == ELFCLASS32) {
    refuse(shown +
           " is a program of 32 bits; memprof has no library for those: use a build of it for 64 bits");
  }
  if (header.e_machine != processor::elf_machine()) {
    refuse(shown + " is a program for another processor");
  }
}

uint64_t find_code(const TargetMemory& memory, const TargetImage& image, std::string_view bytes) {
  for (const CodeRange& range : image.code) {
    std::string code(range.end - range.start, '\0');
    code.resize(memory.read_some(range.start, code.data(), code.size()));
    const size_t at = code.find(bytes);
    if (at != std::string::npos) return range.start + at;
  }
  return 0;
}

// On some processors only the kernel's own library has it.
uint64_t find_sigreturn(const TargetMemory& memory, const Target& target, const TargetImage& c_library) {
  uint64_t found = find_code(memory, c_library, processor::sigreturn_code());
  for (const TargetImage& image : target.images) {
    if (found == 0 && image.path == "[vdso]") found = find_code(memory, image, processor::sigreturn_code());
  }
  return found;
}

bool is_c_library(const TargetImage& image) {
  return image.function("gnu_get_libc_version") != 0;
}

bool is_loader(const TargetImage& image) {
  return image.function("_dl_allocate_tls") != 0 && !is_c_library(image);
}

// The name of the executable's loader tells, its file may be called otherwise (libc.so); also where the loader was
// executed, with the program as its argument.
bool is_musl(const Target& target) {
  return is_musl_loader(elf_interpreter(proc_path(target.pid, "exe"))) ||
         std::any_of(target.images.begin(), target.images.end(),
                     [](const TargetImage& image) { return is_musl_loader(image.path); });
}

// What was read may be of a program that is no more.
void refuse_if_changed(const Target& target, bool is_incomplete) {
  if (is_incomplete || target.identity.empty() || program_identity(target.pid) != target.identity) {
    refuse(target.shown + " executes another program at this moment, or ends; try again");
  }
}

const TargetImage& find_c_library(const Target& target) {
  const auto found = std::find_if(target.images.begin(), target.images.end(), is_c_library);
  if (found != target.images.end()) return *found;
  if (is_musl(target)) {
    const auto musl = std::find_if(target.images.begin(), target.images.end(), is_musl_library);
    if (musl == target.images.end()) {
      refuse(target.shown + " uses a musl that memprof does not know; " + kStartAnew);
    }
    if (cpu::kFollowsCode) return *musl;
    refuse(target.shown + " uses musl, whose stacks memprof cannot read on this processor; " + kStartAnew);
  }
  refuse_if_changed(target, std::any_of(target.images.begin(), target.images.end(), is_loader));
  refuse(
      target.shown +
      " is linked statically, or uses another C library than glibc: nothing can be loaded into it; link it "
      "with libmemprof.a (docs/c-and-cpp.md)");
}

// Of a process that has only started, whose loader has not loaded its libraries yet, as it is a little later.
void read_started(const TargetMemory& memory, Target* target) {
  constexpr int kLooks = 50;
  constexpr unsigned kBetweenUs = 10'000;
  for (int look = 0; look < kLooks; ++look) {
    target->images = read_images(memory, target->ranges);
    const auto has = [&](const auto& what) {
      return std::any_of(target->images.begin(), target->images.end(), what);
    };
    if (!has(is_loader) || has(is_c_library) || is_musl(*target)) return;
    usleep(kBetweenUs);
    int error = 0;
    target->ranges = memory_ranges(target->pid, &error);
  }
}

void find_calls(const TargetMemory& memory, Target* target) {
  const TargetImage& c_library = find_c_library(*target);
  if (!is_c_library(c_library)) target->musl = c_library;
  for (const char* name : kCalls) {
    const uint64_t address = c_library.function(name);
    if (address == 0) {
      refuse_if_changed(*target, false);
      refuse(target->shown + " uses a glibc before 2.34, which has no " + name + " of its own; " +
             kStartAnew + or_by_python(target->pid));
    }
    target->c_library[name] = address;
  }
  target->sigreturn_code = find_sigreturn(memory, *target, c_library);
  target->system_call_code = find_code(memory, c_library, processor::system_call_code());
  if (target->sigreturn_code == 0 || target->system_call_code == 0) {
    refuse_if_changed(*target, false);
    refuse(target->shown + " uses a C library that memprof does not know; " + kStartAnew);
  }
  if (!target->musl) target->unsafe.add_c_library(c_library);
}

void look_at_images(const std::string& executable, Target* target) {
  bool has_loader = target->musl.has_value();
  for (const TargetImage& image : target->images) {
    if (auto functions = memprof_functions(image); !functions.empty()) {
      target->memprof = std::move(functions);
      target->unsafe.add_image(image, "memprof");  // what it counts in this thread must be whole
      // Those that only pass a system call on, in which threads wait (src/platform/linux/interpose/process/sandbox.cc).
      for (const char* name : {"syscall", "prctl"}) target->unsafe.except(image, name);
      continue;
    }
    if (is_loader(image)) {
      has_loader = true;
      target->unsafe.add_image(image, "the loader");
      continue;
    }
    if (is_c_library(image) || (target->musl && image.start == target->musl->start)) continue;
    if (image.function("malloc") == 0 || image.function("free") == 0) continue;
    if (image.path == executable) {
      refuse(target->shown +
             " brings a malloc of its own, which loading a library would call at any moment; start it anew "
             "with `memprof run`, which sees that malloc");
    }
    target->unsafe.add_image(image, "the allocator " + image.path.substr(image.path.rfind('/') + 1));
  }
  if (!has_loader) refuse(target->shown + " has no loader: nothing can be loaded into it");
}

}  // namespace

std::map<std::string, uint64_t> memprof_functions(const TargetImage& image) {
  std::map<std::string, uint64_t> functions;
  if (image.function("memprof_start") == 0 || image.function("memprof_init") == 0) return functions;
  for (const char* name : kMemprofCalls) functions[name] = image.function(name);
  return functions;
}

std::string describe_process(uint64_t pid) {
  const std::string program = program_of(pid);
  return "process " + std::to_string(pid) + (program.empty() ? "" : " (" + program + ")");
}

std::string status_field(uint64_t pid, const std::string& name) {
  std::ifstream file(proc_path(pid, "status"));
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, name.size(), name) != 0 || line[name.size()] != ':') continue;
    const size_t at = line.find_first_not_of(" \t", name.size() + 1);
    return at != std::string::npos ? line.substr(at) : "";
  }
  return {};
}

std::string ptrace_refusal(uint64_t pid, const std::string& shown, int error) {
  if (error == ESRCH || (is_ended(status_field(pid, "State")) && !has_other_threads(pid))) {
    return "attach: " + shown + " has ended";
  }
  // Another than we, who came after the process was looked at.
  const std::string tracer = tracer_of(pid);
  if (!tracer.empty() && tracer != std::to_string(getpid()))
    return "attach: " + is_traced(pid, shown, tracer);
  std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
  int scope = 0;
  file >> scope;
  std::string line = "attach: " + shown + " may not be traced: " + error_text(error);
  if (scope == 3) return line + "; this system forbids it to all (kernel.yama.ptrace_scope is 3)";
  if (scope != 0 && geteuid() != 0) {
    return line + "; try as root, or let root set kernel.yama.ptrace_scope to 0 (it is " +
           std::to_string(scope) + ")";
  }
  return line + "; " + how_to_look();
}

Target find_target(uint64_t pid) {
  Target target;
  target.pid = pid;
  if (!is_running(pid)) refuse("process " + std::to_string(pid) + " does not exist");
  target.shown = describe_process(pid);
  if (pid == static_cast<uint64_t>(getpid())) refuse(target.shown + " is this command itself");
  return target;
}

TargetMemory read_ranges(Target* target) {
  int error = 0;
  target->identity = program_identity(target->pid);
  target->auxiliary_vector = auxiliary_vector(target->pid);
  target->ranges = memory_ranges(target->pid, &error);
  if (target->ranges.empty() && (error == EACCES || error == EPERM)) {
    refuse(target->shown + " is not yours: " + error_text(error) + "; " + how_to_look());
  }
  if (target->ranges.empty()) {
    refuse(target->shown + " has no memory: it has ended, or is a kernel thread");
  }
  TargetMemory memory(target->pid, TargetMemory::Access::kRead);
  if (memory.error() != 0) {
    throw Failure(ptrace_refusal(target->pid, target->shown, memory.error()), kRefused);
  }
  if (auxiliary_value(target->auxiliary_vector, AT_SECURE) != 0) {
    refuse(target->shown +
           " was started with rights that its caller has not (set-uid): its data would be private; let root "
           "start it");
  }
  return memory;
}

Target survey(uint64_t pid) {
  if (!processor::is_supported()) {
    refuse(std::string("not on this processor yet; ") + kStartAnew + or_by_python(pid));
  }
  Target target = find_target(pid);
  refuse_by_state(pid, target.shown);
  refuse_by_program(pid, target.shown);
  const TargetMemory memory = read_ranges(&target);
  read_started(memory, &target);
  const MemoryRange* executable = range_at(target.ranges, auxiliary_value(target.auxiliary_vector, AT_PHDR));
  find_calls(memory, &target);
  look_at_images(executable != nullptr ? executable->path : "", &target);
  return target;
}

}  // namespace memprof::cli
