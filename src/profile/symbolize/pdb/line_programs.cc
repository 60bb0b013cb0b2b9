// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/pdb/line_programs.h"

#include <algorithm>

namespace memprof::profile {
namespace {

enum Instruction : uint32_t {
  kEnd = 0,  // also the padding behind a program
  kCodeOffset = 1,
  kChangeCodeOffsetBase = 2,
  kChangeCodeOffset = 3,
  kChangeCodeLength = 4,
  kChangeFile = 5,
  kChangeLineOffset = 6,
  kChangeLineEndDelta = 7,
  kChangeRangeKind = 8,
  kChangeColumnStart = 9,
  kChangeColumnEndDelta = 10,
  kChangeCodeOffsetAndLineOffset = 11,
  kChangeCodeLengthAndCodeOffset = 12,
  kChangeColumnEnd = 13,
};

class Machine {
 public:
  explicit Machine(std::string_view program) : program_(program) {}

  std::vector<InlineRange> run() {
    while (step()) {
    }
    return std::move(ranges_);
  }

 private:
  // 1, 2 or 4 bytes, as the first one says; false: it is not there.
  bool next(uint32_t* value) {
    if (at_ >= program_.size()) return false;
    const uint32_t first = static_cast<unsigned char>(program_[at_]);
    const size_t size = first < 0x80 ? 1 : first < 0xc0 ? 2 : first < 0xe0 ? 4 : 0;
    if (size == 0 || program_.size() - at_ < size) return false;
    *value = size == 1 ? first : size == 2 ? first & 0x3f : first & 0x1f;
    for (size_t i = 1; i < size; ++i) *value = *value << 8 | static_cast<unsigned char>(program_[at_ + i]);
    at_ += size;
    return true;
  }

  // The sign is the last bit.
  static int64_t signed_value(uint32_t value) {
    return (value & 1) != 0 ? -static_cast<int64_t>(value >> 1) : static_cast<int64_t>(value >> 1);
  }

  void begin_range(uint32_t delta) {
    code_ += delta;
    end_range(code_);
    is_open_ = true;
    open_ = {code_, 0, file_, line_};
  }

  void end_range(uint32_t end) {
    if (is_open_ && end > open_.begin) {
      open_.end = end;
      ranges_.push_back(open_);
    }
    is_open_ = false;
  }

  bool step() {
    uint32_t instruction = 0;
    uint32_t value = 0;
    uint32_t offset = 0;
    if (!next(&instruction) || instruction == kEnd || instruction > kChangeColumnEnd || !next(&value))
      return false;
    switch (instruction) {
      case kCodeOffset:
      case kChangeCodeOffset:
        begin_range(value);
        break;
      case kChangeCodeLength:
        if (is_open_) {
          code_ = open_.begin + value;
          end_range(code_);
        } else {
          code_ += value;
        }
        break;
      case kChangeCodeOffsetBase:
        // What follows counts from the n-th part that was moved away (S_SEPCODE).
        return value == 0;
      case kChangeFile:
        file_ = value;
        break;
      case kChangeLineOffset:
        line_ += signed_value(value);
        break;
      case kChangeCodeOffsetAndLineOffset:
        line_ += signed_value(value >> 4);
        begin_range(value & 0xf);
        break;
      case kChangeCodeLengthAndCodeOffset:
        if (!next(&offset)) return false;
        begin_range(offset);
        end_range(code_ + value);
        break;
      default:  // columns, ends of statements, kinds of ranges
        break;
    }
    return true;
  }

  std::string_view program_;
  size_t at_ = 0;
  uint32_t code_ = 0;
  uint32_t file_ = InlineRange::kSameFile;
  int64_t line_ = 0;
  bool is_open_ = false;
  InlineRange open_;
  std::vector<InlineRange> ranges_;
};

}  // namespace

std::vector<InlineRange> inline_ranges(std::string_view annotations) {
  return Machine(annotations).run();
}

}  // namespace memprof::profile
