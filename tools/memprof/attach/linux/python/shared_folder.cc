// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/python/shared_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <random>
#include <sstream>
#include <utility>

#include "memprof/attach/linux/memory_file.h"
#include "memprof/attach/linux/target/survey.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/host/linux/process/proc_path.h"

namespace memprof::cli {
namespace {

constexpr const char* kParents[] = {"/tmp", "/dev/shm", "/var/tmp"};
constexpr size_t kMaxRead = 4096;
constexpr int kToRead = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

std::string new_name(uint64_t pid) {
  std::random_device random;
  char text[64];
  static_cast<void>(std::snprintf(text, sizeof(text), "memprof-attach-%llu-%08x%08x",
                                  static_cast<unsigned long long>(pid), random(), random()));
  return text;
}

// "real effective saved ...": the effective one.
uint32_t id_of(uint64_t pid, const char* field) {
  std::istringstream text(status_field(pid, field));
  uint32_t real = 0;
  uint32_t effective = 0;
  text >> real >> effective;
  return effective;
}

}  // namespace

SharedFolder::SharedFolder(uint64_t pid, const std::string& shown, std::vector<std::string> leftovers)
    : pid_(pid), shown_(shown), names_(std::move(leftovers)) {
  int error = 0;
  for (const char* parent : kParents) {
    parent_ = open((proc_path(pid, "root") + parent).c_str(), kToRead | O_DIRECTORY);
    name_ = new_name(pid);
    if (parent_ >= 0 && mkdirat(parent_, name_.c_str(), 0700) == 0) {
      path_ = std::string(parent) + "/" + name_;
      folder_ = openat(parent_, name_.c_str(), kToRead | O_DIRECTORY);
      if (folder_ >= 0) return;
      error = errno;
      unlinkat(parent_, name_.c_str(), AT_REMOVEDIR);
    } else {
      error = errno;
    }
    if (parent_ >= 0) close(parent_);
    parent_ = -1;
  }
  throw Failure("attach: --python: no folder for a script can be made in /tmp, /dev/shm or /var/tmp of " +
                    shown + ": " + error_text(error),
                kRefused);
}

SharedFolder::~SharedFolder() {
  for (const int file : files_) close(file);
  for (const std::string& name : names_) unlinkat(folder_, name.c_str(), 0);
  close(folder_);
  unlinkat(parent_, name_.c_str(), AT_REMOVEDIR);
  close(parent_);
}

int SharedFolder::create(const std::string& name) {
  const int file = openat(folder_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0)
    throw Failure("attach: --python: cannot write " + path_ + "/" + name + ": " + error_text(errno),
                  kRefused);
  names_.push_back(name);
  files_.push_back(file);
  return file;
}

void SharedFolder::put(const std::string& name, const std::string& content) {
  const int file = create(name);
  if (write(file, content.data(), content.size()) != static_cast<ssize_t>(content.size())) {
    throw Failure("attach: --python: cannot write " + path_ + "/" + name + ": no space left", kRefused);
  }
}

void SharedFolder::put_copy(const std::string& name, const std::string& of) {
  const int from = open(of.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0) throw Failure("attach: " + of + ": " + error_text(errno), kRefused);
  const int error = copy_file(from, create(name));
  close(from);
  if (error != 0) {
    throw Failure("attach: --python: cannot copy memprof's library to " + path_ + " of " + shown_ + ": " +
                      error_text(error),
                  kRefused);
  }
}

void SharedFolder::give() {
  const uint32_t user = id_of(pid_, "Uid");
  if (user == geteuid()) return;
  const uint32_t group = id_of(pid_, "Gid");
  bool is_given = fchown(folder_, user, group) == 0;
  for (const int file : files_) is_given = is_given && fchown(file, user, group) == 0;
  if (!is_given) {
    throw Failure("attach: --python: " + shown_ + " has another user, to whom " + path_ +
                      " cannot be given: " + error_text(errno) + "; try as its user, or as root",
                  kRefused);
  }
}

std::string SharedFolder::read(const std::string& name) const {
  const int file = openat(folder_, name.c_str(), kToRead);
  if (file < 0) return {};
  struct stat facts{};
  std::string text(kMaxRead, '\0');
  ssize_t got = -1;
  if (fstat(file, &facts) == 0 && S_ISREG(facts.st_mode)) got = ::read(file, text.data(), text.size());
  close(file);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

}  // namespace memprof::cli
