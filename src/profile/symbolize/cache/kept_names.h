// SPDX-License-Identifier: Apache-2.0
// Names of the code of one file, as a cache keeps them: by address, each text once.
//
// In a file: a line with the version, a checksum, and a message of Protocol Buffers with columns (kept_names.cc).
// Threads: one object, one thread.
// Failure: bytes that are not whole, or not what encode() makes, are nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/symbolize/object/object_file.h"

namespace memprof::profile {

class KeptNames {
 public:
  // `key`: what the names depend on, which is part of the bytes.  Nothing: also those of another key.
  static std::optional<KeptNames> decode(std::string_view bytes, const std::string& key);
  std::string encode(const std::string& key) const;

  // false: the address is not known.  Known, too, is one that nothing has a name for.
  bool find(uint64_t vaddr, CodeNames* names) const;
  // Of an address that is not known yet.
  void add(uint64_t vaddr, const CodeNames& names);
  // What `other` knows and this does not.
  void add_all(const KeptNames& other);

  size_t addresses() const { return places_.size(); }
  // About what encode() gives.
  size_t size_bytes() const { return text_bytes_ + 8 * (places_.size() + frames_.size()); }

 private:
  struct Frame {
    uint32_t name;  // of texts_
    uint32_t file;
    int64_t line;
    bool is_symbol;
  };
  struct Place {
    uint32_t first;  // of frames_
    uint32_t count;
    bool has_lines;
  };

  uint32_t text_index(const std::string& text);

  std::vector<std::string> texts_;
  std::unordered_map<std::string, uint32_t> text_indices_;
  std::vector<Frame> frames_;
  std::unordered_map<uint64_t, Place> places_;
  size_t text_bytes_ = 0;
};

}  // namespace memprof::profile
