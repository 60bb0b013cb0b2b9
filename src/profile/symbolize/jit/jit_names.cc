// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/jit/jit_names.h"

#include <unistd.h>

#include <memory>
#include <string_view>

#include "profile/files/regular_file.h"
#include "profile/files/system_file.h"
#include "profile/symbolize/files/file_image.h"
#include "profile/symbolize/jit/jitdump.h"
#include "profile/symbolize/jit/perf_map.h"

namespace memprof::profile {
namespace {

std::unique_ptr<FileImage> open_own_file(const std::string& path, uint64_t start_unix_ns) {
  struct stat status{};
  const int fd = open_regular_file(path, Links::kRefuse, &status);
  if (fd < 0) return nullptr;
  std::unique_ptr<FileImage> image;
  if (status.st_size > 0 && (status.st_uid == geteuid() || status.st_uid == 0)) {
    if (written_unix_ns(status) >= start_unix_ns) {
      image = FileImage::map(fd, static_cast<size_t>(status.st_size));
    }
  }
  ::close(fd);
  return image;
}

// Fills in what is not known yet.
void merge(std::vector<JitFrame> from, std::vector<JitFrame>* into) {
  for (size_t i = 0; i < from.size(); ++i) {
    if ((*into)[i].name.empty()) (*into)[i] = std::move(from[i]);
  }
}

}  // namespace

std::vector<JitFrame> find_jit_names(const JitProcess& process, const std::vector<uint64_t>& addresses) {
  std::vector<JitFrame> frames(addresses.size());
  if (process.pid == 0 || addresses.empty()) return frames;
  const std::string pid = std::to_string(process.pid);
  std::vector<std::string> dumps = process.mapped_dumps;
  for (const std::string& folder : process.folders) dumps.push_back(folder + "/jit-" + pid + ".dump");
  for (const std::string& path : dumps) {
    if (const auto image = open_own_file(path, process.start_unix_ns)) {
      merge(read_jitdump({image->data(), image->size()}, addresses), &frames);
    }
  }
  for (const std::string& folder : process.folders) {
    if (const auto image = open_own_file(folder + "/perf-" + pid + ".map", process.start_unix_ns)) {
      merge(read_perf_map({image->data(), image->size()}, addresses), &frames);
    }
  }
  return frames;
}

}  // namespace memprof::profile
