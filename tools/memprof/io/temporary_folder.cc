// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/temporary_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "memprof/console/console.h"
#include "memprof/console/failure.h"

namespace memprof::cli {

namespace {

bool can_be_written(const std::string& folder) {
  return access(folder.c_str(), W_OK | X_OK) == 0;
}

// $TMPDIR, else the first that can be written: systems of containers may have no /tmp.
std::string usual_parent() {
  const char* variable = std::getenv("TMPDIR");
  std::error_code error;
  if (variable != nullptr && *variable != '\0') return std::filesystem::absolute(variable, error).string();
  for (const char* parent : {"/tmp", "/var/tmp", "/dev/shm"}) {
    if (can_be_written(parent)) return parent;
  }
  const std::string here = std::filesystem::current_path(error).string();
  return !error && can_be_written(here) ? here : "/tmp";
}

}  // namespace

TemporaryFolder::TemporaryFolder() : TemporaryFolder(usual_parent(), "memprof-") {}

TemporaryFolder::TemporaryFolder(const std::string& parent, const std::string& name)
    : path_(parent + "/" + name + "XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr) {
    throw Failure(parent + ": no temporary folder can be made there: " + error_text(errno) +
                  "; set TMPDIR to a folder that can be written");
  }
}

TemporaryFolder::~TemporaryFolder() {
  if (is_kept_) return;
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

}  // namespace memprof::cli
