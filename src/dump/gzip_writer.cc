// SPDX-License-Identifier: Apache-2.0
#include "dump/gzip_writer.h"

#include <cstring>

namespace memprof::profile {
namespace {

constexpr size_t kWindow = 32768;  // the largest distance
constexpr size_t kBuffer = 2 * kWindow;
constexpr size_t kOut = 16384;
constexpr uint32_t kHashBits = 14;
constexpr size_t kMinMatch = 4;  // one of 3 bytes is no shorter than its bytes
constexpr size_t kMaxMatch = 258;
constexpr int kMaxTries = 6;
constexpr uint32_t kNoExtraFields = 0, kUnknownSystem = 255;

// CRC-32 of RFC 1952 by four bytes at a time: table k has what a byte adds that k more bytes follow.
struct Checksums {
  uint32_t of[4][256];
};

constexpr Checksums make_checksums() {
  Checksums table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) {
      c = (c & 1) != 0 ? 0xedb88320u ^ (c >> 1) : c >> 1;
    }
    table.of[0][i] = c;
  }
  for (int k = 1; k < 4; ++k) {
    for (uint32_t i = 0; i < 256; ++i) {
      const uint32_t before = table.of[k - 1][i];
      table.of[k][i] = table.of[0][before & 0xff] ^ (before >> 8);
    }
  }
  return table;
}

constexpr Checksums kChecksums = make_checksums();

constexpr uint32_t reversed(uint32_t code, uint32_t count) {
  uint32_t result = 0;
  for (uint32_t i = 0; i < count; ++i) {
    result |= ((code >> i) & 1) << (count - 1 - i);
  }
  return result;
}

struct Code {
  uint16_t bits;  // the first one lowest
  uint16_t count;
};

// The fixed codes of bytes, of the end of a block and of lengths.
struct Codes {
  Code of[288];
};

constexpr Codes make_codes() {
  Codes codes{};
  for (uint32_t symbol = 0; symbol < 288; ++symbol) {
    const uint32_t count = symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8;
    const uint32_t code = symbol < 144   ? 0x30 + symbol
                          : symbol < 256 ? 0x190 + symbol - 144
                          : symbol < 280 ? symbol - 256
                                         : 0xc0 + symbol - 280;
    codes.of[symbol] = {static_cast<uint16_t>(reversed(code, count)), static_cast<uint16_t>(count)};
  }
  return codes;
}

constexpr Codes kCodes = make_codes();

struct Distances {
  uint32_t of[32];
};

constexpr Distances make_distances() {
  Distances codes{};
  for (uint32_t symbol = 0; symbol < 32; ++symbol) {
    codes.of[symbol] = reversed(symbol, 5);
  }
  return codes;
}

constexpr Distances kDistances = make_distances();

uint32_t log2_of(uint32_t value) {
  return 31 - static_cast<uint32_t>(__builtin_clz(value));
}

uint32_t word_at(const uint8_t* text) {
  uint32_t word;
  memcpy(&word, text, sizeof(word));
  return word;
}

uint32_t hash_of(const uint8_t* text) {
  return (word_at(text) * 2654435761u) >> (32 - kHashBits);
}

// How many of the first `max` bytes are the same.
size_t common_bytes(const uint8_t* a, const uint8_t* b, size_t max) {
  size_t length = 0;
  for (; length + sizeof(uint64_t) <= max; length += sizeof(uint64_t)) {
    uint64_t of_a, of_b;
    memcpy(&of_a, a + length, sizeof(of_a));
    memcpy(&of_b, b + length, sizeof(of_b));
    if (of_a != of_b) {
      return length + static_cast<size_t>(__builtin_ctzll(of_a ^ of_b)) / 8;
    }
  }
  while (length < max && a[length] == b[length]) {
    ++length;
  }
  return length;
}

}  // namespace

struct GzipWriter::Memory {
  uint8_t text[kBuffer];
  uint8_t out[kOut];
  uint16_t last[1u << kHashBits];  // number of the last place with this hash
  uint16_t before[kWindow];        // by number modulo the window: the one before it with the same hash
};

const size_t GzipWriter::kMemoryBytes = sizeof(Memory);

GzipWriter::GzipWriter(void* memory, const Sink& to) : memory_(static_cast<Memory*>(memory)), to_(to) {
  constexpr uint32_t kMagicAndDeflate = 0x00088b1f;
  put_number(kMagicAndDeflate | kNoExtraFields << 24);
  put_number(0);  // no time
  put_bits(kUnknownSystem << 8, 16);
  put_bits(0b010, 3);  // not the last block; fixed codes
}

bool GzipWriter::finish() {
  code(size_);
  constexpr uint32_t kEndOfBlock = 256;
  put_literal(kEndOfBlock);
  put_bits(0b011, 3);  // the last block, empty
  put_literal(kEndOfBlock);
  put_bits(0, (8 - bit_count_ % 8) % 8);
  put_number(~checksum_);
  put_number(total_);
  put_bytes(bit_count_ / 8);
  flush();
  return is_good_;
}

bool GzipWriter::write_to(void* context, const void* data, size_t size) {
  return static_cast<GzipWriter*>(context)->write(static_cast<const uint8_t*>(data), size);
}

