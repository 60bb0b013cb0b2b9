// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/comment_fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "format/pprof/comments.h"

namespace memprof::profile {
namespace {

constexpr size_t kMaxNumbers = 5;  // of an entry

}  // namespace

CommentFields::CommentFields(std::string_view text) {
  constexpr size_t kUsual = 40;
  fields_.reserve(kUsual);
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view field = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t equals = field.find('=');
    if (equals != std::string_view::npos) {
      fields_.push_back({field.substr(0, equals), field.substr(equals + 1)});
    }
  }
}

const std::string_view* CommentFields::find(std::string_view key) const {
  for (size_t i = 0; i < fields_.size(); ++i) {
    const size_t at = next_ + i < fields_.size() ? next_ + i : next_ + i - fields_.size();
    if (fields_[at].key != key) continue;
    next_ = at + 1 < fields_.size() ? at + 1 : 0;
    return &fields_[at].value;
  }
  return nullptr;
}

double CommentFields::real(std::string_view key) {
  const double value = signed_real(key);
  ok_ = ok_ && value >= 0;
  return std::max(value, 0.0);
}

double CommentFields::signed_real(std::string_view key) {
  return real_of(integer(key, 16));
}

double FieldValues::real_of(uint64_t bits) {
  double value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  if (!std::isfinite(value)) {
    ok_ = false;
    return 0;
  }
  return value;
}

std::string_view CommentFields::value_or_empty(std::string_view key) const {
  const std::string_view* found = find(key);
  return found == nullptr ? std::string_view() : *found;
}

template <typename Each>
void FieldValues::for_each_entry(std::string_view rest, const Each& each) {
  while (!rest.empty() && ok_) {
    const size_t end = std::min(rest.find(','), rest.size());
    each(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

std::vector<Lifetime> FieldValues::lifetimes_in(std::string_view value) {
  std::vector<Lifetime> all;
  for_each_entry(value, [&](std::string_view entry) {
    all.push_back(lifetime(entry));
    ok_ = ok_ && (all.size() < 2 || all[all.size() - 2].lifetime_class < all.back().lifetime_class);
  });
  return all;
}

std::vector<Birth> FieldValues::births_in(std::string_view value) {
  std::vector<Birth> all;
  for_each_entry(value, [&](std::string_view entry) {
    uint64_t numbers[kMaxNumbers] = {};
    const size_t count = read_numbers(entry, 2, 4, numbers);
    Birth birth;
    birth.part = static_cast<uint32_t>(std::min<uint64_t>(numbers[0], kBirthParts));
    birth.samples = numbers[1];
    birth.weight_bytes = short_real(numbers[2], 0);
    birth.weight_count = short_real(numbers[3], static_cast<double>(birth.samples));
    ok_ = ok_ && count == 4 && birth.part < kBirthParts && birth.samples != 0 &&
          (all.empty() || all.back().part < birth.part);
    all.push_back(birth);
  });
  return all;
}

std::vector<RateUse> CommentFields::rates(std::string_view key) const {
  std::string_view rest = value_or_empty(key);
  std::vector<RateUse> all;
  while (!rest.empty() && all.size() < kMaxRates) {
    RateUse use;
    const char* at = rest.data();
    const char* const end = at + rest.size();
    bool is_good = true;
    for (uint64_t* const value : {&use.rate_bytes, &use.weight_bytes, &use.time_ns}) {
      const auto [after, error] = std::from_chars(at, end, *value);
      is_good = is_good && error == std::errc();
      at = after != end && *after == ':' ? after + 1 : after;
    }
    if (is_good) all.push_back(use);
    rest.remove_prefix(std::min(rest.find(','), rest.size() - 1) + 1);
  }
  return all;
}

LoadTimes CommentFields::load() {
  LoadTimes load;
  load.bytes = decimal("bytes");
  size_t count = 0;
  for_each_entry(value_or_empty("at"), [&](std::string_view entry) {
    uint64_t number = 0;
    ok_ = ok_ && read_numbers(entry, 1, 1, &number) == 1 && count <= kBirthParts &&
          (count == 0 || load.at_ns[count - 1] <= number);
    if (ok_) load.at_ns[count++] = number;
  });
  return ok_ && count == kBirthParts + 1 ? load : LoadTimes{};
}

std::string CommentFields::text(std::string_view key) const {
  const std::string_view* found = find(key);
  std::string out;
  for (size_t i = 0; found != nullptr && i < found->size(); ++i) {
    const std::string_view value = *found;
    unsigned byte = 0;
    const char* digits = value.data() + i + 1;
    if (value[i] == '%' && i + 2 < value.size() &&
        std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += value[i];
    }
  }
  return out;
}

size_t FieldValues::read_numbers(std::string_view text, size_t decimals, size_t max, uint64_t* numbers) {
  size_t count = 0;
  for (bool more = true; more && count < max; ++count) {
    const size_t end = std::min(text.find(':'), text.size());
    more = end < text.size();
    const char* begin = text.data();
    const auto result = std::from_chars(begin, begin + end, numbers[count], count < decimals ? 10 : 16);
    ok_ = ok_ && result.ec == std::errc() && result.ptr == begin + end;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  ok_ = ok_ && text.empty();
  return count;
}

Lifetime FieldValues::lifetime(std::string_view text) {
  Lifetime read;
  uint64_t numbers[kMaxNumbers] = {};
  const size_t count = read_numbers(text, 3, kMaxNumbers, numbers);
  read.lifetime_class = static_cast<uint32_t>(std::min<uint64_t>(numbers[0], kLifetimeClasses));
  read.samples = numbers[1];
  read.size_bytes = numbers[2];
  const auto size = static_cast<double>(read.size_bytes);
  const auto samples = static_cast<double>(read.samples);
  read.weight_bytes = count == 5 ? short_real(numbers[3], size) : size;
  read.weight_count = count == 5 ? short_real(numbers[4], samples) : samples;
  ok_ = ok_ && (count == 3 || count == 5) && read.lifetime_class < kLifetimeClasses && read.samples != 0;
  return read;
}

double FieldValues::short_real(uint64_t bits, double min) {
  const auto half = static_cast<uint32_t>(bits);
  float value = 0;
  std::memcpy(&value, &half, sizeof(value));
  ok_ = ok_ && bits <= UINT32_MAX && std::isfinite(value) && value >= 0;
  return ok_ ? std::max(static_cast<double>(value), min) : min;
}

uint64_t CommentFields::integer(std::string_view key, int base) {
  const std::string_view* found = find(key);
  if (found == nullptr) {
    ok_ = false;
    return 0;
  }
  return integer_in(*found, base);
}

uint64_t FieldValues::integer_in(std::string_view value, int base) {
  uint64_t number = 0;
  const char* begin = value.data();
  const char* end = begin + value.size();
  const auto result = std::from_chars(begin, end, number, base);
  ok_ = ok_ && result.ec == std::errc() && result.ptr == end;
  return number;
}

}  // namespace memprof::profile
