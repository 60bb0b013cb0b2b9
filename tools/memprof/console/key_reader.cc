// SPDX-License-Identifier: Apache-2.0
#include "memprof/console/key_reader.h"

#include <algorithm>

namespace memprof::cli {
namespace {

using profile::LiveKey;
using Kind = LiveKey::Kind;

constexpr char kEscape = '\x1b';
constexpr size_t kLongestSequence = 32;

struct Sequence {
  std::string_view bytes;  // behind the escape character
  Kind kind;
};
constexpr Sequence kSequences[] = {{"[A", Kind::kUp},    {"OA", Kind::kUp},      {"[B", Kind::kDown},
                                   {"OB", Kind::kDown},  {"[5~", Kind::kPageUp}, {"[6~", Kind::kPageDown},
                                   {"[H", Kind::kHome},  {"OH", Kind::kHome},    {"[1~", Kind::kHome},
                                   {"[7~", Kind::kHome}, {"[F", Kind::kEnd},     {"OF", Kind::kEnd},
                                   {"[4~", Kind::kEnd},  {"[8~", Kind::kEnd},    {"OM", Kind::kEnter}};

size_t character_length(unsigned char first) {
  return first < 0xc2 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 1;
}

}  // namespace

// Behind `[`: parameters, and a letter or `~`; behind `O`: one letter.
bool KeyReader::take_sequence(LiveKey* key) {
  size_t end = 2;
  if (rest_[1] == '[') {
    while (end < rest_.size() && (rest_[end] < 0x40 || rest_[end] > 0x7e) && end < kLongestSequence) ++end;
  }
  if (end >= rest_.size()) return false;
  const std::string_view bytes = std::string_view(rest_).substr(1, end);
  const auto* const known = std::find_if(std::begin(kSequences), std::end(kSequences),
                                         [&](const Sequence& sequence) { return sequence.bytes == bytes; });
  key->kind = known == std::end(kSequences) ? Kind::kOther : known->kind;
  rest_.erase(0, end + 1);
  return true;
}

bool KeyReader::take(LiveKey* key) {
  *key = {};
  const auto first = static_cast<unsigned char>(rest_[0]);
  if (rest_[0] == kEscape) {
    if (rest_.size() == 1) return false;
    if (rest_[1] == '[' || rest_[1] == 'O') return take_sequence(key);
    // Alt and a key, or Escape and the next key at once: the key is of its own.
    key->kind = Kind::kEscape;
    rest_.erase(0, 1);
    return true;
  }
  const size_t length = character_length(first);
  if (rest_.size() < length) return false;
  if (first == '\r' || first == '\n') {
    key->kind = Kind::kEnter;
  } else if (first == 0x7f || first == '\b') {
    key->kind = Kind::kBackspace;
  } else if (first == 0x15) {
    key->kind = Kind::kClearLine;
  } else if (first >= 0x20 && (first < 0x80 || length > 1)) {
    key->kind = Kind::kText;
    key->text = rest_.substr(0, length);
  }
  rest_.erase(0, length);
  return true;
}

std::vector<LiveKey> KeyReader::feed(std::string_view bytes) {
  rest_ += bytes;
  std::vector<LiveKey> keys;
  LiveKey key;
  while (!rest_.empty() && take(&key)) keys.push_back(key);
  return keys;
}

std::vector<LiveKey> KeyReader::finish() {
  std::vector<LiveKey> keys;
  if (rest_.empty()) return keys;
  if (rest_.size() == 1 && rest_[0] == kEscape) keys.push_back({Kind::kEscape, ""});
  rest_.clear();
  return keys;
}

}  // namespace memprof::cli
