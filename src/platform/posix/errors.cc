// SPDX-License-Identifier: Apache-2.0
// Errors of the seam as text (platform/files.h).
#include <errno.h>

#include "platform/files.h"

namespace memprof::platform {

static_assert(kFileExists == -EEXIST);

const char* error_text(int error) {
  switch (-error) {
    case EACCES:
    case EPERM:
      return "permission denied";
    case ENOENT:
      return "no such folder";
    case ENOTDIR:
      return "a part of the path is not a folder";
    case EISDIR:
      return "it is a folder";
    case EEXIST:
      return "it is there already";
    case ENOSPC:
    case EDQUOT:
      return "no space left";
    case EROFS:
      return "the file system is read-only";
    case EFBIG:
      return "the file size limit is reached";
    case EMFILE:
    case ENFILE:
      return "too many open files";
    default:
      return "the system refused it";
  }
}

void set_last_error(int error) {
  errno = -error;
}

}  // namespace memprof::platform
