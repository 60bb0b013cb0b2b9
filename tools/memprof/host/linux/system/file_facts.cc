// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/system/file_facts.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace memprof::cli {

int read_file_facts(const std::string& path, FileFacts* facts) {
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0) return errno;
  facts->is_file = S_ISREG(status.st_mode);
  facts->is_folder = S_ISDIR(status.st_mode);
  facts->user_id = status.st_uid;
  facts->memory_bytes = static_cast<uint64_t>(status.st_blocks) * 512;
  facts->changed_s = status.st_mtime;
  facts->number = status.st_ino;
  return 0;
}

bool may_change_of(uint32_t user_id) {
  return user_id == geteuid() || geteuid() == 0;
}

std::string user_name(uint32_t user_id) {
  // Not getpwuid: in a static program it loads libraries of the system, made for another C library.
  FILE* const users = fopen("/etc/passwd", "re");
  const passwd* user = nullptr;
  while (users != nullptr && (user = fgetpwent(users)) != nullptr && user->pw_uid != user_id) {
  }
  if (users != nullptr) fclose(users);
  return (user != nullptr ? std::string(user->pw_name) + " (" : "(") + "uid " + std::to_string(user_id) + ")";
}

int why_not_readable(const std::string& path) {
  return access(path.c_str(), R_OK) == 0 ? 0 : errno;
}

bool is_writable_folder(const std::string& path) {
  return access(path.c_str(), W_OK | X_OK) == 0;
}

int remove_file(const std::string& path) {
  const std::filesystem::path file(path);
  const int folder = open(file.parent_path().c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return errno;
  const int error = unlinkat(folder, file.filename().c_str(), 0) == 0 ? 0 : errno;
  close(folder);
  return error;
}

void remove_empty_folder(const std::string& path) {
  rmdir(path.c_str());
}

int read_folder_facts(const std::string& path, FolderFacts* facts) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return errno;
  facts->is_folder = S_ISDIR(status.st_mode);
  struct statvfs system{};
  if (statvfs(path.c_str(), &system) != 0) return errno;
  facts->is_read_only = (system.f_flag & ST_RDONLY) != 0;
  facts->free_bytes = uint64_t{system.f_bavail} * system.f_frsize;
  return 0;
}

int try_to_write_in(const std::string& folder) {
  std::string name = folder + "/memprof-doctor-XXXXXX";
  const int fd = mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) return errno;
  // One page is really written: a full file system takes the name and the length, too.
  const char byte = 1;
  int error = ftruncate(fd, static_cast<off_t>(1 << 16)) == 0 ? 0 : errno;
  if (error == 0 && pwrite(fd, &byte, 1, 0) != 1) error = errno;
  close(fd);
  unlink(name.c_str());
  return error;
}

}  // namespace memprof::cli
