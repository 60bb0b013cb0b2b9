// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/program/target_program.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/host/program/elf_facts.h"
#include "memprof/host/program/find_library.h"

namespace memprof::cli {
namespace {

constexpr int kMaxInterpreters = 4;  // as the kernel has it

class File {
 public:
  explicit File(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // What of `size` bytes is there.
  std::string read(uint64_t offset, size_t size) const {
    std::string data(size, '\0');
    const ssize_t got = fd_ < 0 ? -1 : pread(fd_, data.data(), size, static_cast<off_t>(offset));
    data.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return data;
  }

  template <typename T>
  bool read_struct(uint64_t offset, T* value) const {
    const std::string data = read(offset, sizeof(T));
    if (data.size() != sizeof(T)) return false;
    std::memcpy(value, data.data(), sizeof(T));
    return true;
  }

 private:
  int fd_;
};

std::string interpreter_of(const File& file, const ElfW(Ehdr) & header) {
  if (header.e_phentsize != sizeof(ElfW(Phdr))) return {};
  for (size_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    if (!file.read_struct(header.e_phoff + i * sizeof(segment), &segment)) break;
    if (segment.p_type != PT_INTERP) continue;
    const std::string text = file.read(segment.p_offset, std::min<size_t>(segment.p_filesz, 4096));
    return text.substr(0, text.find('\0'));
  }
  return {};
}

std::string word_at(const std::string& line, size_t offset) {
  const size_t begin = line.find_first_not_of(" \t", offset);
  if (begin == std::string::npos) return {};
  return line.substr(begin, line.find_first_of(" \t\r", begin) - begin);
}

// The interpreter of a script; empty: it is none.
std::string script_interpreter(const std::string& beginning) {
  if (beginning.compare(0, 2, "#!") != 0) return {};
  const std::string line = beginning.substr(2, beginning.find('\n') - 2);
  return word_at(line, 0);
}

// What `#!/usr/bin/env NAME` looks for in PATH; empty: nothing so simple.
std::string searched_interpreter(const std::string& beginning, const std::string& interpreter) {
  if (interpreter.size() < 4 || interpreter.compare(interpreter.size() - 4, 4, "/env") != 0) return {};
  const std::string line = beginning.substr(2, beginning.find('\n') - 2);
  const std::string name = word_at(line, line.find(interpreter) + interpreter.size());
  return name.empty() || name[0] == '-' || name.find('=') != std::string::npos ? std::string() : name;
}

std::string gained_privileges(const std::string& path, const struct stat& status) {
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid()) return "is set-uid";
  if ((status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0 && status.st_gid != getegid()) {
    return "is set-gid";
  }
  if (geteuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0) {
    return "has file capabilities";
  }
  return {};
}

constexpr char kOtherBuild[] = "profile another build of it: 64 bits, for this processor, with glibc";

bool is_sanitized(const std::string& path) {
  std::string unreadable;
  const auto file = profile::ElfFile::open(path, &unreadable);
  return file != nullptr && read_elf_facts(*file).sanitizer != nullptr;
}

bool is_go(const std::string& path) {
  std::string unreadable;
  const auto file = profile::ElfFile::open(path, &unreadable);
  return file != nullptr && read_elf_facts(*file).is_go;
}

// Where distributions install programs, which nobody links anew.
bool is_of_system(const std::string& path) {
  const auto begins = [&](const char* folder) { return path.rfind(folder, 0) == 0; };
  return begins("/bin/") || begins("/sbin/") || begins("/lib") || (begins("/usr/") && !begins("/usr/local/"));
}

void inspect_elf(const File& file, const std::string& path, const struct stat& status,
                 TargetProgram& target) {
  ElfW(Ehdr) ours;
  ElfW(Ehdr) header;
  target.elf = path;
  if (!File("/proc/self/exe").read_struct(0, &ours) || !file.read_struct(0, &header)) return;
  if (header.e_ident[EI_CLASS] != ours.e_ident[EI_CLASS] ||
      header.e_ident[EI_DATA] != ours.e_ident[EI_DATA] || header.e_machine != ours.e_machine) {
    const bool is_32_bit = header.e_ident[EI_CLASS] == ELFCLASS32;
    target.obstacle = path + (is_32_bit ? " is a 32-bit program" : " is for another processor") +
                      ", and libmemprof.so is not; " + kOtherBuild;
    target.can_preload = false;
    return;
  }
  const std::string loader = interpreter_of(file, header);
  if (loader.empty()) {
    target.obstacle = path + " is statically linked, so that no library can be preloaded" +
                      (is_go(path)          ? "; it is Go: its own heap profile is runtime/pprof"
                       : is_of_system(path) ? ""
                                            : "; link libmemprof.a into it");
    return;
  }
  const Libc libc = libc_of_loader(loader.c_str());
  if (libc == Libc::kMusl) {
    const MuslLibrary musl = find_musl_library();
    target.library = musl.path;
    if (musl.path.empty()) {
      target.obstacle =
          path + " uses musl, and libmemprof.so was built for glibc; " + musl.to_do + ", or " + kOtherBuild;
      target.can_preload = false;
      return;
    }
  }
  if (libc == Libc::kOther) {
    target.obstacle =
        path + " is loaded by " + loader + ", and libmemprof.so was built for glibc; " + kOtherBuild;
    target.can_preload = false;
    return;
  }
  target.can_preload = !is_sanitized(path);  // its allocator is the obstacle: doctor_allocator.h
  const std::string privileges = gained_privileges(path, status);
  if (!privileges.empty()) {
    target.obstacle = path + " " + privileges +
                      ", and the loader ignores preloaded libraries then; run it as its owner or root";
  }
}

// 0, or why `path` cannot be executed.
int executable_error(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return errno;
  if (S_ISDIR(status.st_mode)) return EISDIR;
  if (!S_ISREG(status.st_mode) || faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) != 0) return EACCES;
  return 0;
}

std::vector<std::string> candidates(const std::string& command) {
  if (command.find('/') != std::string::npos) return {command};
  const char* variable = std::getenv("PATH");
  const std::string path = variable != nullptr ? variable : "/bin:/usr/bin";
  std::vector<std::string> all;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    const std::string folder = path.substr(begin, end - begin);
    all.push_back(folder.empty() ? "./" + command : folder + "/" + command);
    begin = end + 1;
  }
  return all;
}

void inspect_file(const std::string& path, int depth, TargetProgram& target) {
  struct stat status{};
  const File file(path);
  const std::string beginning = file.read(0, 512);
  if (beginning.empty() || stat(path.c_str(), &status) != 0) return;  // executable, but not readable
  if (beginning.compare(0, SELFMAG, ELFMAG) == 0) {
    inspect_elf(file, path, status, target);
    return;
  }
  if (depth >= kMaxInterpreters) return;
  const bool is_script = beginning.compare(0, 2, "#!") == 0;
  // A text without #! is run by the shell, as by execvp.
  const std::string interpreter = is_script ? script_interpreter(beginning) : "/bin/sh";
  if (interpreter.empty()) return;
  if (access(interpreter.c_str(), X_OK) != 0) {
    const int error = errno;
    target.status = error == ENOENT || error == ENOTDIR ? kNotFound : kCannotExecute;
    target.error = path + ": its interpreter " + interpreter + ": " + error_text(error);
    return;
  }
  inspect_file(interpreter, depth + 1, target);
  const std::string searched = is_script ? searched_interpreter(beginning, interpreter) : "";
  if (searched.empty() || !target.obstacle.empty()) return;
  for (const std::string& candidate : candidates(searched)) {
    if (executable_error(candidate) != 0) continue;
    inspect_file(candidate, depth + 1, target);
    return;
  }
}

}  // namespace

