// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/files/opened_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "profile/files/regular_file.h"
#include "profile/files/system_file.h"

namespace memprof::profile {
namespace {

// Readers check what they read and read it again: not of a file that changes in between.  What others can change is
// copied, up to this size.
constexpr size_t kMaxForeignBytes = size_t{1} << 30;

// Times of files have steps, of up to 2 s.
constexpr uint64_t kTimeStepNs = 2'000'000'000;

std::string lower_case_error(int error) {
  std::string text = std::strerror(error);
  if (text.size() > 1 && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

}  // namespace

std::string identity_of(const struct stat& status) {
  return fmt::format("{:x}:{}:{}:{}:{}", status.st_dev, status.st_ino, status.st_size,
                     written_unix_ns(status), changed_unix_ns(status));
}

bool open_file(const std::string& path, OpenedFile* file, std::string* why) {
  struct stat status{};
  const int fd = open_regular_file(path, Links::kFollow, &status);
  if (fd < 0) {
    *why = errno == EINVAL ? "not a regular file" : lower_case_error(errno);
    return false;
  }
  const auto size = static_cast<size_t>(std::max<off_t>(status.st_size, 0));
  file->is_trusted = is_trusted(status);
  if (!file->is_trusted && size > kMaxForeignBytes) {
    *why = "others can change it, and it is too large for a copy (more than 1 GiB)";
    ::close(fd);
    return false;
  }
  file->path = path;
  file->image = size == 0 ? nullptr : file->is_trusted ? FileImage::map(fd, size) : FileImage::copy(fd, size);
  const int map_error = errno;
  ::close(fd);
  if (file->image == nullptr && size > 0) {
    *why = lower_case_error(map_error);
    return false;
  }
  file->changed_unix_ns = changed_unix_ns(status);
  if (file->is_trusted && file->changed_unix_ns + kTimeStepNs < now_unix_ns())
    file->identity = identity_of(status);
  return true;
}

}  // namespace memprof::profile