bool GzipWriter::write(const uint8_t* data, size_t size) {
  size_t i = 0;
  for (; i + 4 <= size; i += 4) {
    const uint32_t word = checksum_ ^ word_at(data + i);
    checksum_ = kChecksums.of[3][word & 0xff] ^ kChecksums.of[2][(word >> 8) & 0xff] ^
                kChecksums.of[1][(word >> 16) & 0xff] ^ kChecksums.of[0][word >> 24];
  }
  for (; i < size; ++i) {
    checksum_ = kChecksums.of[0][(checksum_ ^ data[i]) & 0xff] ^ (checksum_ >> 8);
  }
  total_ += static_cast<uint32_t>(size);
  while (size != 0 && is_good_) {
    if (size_ == kBuffer) {
      code(size_ - kMaxMatch);
      slide();
    }
    const size_t room = kBuffer - size_;
    const size_t taken = size < room ? size : room;
    memcpy(memory_->text + size_, data, taken);
    size_ += taken;
    data += taken;
    size -= taken;
  }
  return is_good_;
}

// Codes the text up to `limit`, or a match further.
void GzipWriter::code(size_t limit) {
  size_t at = coded_;
  while (at < limit) {
    uint32_t distance = 0;
    const size_t length = find_match(at, size_, &distance);
    if (length >= kMinMatch) {
      put_match(static_cast<uint32_t>(length), distance);
    } else {
      put_literal(memory_->text[at]);
    }
    const size_t next = length >= kMinMatch ? at + length : at + 1;
    for (; at < next; ++at) {
      remember(at);
    }
  }
  coded_ = at;
}

void GzipWriter::slide() {
  const size_t gone = coded_ - kWindow;
  memmove(memory_->text, memory_->text + gone, size_ - gone);
  first_ += static_cast<uint32_t>(gone);
  size_ -= gone;
  coded_ -= gone;
}

// The length of the longest match that is found for the text at `at`; 0: none.
size_t GzipWriter::find_match(size_t at, size_t end, uint32_t* distance) const {
  if (end - at < kMinMatch) {
    return 0;
  }
  const uint8_t* const text = memory_->text;
  const auto number = static_cast<uint16_t>(first_ + at);
  const size_t max = end - at < kMaxMatch ? end - at : kMaxMatch;
  size_t longest = 0;
  uint32_t back = 0;
  uint16_t candidate = memory_->last[hash_of(text + at)];
  for (int tries = 0; tries < kMaxTries && longest < max; ++tries) {
    const auto further = static_cast<uint16_t>(number - candidate);
    if (further <= back || further > kWindow || further > at) {
      break;
    }
    back = further;
    const uint8_t* const earlier = text + at - back;
    // Only what has the byte after the longest match so far can be longer.
    if (earlier[longest] == text[at + longest]) {
      const size_t length = common_bytes(earlier, text + at, max);
      if (length > longest) {
        longest = length;
        *distance = back;
      }
    }
    candidate = memory_->before[candidate % kWindow];
  }
  return longest;
}

void GzipWriter::remember(size_t at) {
  if (size_ - at < kMinMatch) {
    return;
  }
  const auto number = static_cast<uint16_t>(first_ + at);
  uint16_t& last = memory_->last[hash_of(memory_->text + at)];
  memory_->before[number % kWindow] = last;
  last = number;
}

// A byte, or a symbol of the same alphabet.
void GzipWriter::put_literal(uint32_t symbol) {
  put_bits(kCodes.of[symbol].bits, kCodes.of[symbol].count);
}

void GzipWriter::put_match(uint32_t length, uint32_t distance) {
  const uint32_t above = length - 3;
  if (length == kMaxMatch) {
    put_literal(285);
  } else {
    const uint32_t extra = above < 8 ? 0 : log2_of(above) - 2;
    const Code code = kCodes.of[257 + 4 * extra + (above >> extra)];
    put_bits(code.bits | (above & ((1u << extra) - 1)) << code.count, code.count + extra);
  }
  const uint32_t before = distance - 1;
  const uint32_t extra = before < 4 ? 0 : log2_of(before) - 1;
  put_bits(kDistances.of[2 * extra + (before >> extra)] | (before & ((1u << extra) - 1)) << 5, 5 + extra);
}

void GzipWriter::put_number(uint32_t value) {
  put_bits(value & 0xffff, 16);
  put_bits(value >> 16, 16);
}

// At most 32 bits at once.
void GzipWriter::put_bits(uint32_t value, uint32_t count) {
  bits_ |= static_cast<uint64_t>(value) << bit_count_;
  bit_count_ += count;
  if (bit_count_ >= 32) {
    put_bytes(4);
  }
}

// The first bytes of what is not written yet, at most 4.
void GzipWriter::put_bytes(uint32_t count) {
  if (kOut - out_size_ < sizeof(uint32_t)) {
    flush();
  }
  const auto word = static_cast<uint32_t>(bits_);
  memcpy(memory_->out + out_size_, &word, sizeof(word));
  out_size_ += count;
  bits_ >>= 8 * count;
  bit_count_ -= 8 * count;
}

void GzipWriter::flush() {
  is_good_ = is_good_ && to_.write(to_.context, memory_->out, out_size_);
  out_size_ = 0;
}

}  // namespace memprof::profile
