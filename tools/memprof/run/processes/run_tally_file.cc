// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/processes/run_tally_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "format/files/run_tally.h"
#include "memprof/host/process/process_ids.h"

namespace memprof::cli {

RunTallyFile::RunTallyFile(const std::string& folder, uint64_t run_token) {
  if (folder.empty()) return;
  const std::string path = folder + "/" + kRunTallyName;
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return;
  // Written, not only made so long: where the file system is full, who touched a page that it has not would be ended.
  const std::vector<char> zeros(sizeof(RunTally));
  if (::write(fd, zeros.data(), zeros.size()) == static_cast<ssize_t>(zeros.size())) {
    void* const start = mmap(nullptr, sizeof(RunTally), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (start != MAP_FAILED) {
      tally_ = static_cast<RunTally*>(start);
      tally_->run_token = run_token;
      tally_->pid_namespace = own_namespace();
      tally_->magic = RunTally::kMagic;
    }
  }
  ::close(fd);
  if (tally_ == nullptr) ::unlink(path.c_str());
}

RunTallyFile::~RunTallyFile() {
  if (tally_ != nullptr) munmap(tally_, sizeof(RunTally));
}

uint64_t RunTallyFile::processes() const {
  return tally_ != nullptr ? tally_->processes.load(std::memory_order_relaxed) : 0;
}

bool RunTallyFile::has(uint64_t pid, uint64_t process_start) const {
  return tally_ != nullptr && tally_->has(pid, process_start);
}

}  // namespace memprof::cli
