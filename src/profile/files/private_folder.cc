// SPDX-License-Identifier: Apache-2.0
#include "profile/files/private_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <random>
#include <utility>

#include "profile/files/descriptor.h"
#include "profile/files/regular_file.h"
#include "profile/files/system_file.h"

namespace memprof::profile {
namespace {

constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;

bool is_ours(const struct stat& status) {
  return status.st_uid == geteuid() && (status.st_mode & kOthersMayWrite) == 0;
}

// Why somebody else could put another folder in the place of one in here; "": nobody can.
std::string why_not_parent(int folder) {
  struct stat status{};
  if (fstat(folder, &status) != 0) return std::strerror(errno);
  if (status.st_uid != 0 && status.st_uid != geteuid()) return "belongs to another user";
  if ((status.st_mode & kOthersMayWrite) != 0 && (status.st_mode & S_ISVTX) == 0) {
    return "other users may replace what is in it";
  }
  return {};
}

// -1: see errno; EPERM: it is not ours alone.
int open_own_folder(int parent, const char* name, bool makes, mode_t mode) {
  const bool is_new = makes && mkdirat(parent, name, mode) == 0;
  if (makes && !is_new && errno != EEXIST) return -1;
  Descriptor folder(openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status{};
  if (folder.get() < 0 || fstat(folder.get(), &status) != 0) return -1;
  if (is_new) fchmod(folder.get(), mode);  // whatever the umask
  if (is_ours(status)) return folder.release();
  errno = EPERM;
  return -1;
}

// -1: see errno.
int open_own_file(int folder, const char* name, struct stat* status) {
  Descriptor file(openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (file.get() < 0 || fstat(file.get(), status) != 0) return -1;
  if (S_ISREG(status->st_mode) && is_ours(*status)) return file.release();
  errno = EPERM;
  return -1;
}

// 0 or an errno.
int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count == 0 ? ENOSPC : errno;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return 0;
}

// By chance: containers that share a folder have processes of one number.
std::string name_of_part() {
  std::random_device random;
  return ".part." + std::to_string(random()) + std::to_string(random());
}

}  // namespace

PrivateFolder::PrivateFolder(std::string parent, std::vector<std::string> names)
    : parent_(std::move(parent)), names_(std::move(names)) {}

std::string PrivateFolder::path() const {
  std::string path = parent_;
  for (const std::string& name : names_) path += (path == "/" ? "" : "/") + name;
  return path;
}

int PrivateFolder::open(bool makes, std::string* why) const {
  const auto fail = [&](const std::string& path, const std::string& what) {
    *why = path + ": " + what;
    return -1;
  };
  if (parent_.empty() || parent_[0] != '/') return fail(parent_, "not an absolute path");
  int folder = ::open(parent_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return fail(parent_, std::strerror(errno));
  std::string path = parent_;
  if (const std::string not_parent = why_not_parent(folder); !not_parent.empty()) {
    ::close(folder);
    return fail(path, not_parent);
  }
  for (const std::string& name : names_) {
    path += (path == "/" ? "" : "/") + name;
    const mode_t mode = &name == &names_.back() ? 0700 : 0755;
    const int below = open_own_folder(folder, name.c_str(), makes, mode);
    const int error = errno;
    ::close(folder);
    if (below < 0) {
      return fail(
          path, error == EPERM ? "belongs to another user, or others may write to it" : std::strerror(error));
    }
    folder = below;
  }
  return folder;
}

std::optional<std::string> PrivateFolder::read(const std::string& name, size_t max_bytes) const {
  std::string why;
  const Descriptor folder(open(false, &why));
  if (folder.get() < 0) return std::nullopt;
  struct stat status{};
  const Descriptor file(open_own_file(folder.get(), name.c_str(), &status));
  if (file.get() < 0 || static_cast<uint64_t>(status.st_size) > max_bytes) return std::nullopt;
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  if (!read_at(file.get(), 0, bytes.data(), bytes.size())) return std::nullopt;
  return bytes;
}

bool PrivateFolder::write(const std::string& name, std::string_view bytes, std::string* why) const {
  const Descriptor folder(open(true, why));
  if (folder.get() < 0) return false;
  const std::string part = name_of_part();
  Descriptor file(
      openat(folder.get(), part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  int error = file.get() < 0 ? errno : write_all(file.get(), bytes);
  // Some file systems say only now that the disk is full.
  if (error == 0 && ::close(file.release()) != 0 && errno != EINTR) error = errno;
  if (error == 0 && renameat(folder.get(), part.c_str(), folder.get(), name.c_str()) != 0) error = errno;
  if (error == 0) return true;
  unlinkat(folder.get(), part.c_str(), 0);
  *why = path() + ": " + std::strerror(error);
  return false;
}

std::vector<PrivateFolder::File> PrivateFolder::files() const {
  std::vector<File> found;
  std::string why;
  Descriptor folder(open(false, &why));
  if (folder.get() < 0) return found;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(fdopendir(folder.get()), &closedir);
  if (entries == nullptr) return found;
  const int number = folder.release();  // closed with `entries`
  while (const dirent* entry = readdir(entries.get())) {
    struct stat status{};
    if (fstatat(number, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
      continue;
    found.push_back({entry->d_name, static_cast<uint64_t>(status.st_size), written_unix_ns(status)});
  }
  return found;
}

void PrivateFolder::remove(const std::string& name) const {
  std::string why;
  const Descriptor folder(open(false, &why));
  if (folder.get() >= 0) unlinkat(folder.get(), name.c_str(), 0);
}

void PrivateFolder::touch_if_older(const std::string& name, uint64_t age_ns) const {
  std::string why;
  const Descriptor folder(open(false, &why));
  struct stat status{};
  if (folder.get() < 0 || fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
  // (Nothing hangs on it where it cannot be set.)
  if (written_unix_ns(status) + age_ns < now_unix_ns())
    utimensat(folder.get(), name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

}  // namespace memprof::profile
