// SPDX-License-Identifier: Apache-2.0
// Files (platform/files.h) and messages (platform/messages.h), by kernel32.
#include "platform/files.h"

#include <cerrno>

#include "format/printable.h"
#include "platform/messages.h"
#include "platform/windows/process/text.h"
#include "platform/windows/system.h"

namespace memprof::platform {
namespace {

constexpr DWORD kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
constexpr DWORD kMaxPart = 1 << 30;

int last_error() {
  switch (GetLastError()) {
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS:
      return -EEXIST;
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
      return -ENOENT;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
      return -EACCES;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
      return -ENOSPC;
    case ERROR_WRITE_PROTECT:
      return -EROFS;
    case ERROR_TOO_MANY_OPEN_FILES:
      return -EMFILE;
    default:
      return -EIO;
  }
}

HANDLE open_for_reading(const char* path) {
  const WidePath wide(path);
  return CreateFileW(wide.text, GENERIC_READ, kShareAll, nullptr, OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT,
                     nullptr);
}

}  // namespace

int file_create(const char* path) {
  const WidePath wide(path);
  const HANDLE file =
      CreateFileW(wide.text, GENERIC_WRITE, kShareAll, nullptr, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, nullptr);
  return file == INVALID_HANDLE_VALUE ? last_error() : fd_of(file);
}

int file_write(int fd, const void* data, size_t size_bytes) {
  for (auto at = static_cast<const uint8_t*>(data); size_bytes != 0;) {
    const DWORD part = size_bytes < kMaxPart ? static_cast<DWORD>(size_bytes) : kMaxPart;
    DWORD written = 0;
    if (!WriteFile(handle_of(fd), at, part, &written, nullptr)) {
      return last_error();
    }
    at += written;
    size_bytes -= written;
  }
  return 0;
}

int file_close(int fd) {
  return CloseHandle(handle_of(fd)) ? 0 : last_error();
}

int file_open(const char* path, uint64_t* size_bytes) {
  const HANDLE file = open_for_reading(path);
  if (file == INVALID_HANDLE_VALUE) {
    return last_error();
  }
  BY_HANDLE_FILE_INFORMATION facts;
  constexpr DWORD kOther = FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT | FILE_ATTRIBUTE_DEVICE;
  if (GetFileType(file) != FILE_TYPE_DISK || !GetFileInformationByHandle(file, &facts) ||
      (facts.dwFileAttributes & kOther) != 0) {
    CloseHandle(file);
    return -EINVAL;
  }
  *size_bytes = (uint64_t{facts.nFileSizeHigh} << 32) | facts.nFileSizeLow;
  return fd_of(file);
}

bool file_read(int fd, uint64_t offset, void* bytes, size_t size_bytes) {
  for (auto at = static_cast<uint8_t*>(bytes); size_bytes != 0;) {
    const DWORD part = size_bytes < kMaxPart ? static_cast<DWORD>(size_bytes) : kMaxPart;
    OVERLAPPED where{};
    where.Offset = static_cast<DWORD>(offset);
    where.OffsetHigh = static_cast<DWORD>(offset >> 32);
    DWORD got = 0;
    if (!ReadFile(handle_of(fd), at, part, &got, &where) || got == 0) {
      return false;
    }
    at += got;
    offset += got;
    size_bytes -= got;
  }
  return true;
}

// A sparse file reads 0 where it has no memory, which costs nothing here.
uint64_t file_data_end(int fd, uint64_t offset) {
  LARGE_INTEGER size;
  const bool is_known = GetFileSizeEx(handle_of(fd), &size);
  const uint64_t end = is_known ? static_cast<uint64_t>(size.QuadPart) : 0;
  return end < offset ? offset : end;
}

void* file_map(const char* path, size_t size_bytes) {
  const WidePath wide(path);
  const HANDLE file = CreateFileW(wide.text, GENERIC_READ | GENERIC_WRITE, kShareAll, nullptr, OPEN_EXISTING,
                                  FILE_FLAG_OPEN_REPARSE_POINT, nullptr);
  if (file == INVALID_HANDLE_VALUE) {
    return nullptr;
  }
  void* start = nullptr;
  LARGE_INTEGER size;
  if (GetFileSizeEx(file, &size) && static_cast<uint64_t>(size.QuadPart) == size_bytes) {
    if (const HANDLE section = CreateFileMappingW(file, nullptr, PAGE_READWRITE, 0, 0, nullptr)) {
      start = MapViewOfFile(section, FILE_MAP_READ | FILE_MAP_WRITE, 0, 0, size_bytes);
      CloseHandle(section);
    }
  }
  CloseHandle(file);
  return start;
}

int file_rename(const char* from, const char* to, bool overwrite) {
  const WidePath wide_from(from);
  const WidePath wide_to(to);
  return MoveFileExW(wide_from.text, wide_to.text, overwrite ? MOVEFILE_REPLACE_EXISTING : 0) ? 0
                                                                                              : last_error();
}

bool file_remove(const char* path) {
  const WidePath wide(path);
  return DeleteFileW(wide.text);
}

bool file_exists(const char* path) {
  const WidePath wide(path);
  return GetFileAttributesW(wide.text) != INVALID_FILE_ATTRIBUTES;
}

const char* error_text(int error) {
  switch (-error) {
    case EACCES:
    case EPERM:
      return "permission denied, or another program has it open";
    case ENOENT:
      return "no such folder";
    case EEXIST:
      return "it is there already";
    case ENOSPC:
      return "no space left";
    case EROFS:
      return "the disk is write-protected";
    case EMFILE:
      return "too many open files";
    default:
      return "the system refused it";
  }
}

void set_last_error(int error) {
  errno = -error;
}

// A write to the handle of standard error, nothing else: it may be a file, a pipe or a console.
void message(const char* const* parts) {
  constexpr size_t kMaxBytes = 2048;
  char text[kMaxBytes + 1];
  size_t length = 0;
  const auto put = [&](const char* from, size_t bytes) {
    for (size_t i = 0; i < bytes && length < kMaxBytes; ++i) {
      text[length++] = from[i];
    }
  };
  put("memprof: ", 9);
  for (; *parts != nullptr; ++parts) {
    for (const char* at = *parts; *at != '\0';) {
      const size_t printable = printable_length(at);
      put(printable != 0 ? at : "?", printable != 0 ? printable : 1);
      at += printable != 0 ? printable : 1;
    }
  }
  text[length++] = '\n';
  const DWORD error = GetLastError();
  const HANDLE file = GetStdHandle(STD_ERROR_HANDLE);
  DWORD written;
  if (file != nullptr && file != INVALID_HANDLE_VALUE) {
    WriteFile(file, text, static_cast<DWORD>(length), &written, nullptr);
  }
  SetLastError(error);
}

void remember_standard_error() {}
void doubt_standard_error() {}

// There are no signals.
bool on_signal(const char*, void (*)()) {
  return false;
}
SignalUse signal_use() {
  return SignalUse::kOurs;
}

}  // namespace memprof::platform
