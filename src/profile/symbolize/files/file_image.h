// SPDX-License-Identifier: Apache-2.0
// The bytes of a file, mapped, so that only pages that are read come into memory; or of an unpacked section.
//
// Signals: a file can shrink while it is mapped, and what lay behind its new end then raises SIGBUS.  The
// first image installs a handler that puts zeros there; a SIGBUS of other memory goes on to the handler that
// was there before.
// Threads: any.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace memprof::profile {

class FileImage {
 public:
  // `size` bytes of the file from its beginning.  nullptr: cannot be mapped, see errno.
  static std::unique_ptr<FileImage> map(int fd, size_t size);

  // Of a file that others can change: a copy, which stays as it is.
  static std::unique_ptr<FileImage> copy(int fd, size_t size);

  explicit FileImage(std::vector<char> bytes);
  ~FileImage();
  FileImage(const FileImage&) = delete;
  FileImage& operator=(const FileImage&) = delete;

  // libelf writes there when it unpacks a section: to this copy, never to the file.
  char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  FileImage(char* data, size_t size) : data_(data), size_(size), is_mapped_(true) {}
  bool fill(int fd);

  std::vector<char> bytes_;
  char* data_;
  size_t size_;
  bool is_mapped_ = false;
};

}  // namespace memprof::profile
