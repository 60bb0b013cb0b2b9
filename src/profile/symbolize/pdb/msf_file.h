// SPDX-License-Identifier: Apache-2.0
// The container of a PDB (MSF 7.00): numbered streams, whose blocks lie anywhere in the file.
//
// Model: first block -> blocks of the directory -> directory: for each stream its size and its blocks.
// No stream shares blocks with another one, so streams are together no larger than the file: a file where they are is
// refused.  What is copied of a stream is therefore bounded by the size of the file.
//
// Threads: const member functions may run at the same time.
// Memory: the directory (1/1000 of the file).
// Owns: nothing; the bytes must live as long as the file and its streams do.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace memprof::profile {

class MsfFile;

class MsfStream {
 public:
  // An empty one.
  MsfStream() = default;

  uint32_t size() const { return size_; }

  // `size` bytes from `offset` on: in the file where they lie there in one piece, else copied into *buffer.  Empty: not all
  // of them are there.
  std::string_view bytes(uint64_t offset, uint64_t size, std::string* buffer) const;
  // All of them.
  std::string_view bytes(std::string* buffer) const { return bytes(0, size_, buffer); }

 private:
  friend class MsfFile;
  MsfStream(const MsfFile* file, uint32_t size, uint64_t blocks_at)
      : file_(file), size_(size), blocks_at_(blocks_at) {}

  const MsfFile* file_ = nullptr;
  uint32_t size_ = 0;
  uint64_t blocks_at_ = 0;  // in the directory
};

class MsfFile {
 public:
  // nullptr: it cannot be read, and *why says so.
  static std::unique_ptr<MsfFile> of_bytes(std::string_view bytes, std::string* why);

  MsfFile(const MsfFile&) = delete;
  MsfFile& operator=(const MsfFile&) = delete;

  // An empty one where there is none.
  MsfStream stream(uint32_t index) const;

 private:
  friend class MsfStream;
  struct Stream {
    uint32_t size;
    uint64_t blocks_at;  // in the directory
  };

  MsfFile(std::string_view bytes, uint32_t block_bytes) : bytes_(bytes), block_bytes_(block_bytes) {}
  bool read_directory();
  uint64_t blocks_of(uint64_t size) const { return (size + block_bytes_ - 1) / block_bytes_; }
  // Of the blocks whose numbers are `blocks`.
  std::string_view gather(std::string_view blocks, uint64_t offset, uint64_t size, std::string* buffer) const;

  std::string_view bytes_;
  uint32_t block_bytes_;
  std::string copy_;  // of the directory, unless it lies in one piece
  std::string_view directory_;
  std::vector<Stream> streams_;
};

}  // namespace memprof::profile
