// SPDX-License-Identifier: Apache-2.0
// Writes .eh_frame and .eh_frame_hdr byte by byte, so that tests can say anything in them, also what no
// compiler writes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "unwind/tables/eh_frame.h"

namespace memprof::unwind_test {

using Blob = std::vector<uint8_t>;

inline void append(Blob* blob, const Blob& more) {
  blob->insert(blob->end(), more.begin(), more.end());
}

template <typename T>
Blob raw(T value) {
  Blob blob(sizeof(T));
  memcpy(blob.data(), &value, sizeof(T));
  return blob;
}

inline Blob uleb(uint64_t value) {
  Blob blob;
  do {
    const uint8_t byte = value & 0x7f;
    value >>= 7;
    blob.push_back(static_cast<uint8_t>(value != 0 ? byte | 0x80 : byte));
  } while (value != 0);
  return blob;
}

inline Blob sleb(int64_t value) {
  Blob blob;
  for (;;) {
    const uint8_t byte = value & 0x7f;
    value >>= 7;
    const bool last = (value == 0 && (byte & 0x40) == 0) || (value == -1 && (byte & 0x40) != 0);
    blob.push_back(static_cast<uint8_t>(last ? byte : byte | 0x80));
    if (last) {
      return blob;
    }
  }
}

inline Blob join(const std::vector<Blob>& parts) {
  Blob blob;
  for (const Blob& part : parts) {
    append(&blob, part);
  }
  return blob;
}

struct Cie {
  uint8_t version = 1;
  std::string augmentation = "zR";
  uint64_t code_alignment = 1;
  int64_t data_alignment = -8;
  Blob return_register = {16};
  Blob augmentation_data = {0x1b};       // pcrel sdata4
  Blob program = {0x0c, 7, 8, 0x90, 1};  // CFA = rsp + 8; return address at CFA - 8
};

// A module of one buffer: code addresses are numbers above it, nothing lies there.
class Tables {
 public:
  static constexpr size_t kCapacity = 1 << 16;
  static constexpr uint64_t kCode = 1 << 20;  // distance of the code from the buffer

  Tables() : memory_(kCapacity) {}
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  uint64_t base() const { return reinterpret_cast<uint64_t>(memory_.data()); }
  // The address of the code's n-th byte.
  uint64_t code(uint64_t n) const { return base() + kCode + n; }

  // Where in the buffer it lies.
  size_t add_cie(const Cie& cie) {
    Blob content = raw<uint32_t>(0);
    content.push_back(cie.version);
    content.insert(content.end(), cie.augmentation.begin(), cie.augmentation.end());
    content.push_back(0);
    append(&content, uleb(cie.code_alignment));
    append(&content, sleb(cie.data_alignment));
    append(&content, cie.return_register);
    if (cie.augmentation.substr(0, 1) == "z") {
      append(&content, uleb(cie.augmentation_data.size()));
      append(&content, cie.augmentation_data);
    }
    append(&content, cie.program);
    return add_entry(content);
  }

  // Code [start, start + size) with the usual encoding.
  size_t add_fde(size_t cie, uint64_t start, uint64_t size, const Blob& program) {
    const int32_t relative = static_cast<int32_t>(code(start) - (base() + used_ + 8));
    return add_fde_as(cie, start, raw(relative), raw(static_cast<uint32_t>(size)), {0}, program);
  }

  // The same with the start, the size and the augmentation data as they are.
  size_t add_fde_as(size_t cie, uint64_t start, const Blob& start_bytes, const Blob& size_bytes,
                    const Blob& augmentation_data, const Blob& program) {
    Blob content = raw(static_cast<uint32_t>(used_ + 4 - cie));
    append(&content, start_bytes);
    append(&content, size_bytes);
    append(&content, augmentation_data);
    append(&content, program);
    const size_t at = add_entry(content);
    add_function(start, at);
    return at;
  }

  // An entry of the index.
  void add_function(uint64_t start, size_t at) { functions_.emplace_back(start, at); }

  size_t add_entry(const Blob& content) {
    return add_bytes(join({raw(static_cast<uint32_t>(content.size())), content}));
  }

  size_t add_bytes(const Blob& bytes) {
    const size_t at = used_;
    std::copy(bytes.begin(), bytes.end(), memory_.begin() + static_cast<long>(at));
    used_ += bytes.size();
    return at;
  }

  // Writes the index behind everything.
  unwind::Image finish() {
    std::sort(functions_.begin(), functions_.end());
    used_ = (used_ + 3) & ~size_t{3};
    const uint64_t index = base() + used_;
    Blob blob = {1, 0x1b, 0x03, 0x3b};
    append(&blob, raw(static_cast<int32_t>(0 - (used_ + 4))));
    append(&blob, raw(static_cast<uint32_t>(functions_.size())));
    for (const auto& [start, at] : functions_) {
      append(&blob, raw(static_cast<int32_t>(code(start) - index)));
      append(&blob, raw(static_cast<int32_t>(base() + at - index)));
    }
    add_bytes(blob);
    return {index, base(), base() + used_};
  }

  uint8_t* at(size_t offset) { return memory_.data() + offset; }
  size_t used() const { return used_; }

 private:
  Blob memory_;
  size_t used_ = 0;
  std::vector<std::pair<uint64_t, size_t>> functions_;
};

}  // namespace memprof::unwind_test
