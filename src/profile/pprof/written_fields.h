// SPDX-License-Identifier: Apache-2.0
// The fields of a comment of the engine, read in the order in which stack_comment() writes them: nothing is looked for.
// A large profile has a comment for each of hundreds of thousands of stacks.
//
// Threads: one object, one thread.  Owns: nothing; the text must outlive it.
// Failure: ok() is false where the next field is another one, or written in another way: then CommentFields, which has the
// same members, says what the text means.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "format/pprof/hex_text.h"
#include "profile/pprof/comment_fields.h"

namespace memprof::profile {

class WrittenFields : public FieldValues {
 public:
  // Behind the name of the comment: " key=value key=value".
  explicit WrittenFields(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool is_at_end() const { return at_ == end_; }

  bool has(std::string_view key) const { return value_of(key) != nullptr; }

  uint64_t decimal(std::string_view key) {
    if (!begin(key)) return 0;
    constexpr int kDigits = 19;  // that fit whatever they are
    const char* const first = at_;
    uint64_t number = 0;
    for (; at_ != end_ && *at_ >= '0' && *at_ <= '9'; ++at_)
      number = 10 * number + static_cast<uint64_t>(*at_ - '0');
    ok_ = ok_ && at_ != first && at_ - first <= kDigits;
    return number;
  }

  // Sixteen digits.
  uint64_t hex(std::string_view key) {
    if (!begin(key) || end_ - at_ < 2 * static_cast<std::ptrdiff_t>(kHexDigits)) {
      ok_ = false;
      return 0;
    }
    uint64_t text[2];
    std::memcpy(text, at_, sizeof(text));
    at_ += sizeof(text);
    const auto high = hex_value(text[0]);
    const auto low = hex_value(text[1]);
    ok_ = ok_ && high && low;
    return ok_ ? uint64_t{*high} << 32 | *low : 0;
  }

  // Sixteen digits, or 0.
  double signed_real(std::string_view key) {
    const char* const value = value_of(key);
    if (value != nullptr && value != end_ && *value == '0' && (value + 1 == end_ || value[1] == ' ')) {
      at_ = value + 1;
      return 0;
    }
    return real_of(hex(key));
  }
  double real(std::string_view key) {
    const double value = signed_real(key);
    ok_ = ok_ && value >= 0;
    return value;
  }

  // A comment may have none.
  std::vector<Lifetime> lifetimes(std::string_view key) { return lifetimes_in(list(key)); }
  std::vector<Birth> births(std::string_view key) { return births_in(list(key)); }

 private:
  // Where the value of the next field begins; nullptr: the next field has another key.
  const char* value_of(std::string_view key) const {
    const auto left = static_cast<size_t>(end_ - at_);
    if (left < key.size() + 2 || at_[0] != ' ' || at_[1 + key.size()] != '=') return nullptr;
    for (size_t i = 0; i < key.size(); ++i) {
      if (at_[1 + i] != key[i]) return nullptr;
    }
    return at_ + key.size() + 2;
  }

  bool begin(std::string_view key) {
    const char* const value = value_of(key);
    ok_ = ok_ && value != nullptr;
    if (ok_) at_ = value;
    return ok_;
  }

  std::string_view list(std::string_view key) {
    if (!has(key) || !begin(key)) return {};
    const auto left = static_cast<size_t>(end_ - at_);
    const void* const space = std::memchr(at_, ' ', left);
    const char* const first = at_;
    at_ = space != nullptr ? static_cast<const char*>(space) : end_;
    return {first, static_cast<size_t>(at_ - first)};
  }

  const char* at_;
  const char* end_;
};

}  // namespace memprof::profile
