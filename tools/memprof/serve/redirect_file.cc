// SPDX-License-Identifier: Apache-2.0
#include "memprof/serve/redirect_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "profile/text/markup/html_text.h"

namespace memprof::cli {
namespace {

// "": it was written.
std::string write_private(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return error_text(errno);
  size_t done = 0;
  int error = 0;
  while (done < text.size() && error == 0) {
    const ssize_t wrote = ::write(fd, text.data() + done, text.size() - done);
    if (wrote >= 0) {
      done += static_cast<size_t>(wrote);
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (::close(fd) != 0 && error == 0) error = errno;
  return error == 0 ? "" : error_text(error);
}

}  // namespace

RedirectFile::RedirectFile(const std::string& address) : path_(folder_.path() + "/view.html") {
  const std::string target = profile::html_text(address);
  const std::string why = write_private(path_,
                                        "<!DOCTYPE html>\n"
                                        "<meta charset=\"utf-8\">\n"
                                        "<meta name=\"referrer\" content=\"no-referrer\">\n"
                                        "<meta http-equiv=\"refresh\" content=\"0;url=" +
                                            target +
                                            "\">\n"
                                            "<title>memprof</title>\n"
                                            "<p><a href=\"" +
                                            target + "\">The profile</a></p>\n");
  if (!why.empty()) throw Failure(path_ + ": cannot write it: " + why);
}

}  // namespace memprof::cli
