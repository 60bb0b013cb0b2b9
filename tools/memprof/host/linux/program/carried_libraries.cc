// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/program/carried_libraries.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>
#include <utility>

#include "memprof/console/failure.h"
#include "memprof/host/system/memory_file.h"

namespace memprof::cli {
namespace {

constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;
constexpr mode_t kFolderMode =
    0755;  // a server that root starts works as somebody else, and loads the library
constexpr mode_t kFileMode = 0755;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  int number_;
};

// Why somebody else could put another folder in the place of one in here; "": nobody can.
std::string why_not_parent(int folder) {
  struct stat status{};
  if (fstat(folder, &status) != 0) return strerror(errno);
  if (status.st_uid != 0 && status.st_uid != geteuid()) return "it belongs to another user";
  if ((status.st_mode & kOthersMayWrite) != 0 && (status.st_mode & S_ISVTX) == 0) {
    return "other users may replace what is in it";
  }
  return {};
}

std::string why_not_ours(int file) {
  struct stat status{};
  if (fstat(file, &status) != 0) return strerror(errno);
  if (status.st_uid != geteuid()) return "belongs to another user";
  if ((status.st_mode & kOthersMayWrite) != 0) return "other users may write to it";
  return {};
}

// The folder `name` of ours, which is made if it is not there.
Descriptor open_own_folder(int parent, const char* name, std::string* why) {
  const bool is_new = mkdirat(parent, name, kFolderMode) == 0;
  if (!is_new && errno != EEXIST) {
    *why = strerror(errno);
    return Descriptor(-1);
  }
  Descriptor folder(openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.is_open()) {
    *why = std::string(name) + " in it: " + strerror(errno);
    return folder;
  }
  if (is_new) fchmod(folder.number(), kFolderMode);  // whatever the umask
  const std::string not_ours = why_not_ours(folder.number());
  if (!not_ours.empty()) {
    *why = std::string(name) + " in it " + not_ours;
    return Descriptor(-1);
  }
  return folder;
}

bool has_content(int file, const CarriedFile& carried) {
  struct stat status{};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  if (static_cast<size_t>(status.st_size) != carried.size_bytes) return false;
  std::vector<unsigned char> buffer(1 << 16);
  size_t at = 0;
  while (at < carried.size_bytes) {
    const ssize_t count = pread(file, buffer.data(), buffer.size(), static_cast<off_t>(at));
    if (count <= 0 || static_cast<size_t>(count) > carried.size_bytes - at) return false;
    if (memcmp(buffer.data(), carried.bytes + at, static_cast<size_t>(count)) != 0) return false;
    at += static_cast<size_t>(count);
  }
  return true;
}

bool is_there(int folder, const char* name, const CarriedFile& carried) {
  const Descriptor file(openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  return file.is_open() && why_not_ours(file.number()).empty() && has_content(file.number(), carried);
}

// Returns the errno, or 0.
int write_all(int file, const CarriedFile& carried) {
  size_t at = 0;
  while (at < carried.size_bytes) {
    const ssize_t count = write(file, carried.bytes + at, carried.size_bytes - at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count == 0 ? ENOSPC : errno;
    at += static_cast<size_t>(count);
  }
  return 0;
}

int write_file(int folder, const char* name, const CarriedFile& carried) {
  // By chance: containers that share a folder have processes of one number.
  std::random_device random;
  const std::string part =
      "." + std::string(name) + "." + std::to_string(random()) + std::to_string(random());
  const Descriptor file(
      openat(folder, part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode));
  if (!file.is_open()) return errno;
  int error = write_all(file.number(), carried);
  if (error == 0 && fchmod(file.number(), kFileMode) != 0) error = errno;
  if (error == 0 && renameat(folder, part.c_str(), folder, name) != 0) error = errno;
  if (error != 0) unlinkat(folder, part.c_str(), 0);
  return error;
}

// "": it is there.
std::string put_file(int folder, const CarriedFile& carried) {
  Descriptor below(fcntl(folder, F_DUPFD_CLOEXEC, 0));
  const char* name = carried.path;
  for (const char* slash = strchr(name, '/'); slash != nullptr; slash = strchr(name, '/')) {
    std::string why;
    below = open_own_folder(below.number(), std::string(name, slash).c_str(), &why);
    if (!below.is_open()) return why;
    name = slash + 1;
  }
  if (is_there(below.number(), name, carried)) return {};
  const int error = write_file(below.number(), name, carried);
  if (error != 0) return strerror(error);
  return is_there(below.number(), name, carried) ? "" : "what was written there is not what can be read";
}

std::string unpack_into(const Carried& carried, const CacheFolder& candidate, std::string* why) {
  if (candidate.parent.empty() || candidate.parent[0] != '/') {
    *why = "not an absolute path";  // it would be another folder for each program
    return {};
  }
  const Descriptor parent(open(candidate.parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent.is_open()) {
    *why = strerror(errno);
    return {};
  }
  struct statvfs system{};
  if (fstatvfs(parent.number(), &system) == 0 && (system.f_flag & ST_NOEXEC) != 0) {
    *why = "mounted noexec";
    return {};
  }
  *why = why_not_parent(parent.number());
  if (!why->empty()) return {};
  const Descriptor cache = open_own_folder(parent.number(), candidate.name.c_str(), why);
  if (!cache.is_open()) return {};
  const Descriptor folder = open_own_folder(cache.number(), carried.id, why);
  if (!folder.is_open()) return {};
  for (size_t i = 0; i < carried.count; ++i) {
    *why = put_file(folder.number(), carried.files[i]);
    if (!why->empty()) return {};
  }
  return candidate.parent + "/" + candidate.name + "/" + carried.id;
}

const char* variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value == '/' ? value : nullptr;
}

// nullptr: none is.
const char* given_cache() {
  const char* const given = std::getenv("MEMPROF_CACHE_DIR");
  return given != nullptr && *given != '\0' ? given : nullptr;
}

// A file in memory, which the programs of a run find while this command lasts.
std::string memory_path(const CarriedFile& carried) {
  const int file = make_memory_file();
  if (file < 0 || write_all(file, carried) != 0) {
    if (file >= 0) close(file);
    return {};
  }
  std::string path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file);
  if (access(path.c_str(), R_OK) == 0) return path;
  close(file);
  return {};
}

CarriedLibraries put_somewhere(const Carried& carried) {
  std::string reasons;
  const std::string folder = unpack(carried, cache_folders(), &reasons);
  if (folder.empty() && given_cache() != nullptr) {
    throw Failure("MEMPROF_CACHE_DIR: " + reasons +
                  "; name a folder of yours that is not mounted noexec, or unset it");
  }
  CarriedLibraries libraries;
  for (size_t i = 0; i < carried.count; ++i) {
    const std::string path =
        folder.empty() ? memory_path(carried.files[i]) : folder + "/" + carried.files[i].path;
    if (path.empty()) {
      throw Failure("no folder for libmemprof.so, which this command carries (" + reasons +
                    "); set MEMPROF_CACHE_DIR to a folder of yours that is not mounted noexec");
    }
    switch (carried.files[i].programs) {
      case CarriedFor::kGlibc:
        libraries.glibc = path;
        break;
      case CarriedFor::kMusl:
        libraries.musl = path;
        break;
      case CarriedFor::kRunningMusl:
        libraries.musl_dlopen = path;
        break;
    }
  }
  return libraries;
}

}  // namespace

std::vector<CacheFolder> cache_folders() {
  if (const char* const given = given_cache()) return {{given, "memprof"}};
  std::vector<CacheFolder> folders;
  const std::string own = "memprof-" + std::to_string(geteuid());
  const char* const home = variable("HOME");
  if (geteuid() == 0) {
    folders.push_back(
        {"/var/cache", "memprof"});  // other users, as whom servers work, cannot read root's home
  } else if (const char* const cache = variable("XDG_CACHE_HOME")) {
    folders.push_back({cache, "memprof"});
  } else if (home != nullptr) {
    const std::string of_home = std::string(home) + "/.cache";
    mkdir(of_home.c_str(), 0700);
    folders.push_back({of_home, "memprof"});
  }
  if (const char* const temporary = variable("TMPDIR")) folders.push_back({temporary, own});
  for (const char* parent : {"/tmp", "/var/tmp", "/dev/shm"}) folders.push_back({parent, own});
  return folders;
}

std::string unpack(const Carried& carried, const std::vector<CacheFolder>& candidates, std::string* reasons) {
  for (const CacheFolder& candidate : candidates) {
    std::string why;
    std::string folder = unpack_into(carried, candidate, &why);
    if (!folder.empty()) return folder;
    *reasons += (reasons->empty() ? "" : ", ") + candidate.parent + ": " + why;
  }
  return {};
}

const CarriedLibraries& carried_libraries() {
  static const CarriedLibraries libraries =
      carried_by_this_command().count == 0 ? CarriedLibraries() : put_somewhere(carried_by_this_command());
  return libraries;
}

bool is_carried(const Carried& carried, const std::string& library) {
  const Descriptor file(open(library.c_str(), O_RDONLY | O_CLOEXEC));
  return file.is_open() &&
         std::any_of(carried.files, carried.files + carried.count, [&file](const CarriedFile& one) {
           return one.programs == CarriedFor::kGlibc && has_content(file.number(), one);
         });
}

}  // namespace memprof::cli