std::string preloaded_sanitizer() {
  const char* list = std::getenv("LD_PRELOAD");
  const std::string libraries = list != nullptr ? list : "";
  for (size_t begin = 0; begin < libraries.size();) {
    const size_t end = std::min(libraries.find_first_of(" :", begin), libraries.size());
    std::string library = libraries.substr(begin, end - begin);
    if (sanitizer_of_library(library.c_str()) != nullptr) return library;
    begin = end + 1;
  }
  return {};
}

Obstacle split_obstacle(const std::string& obstacle) {
  const size_t end = obstacle.find("; ");
  return {obstacle.substr(0, end), end == std::string::npos ? "" : obstacle.substr(end + 2)};
}

std::string without_path(const std::string& obstacle, const std::string& path) {
  return obstacle.substr(obstacle.rfind(path, 0) == 0 ? path.size() + 1 : 0);
}

std::string elf_interpreter(const std::string& path) {
  const File file(path);
  ElfW(Ehdr) header;
  return file.read_struct(0, &header) ? interpreter_of(file, header) : std::string();
}

bool is_musl_loader(const std::string& path) {
  return libc_of_loader(path.c_str()) == Libc::kMusl;
}

TargetProgram inspect_target(const std::string& command) {
  TargetProgram target;
  int worst = ENOENT;
  const bool has_slash = command.find('/') != std::string::npos;
  for (const std::string& candidate : command.empty() ? std::vector<std::string>() : candidates(command)) {
    const int error = executable_error(candidate);
    if (error == 0) {
      target.path = candidate;
      inspect_file(candidate, 0, target);
      return target;
    }
    // A folder of that name in PATH says nothing; a file that may not be executed does.
    if (error == EACCES || has_slash) worst = error;
  }
  const bool is_missing = worst == ENOENT || worst == ENOTDIR;
  target.status = is_missing ? kNotFound : kCannotExecute;
  target.error = command + ": cannot run it: ";
  if (is_missing) {
    target.error += has_slash ? "no such file" : "not found in PATH";
  } else {
    target.error += error_text(worst);
  }
  return target;
}

}  // namespace memprof::cli
