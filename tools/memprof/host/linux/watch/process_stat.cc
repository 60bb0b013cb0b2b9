// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/watch/process_stat.h"

#include <fcntl.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>

#include "memprof/host/linux/process/proc_path.h"

namespace memprof::cli {

bool ProcessStat::read(uint64_t id) {
  const int fd = open(proc_path(id, "stat").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[1024];
  const ssize_t got = ::read(fd, text, sizeof(text));
  close(fd);
  return got > 0 && parse(id, std::string(text, static_cast<size_t>(got)));
}

bool ProcessStat::parse(uint64_t id, const std::string& text) {
  const size_t name_begin = text.find('(');
  const size_t name_end = text.rfind(')');  // the name may have anything in it
  if (name_begin == std::string::npos || name_end == std::string::npos || name_end < name_begin) return false;
  pid = id;
  name = text.substr(name_begin + 1, name_end - name_begin - 1);
  uint64_t code_start = 0;
  uint64_t code_end = 0;
  // Fields 3, 4, 22, 26, 27 and 28.
  const int got = std::sscanf(text.c_str() + name_end + 1,
                              " %c %" SCNu64
                              " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                              "%*s %" SCNu64 " %*s %*s %*s %" SCNu64 " %" SCNu64 " %" SCNu64,
                              &state, &parent, &start, &code_start, &code_end, &stack_start);
  code_bytes = code_end - code_start;
  return got == 6;
}

}  // namespace memprof::cli
