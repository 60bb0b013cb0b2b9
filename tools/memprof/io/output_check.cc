// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/output_check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "memprof/console/console.h"
#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

// Whether a file with contents can be made in `folder`; 0 or the errno.
int probe(const std::string& folder) {
  // Without a name, where the file system can do that: nobody sees it come and go.
  int fd = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  std::string name;
  if (fd < 0) {
    name = folder + "/.memprof-XXXXXX";
    fd = mkostemp(name.data(), O_CLOEXEC);
    if (fd < 0) return errno;
  }
  const std::string block(4096, '\0');
  errno = ENOSPC;
  const int error = ::write(fd, block.data(), block.size()) == static_cast<ssize_t>(block.size()) ? 0 : errno;
  ::close(fd);
  if (!name.empty()) unlink(name.c_str());
  return error;
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

void check_output_path(const std::string& path, bool may_replace) {
  struct stat status{};
  std::string target = path;
  if (stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) throw Failure(path + ": is a folder; give the name of a file (-o)");
    if (!S_ISREG(status.st_mode)) return;  // a device or a pipe is written to as it is
    if (!may_replace) throw Failure(path + ": file already exists; --force replaces it, -o names another");
    // A symbolic link stays one: the file that it points to is replaced.
    if (char* real = realpath(path.c_str(), nullptr); real != nullptr) {
      target = real;
      std::free(real);
    }
  }
  const std::string folder = folder_of(target);
  if (stat(folder.c_str(), &status) != 0) {
    throw Failure(path + ": the folder " + folder + ": " + error_text(errno) +
                  "; create it, or give another with -o");
  }
  if (!S_ISDIR(status.st_mode))
    throw Failure(path + ": " + folder + " is not a folder; give another with -o");
  if (const int error = probe(folder); error != 0) {
    throw Failure(path + ": cannot write in the folder " + folder + ": " + error_text(error) +
                  "; give another with -o");
  }
}

}  // namespace memprof::cli
