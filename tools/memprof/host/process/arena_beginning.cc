// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/arena_beginning.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/files/regular_file.h"

namespace memprof::cli {

ArenaBeginning read_beginning(const std::string& path) {
  // As of ArenaHeader (src/core/arena/arena.h).
  struct {
    uint64_t magic;
    uint32_t version;
    uint32_t header_bytes;
    uint64_t run_token;
  } head{};
  ArenaBeginning beginning;
  struct stat status{};
  const int fd = profile::open_regular_file(path, profile::Links::kRefuse, &status);
  if (fd < 0) return beginning;
  beginning.is_file = true;
  // Nothing, where it was made but not given its size.
  if (pread(fd, &head, sizeof(head), 0) > 0) {
    beginning.is_begun = head.magic != 0;
    beginning.run_token = head.run_token;
  }
  close(fd);
  return beginning;
}

bool is_begun(const std::string& path) {
  const ArenaBeginning beginning = read_beginning(path);
  return !beginning.is_file || beginning.is_begun;
}

}  // namespace memprof::cli
