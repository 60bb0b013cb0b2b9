// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/packed_statistics.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "format/pprof/comments.h"
#include "profile/files/base64.h"
#include "profile/files/byte_writer.h"
#include "profile/model/sample_kind.h"

namespace memprof::profile {
namespace {

constexpr char kPrefix[] = "#memprof.stacks version=1 bits=";
constexpr char kData[] = " data=";
constexpr unsigned kAllBits = 64;
// Services cut texts of more than 65,535 characters.
constexpr size_t kMostBytes = 48000;

// Of samples: nothing, sums, or this + the index of a kind.
constexpr uint64_t kNothing = 0;
constexpr uint64_t kSums = 1;
constexpr uint64_t kFirstKind = 2;

// A number to 0.05 % in 16 bits: 6 of the exponent, 10 of the digits; 0 is less than a half.
constexpr int kDigitBits = 10;

uint16_t short_code(double value) {
  if (!(value >= 0.5)) return 0;
  int exponent = 0;
  const double digits = std::frexp(value, &exponent);
  const double code = std::round((exponent + 2 * digits - 1) * (1 << kDigitBits)) + 1;
  return static_cast<uint16_t>(std::min(code, 65535.0));
}

double short_value(uint16_t code) {
  if (code == 0) return 0;
  const int number = code - 1;
  const double digits = 0.5 + static_cast<double>(number & ((1 << kDigitBits) - 1)) / (2 << kDigitBits);
  return std::ldexp(digits, number >> kDigitBits);
}

// Of a variance the interval has the root: a variance of bytes can be beyond the exponents, its root is not.
double short_variance(double variance) {
  const double root = short_value(short_code(std::sqrt(variance)));
  return root * root;
}

// The largest that a sample stands for beside itself is of the smallest block: its kind says both.
std::optional<SampleKind> smallest_of(const Totals& totals, uint64_t rate_bytes) {
  if (totals.max_missed_count == 0 && totals.max_missed_bytes == 0) return SampleKind{1, 0, 1};
  const double size = std::round(totals.max_missed_bytes / totals.max_missed_count);
  if (!(size >= 1 && size < 0x1p53)) return std::nullopt;
  for (const uint64_t share : {uint64_t{1}, uint64_t{2}}) {
    const SampleKind kind{static_cast<uint64_t>(size), rate_bytes, share};
    const Totals one = totals_of(kind, 1);
    if (std::abs(one.max_missed_count - totals.max_missed_count) <= 1e-9 * totals.max_missed_count &&
        std::abs(one.max_missed_bytes - totals.max_missed_bytes) <= 1e-9 * totals.max_missed_bytes) {
      return kind;
    }
  }
  return std::nullopt;
}

void set_maxima(const SampleKind& smallest, Totals* totals) {
  const Totals one = totals_of(smallest, 1);
  totals->max_missed_bytes = one.max_missed_bytes;
  totals->max_missed_count = one.max_missed_count;
}

Totals packed(const Totals& totals, uint64_t rate_bytes) {
  if (const auto kind = kind_of(totals, rate_bytes)) return totals_of(*kind, totals.samples);
  Totals own = totals;
  own.variance_bytes = short_variance(totals.variance_bytes);
  own.variance_count = short_variance(totals.variance_count);
  if (const auto smallest = smallest_of(totals, rate_bytes)) set_maxima(*smallest, &own);
  return own;
}

// Freed samples have no variances.
Totals without_variances(Totals totals) {
  totals.variance_bytes = totals.variance_count = 0;
  totals.max_missed_bytes = totals.max_missed_count = 0;
  return totals;
}

std::optional<SampleKind> freed_kind(const Totals& freed, uint64_t rate_bytes) {
  if (freed.samples == 0 || freed.size_bytes % freed.samples != 0) return std::nullopt;
  const SampleKind kind{freed.size_bytes / freed.samples, rate_bytes, 1};
  Totals whole = totals_of(kind, freed.samples);
  whole.weight_bytes = freed.weight_bytes;
  whole.weight_count = freed.weight_count;
  return kind_of(whole, rate_bytes) ? std::optional(kind) : std::nullopt;
}

bool stands_for_itself(const Lifetime& lifetime) {
  return lifetime.weight_bytes == static_cast<double>(lifetime.size_bytes) &&
         lifetime.weight_count == static_cast<double>(lifetime.samples);
}

// Not inline: gcc 12 vectorizes a pair of conversions to float and back into none at -O2.
[[gnu::noinline]] uint32_t float_bits(double number) {
  const auto nearest = static_cast<float>(number);
  uint32_t bits = 0;
  std::memcpy(&bits, &nearest, sizeof(bits));
  return bits;
}

double of_float_bits(uint32_t bits) {
  float number = 0;
  std::memcpy(&number, &bits, sizeof(number));
  return static_cast<double>(number);
}

// One column of samples: of what was allocated, of the peak, or freed.
struct Column {
  std::vector<uint64_t> codes;
  std::vector<uint64_t> samples;   // where there is a code
  std::vector<Totals> sums;        // where the code is kSums
  std::vector<uint64_t> smallest;  // of these: 0, or 1 + the index of a kind
};

class Packer {
 public:
  Packer(const IdentifiedStatistics* stacks, size_t count, unsigned bits, uint64_t rate_bytes)
      : stacks_(stacks), count_(count), bits_(bits), rate_bytes_(rate_bytes) {}

  std::string pack() {
    Column allocated, peak, freed;
    for (size_t i = 0; i < count_; ++i) {
      const StackStatistics& own = stacks_[i].statistics;
      add(own.allocated, kind_of(own.allocated, rate_bytes_), &allocated);
      add(own.peak, kind_of(own.peak, rate_bytes_), &peak);
      add(own.freed, freed_kind(own.freed, rate_bytes_), &freed);
    }
    std::vector<SampleKind> kinds(kinds_.size());
    for (const auto& [kind, index] : kinds_) kinds[index] = kind;
    out_.varint(count_);
    out_.varint(kinds.size());
    out_.column(kinds, [](const SampleKind& kind) { return kind.size_bytes; });
    out_.column(kinds, [](const SampleKind& kind) { return kind.rate_bytes; });
    out_.column(kinds, [](const SampleKind& kind) { return kind.share; });
    uint64_t last = 0;
    for (size_t i = 0; i < count_; ++i) {
      const uint64_t id = short_id(stacks_[i].id, bits_);
      out_.varint(id - last);
      last = id;
    }
    for (size_t i = 0; i < count_; ++i) out_.varint(static_cast<uint64_t>(stacks_[i].statistics.walk));
    for (const Column* column : {&allocated, &peak, &freed}) write(*column, column != &freed);
    for (size_t i = 0; i < count_; ++i) {
      const StackStatistics& own = stacks_[i].statistics;
      if (own.freed.samples == 0) continue;
      write_short(own.lifetime_ns / own.freed.weight_count);
      write(own.lifetimes);
    }
    write_births();
    return out_.take();
  }

 private:
  void add(const Totals& totals, const std::optional<SampleKind>& kind, Column* column) {
    if (totals.samples == 0) {
      column->codes.push_back(kNothing);
      return;
    }
    column->samples.push_back(totals.samples);
    if (kind) {
      column->codes.push_back(kFirstKind + index_of(*kind));
      return;
    }
    column->codes.push_back(kSums);
    column->sums.push_back(totals);
    const auto smallest = smallest_of(totals, rate_bytes_);
    column->smallest.push_back(smallest ? 1 + index_of(*smallest) : 0);
  }

  uint64_t index_of(const SampleKind& kind) { return kinds_.emplace(kind, kinds_.size()).first->second; }

  void write(const Column& column, bool has_variances) {
    const auto itself = [](uint64_t number) { return number; };
    out_.column(column.codes, itself);
    out_.column(column.samples, itself);
    for (size_t i = 0; i < column.sums.size(); ++i) {
      const Totals& sums = column.sums[i];
      out_.varint(sums.size_bytes);
      out_.real(sums.weight_bytes);
      out_.real(sums.weight_count);
      if (!has_variances) continue;
      for (const double variance : {sums.variance_bytes, sums.variance_count})
        write_short(std::sqrt(variance));
      out_.varint(column.smallest[i]);
      if (column.smallest[i] != 0) continue;
      out_.real(sums.max_missed_bytes);
      out_.real(sums.max_missed_count);
    }
  }

  void write(const std::vector<Lifetime>& lifetimes) {
    out_.varint(lifetimes.size());
    for (const Lifetime& lifetime : lifetimes) {
      const bool is_exact = stands_for_itself(lifetime);
      out_.varint(2 * lifetime.lifetime_class + (is_exact ? 1 : 0));
      out_.varint(lifetime.samples);
      out_.varint(lifetime.size_bytes);
      if (is_exact) continue;
      write_float(lifetime.weight_bytes);
      write_float(lifetime.weight_count);
    }
  }

  // How many parts a stack has, for all of them; then the parts.
  void write_births() {
    for (size_t i = 0; i < count_; ++i) out_.varint(stacks_[i].statistics.births.size());
    for (size_t i = 0; i < count_; ++i) {
      for (const Birth& birth : stacks_[i].statistics.births) {
        out_.varint(birth.part);
        out_.varint(birth.samples);
        write_float(birth.weight_bytes);
        write_float(birth.weight_count);
      }
    }
  }

  void write_float(double number) {
    const uint32_t bits = float_bits(number);
    for (unsigned shift = 0; shift < 32; shift += 8) {
      const char byte = static_cast<char>(bits >> shift);
      out_.bytes({&byte, 1});
    }
  }

  void write_short(double value) {
    const uint16_t code = short_code(value);
    const char bytes[] = {static_cast<char>(code), static_cast<char>(code >> 8)};
    out_.bytes({bytes, sizeof(bytes)});
  }

  const IdentifiedStatistics* stacks_;
  const size_t count_;
  const unsigned bits_;
  const uint64_t rate_bytes_;
  std::map<SampleKind, uint64_t> kinds_;
  ByteWriter out_;
};

// What is not there reads as 0, and is noticed.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  bool is_at_end() const { return bytes_.empty(); }

  uint64_t varint() {
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64 && !bytes_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      number |= uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return number;
    }
    ok_ = false;
    return 0;
  }

  // How many of something follow, each of which takes a byte at least.
  uint64_t count() {
    const uint64_t number = varint();
    ok_ = ok_ && number <= bytes_.size();
    return ok_ ? number : 0;
  }

  uint64_t fixed(size_t size) {
    uint64_t number = 0;
    if (bytes_.size() < size) {
      ok_ = false;
      return 0;
    }
    for (size_t i = 0; i < size; ++i) {
      number |= uint64_t{static_cast<unsigned char>(bytes_[i])} << (8 * i);
    }
    bytes_.remove_prefix(size);
    return number;
  }

  // Of what was freed it can be below zero, where live samples stand for more than at first.
  double signed_real() {
    const uint64_t bits = fixed(sizeof(double));
    double number = 0;
    std::memcpy(&number, &bits, sizeof(number));
    return checked(number, true);
  }

  double real() { return checked(signed_real(), false); }

  double small_real() { return checked(of_float_bits(static_cast<uint32_t>(fixed(sizeof(float)))), true); }

 private:
  double checked(double number, bool may_be_negative) {
    if (std::isfinite(number) && (may_be_negative || number >= 0)) return number;
    ok_ = false;
    return 0;
  }

  std::string_view bytes_;
  bool ok_ = true;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : in_(bytes) {}

  // Empty: damaged.  Ids are the short ones.
  std::vector<IdentifiedStatistics> unpack() {
    const uint64_t count = in_.count();
    std::vector<SampleKind> kinds(in_.count());
    for (SampleKind& kind : kinds) kind.size_bytes = in_.varint();
    for (SampleKind& kind : kinds) kind.rate_bytes = in_.varint();
    for (SampleKind& kind : kinds) {
      kind.share = in_.varint();
      if (kind.share < 1 || kind.share > 2) return {};
    }
    if (!in_.ok()) return {};
    std::vector<IdentifiedStatistics> stacks(count);
    uint64_t id = 0;
    for (IdentifiedStatistics& stack : stacks) stack.id = id += in_.varint();
    for (IdentifiedStatistics& stack : stacks) {
      const uint64_t walk = in_.varint();
      if (walk >= kWalkReasons) return {};
      stack.statistics.walk = static_cast<Walk>(walk);
    }
    const bool is_whole = read(&StackStatistics::allocated, true, kinds, &stacks) &&
                          read(&StackStatistics::peak, true, kinds, &stacks) &&
                          read(&StackStatistics::freed, false, kinds, &stacks);
    if (!is_whole) return {};
    for (IdentifiedStatistics& stack : stacks) {
      StackStatistics& own = stack.statistics;
      if (own.freed.samples == 0) continue;
      own.lifetime_ns = short_value(static_cast<uint16_t>(in_.fixed(2))) * own.freed.weight_count;
      if (!read(&own.lifetimes)) return {};
    }
    // Files of before end here.
    if (in_.ok() && !in_.is_at_end() && !read_births(&stacks)) return {};
    if (!in_.ok() || !in_.is_at_end()) return {};
    return stacks;
  }

 private:
  // Ascending by class, each of them once.
  bool read(std::vector<Lifetime>* lifetimes) {
    const uint64_t count = in_.count();
    for (uint64_t i = 0; i < count && in_.ok(); ++i) {
      const uint64_t code = in_.varint();
      Lifetime lifetime;
      if (code / 2 >= kLifetimeClasses) return false;
      lifetime.lifetime_class = static_cast<uint32_t>(code / 2);
      if (!lifetimes->empty() && lifetimes->back().lifetime_class >= lifetime.lifetime_class) return false;
      lifetime.samples = in_.varint();
      lifetime.size_bytes = in_.varint();
      const bool is_exact = code % 2 != 0;
      lifetime.weight_bytes = is_exact ? static_cast<double>(lifetime.size_bytes) : in_.small_real();
      lifetime.weight_count = is_exact ? static_cast<double>(lifetime.samples) : in_.small_real();
      lifetimes->push_back(lifetime);
    }
    return in_.ok();
  }

  bool read_births(std::vector<IdentifiedStatistics>* stacks) {
    for (IdentifiedStatistics& stack : *stacks) {
      const uint64_t count = in_.varint();
      if (!in_.ok() || count > kBirthParts) return false;
      stack.statistics.births.resize(count);
    }
    for (IdentifiedStatistics& stack : *stacks) {
      const Birth* before = nullptr;
      for (Birth& birth : stack.statistics.births) {
        const uint64_t part = in_.varint();
        if (part >= kBirthParts || (before != nullptr && before->part >= part)) return false;
        birth.part = static_cast<uint32_t>(part);
        birth.samples = in_.varint();
        birth.weight_bytes = in_.small_real();
        birth.weight_count = in_.small_real();
        if (birth.samples == 0 || birth.samples >> 53 != 0 || !in_.ok()) return false;
        before = &birth;
      }
    }
    return in_.ok();
  }

  bool read(Totals StackStatistics::* member, bool has_variances, const std::vector<SampleKind>& kinds,
            std::vector<IdentifiedStatistics>* stacks) {
    std::vector<uint64_t> codes;
    for (size_t i = 0; i < stacks->size(); ++i) {
      codes.push_back(in_.varint());
      if (codes.back() >= kFirstKind + kinds.size()) return false;
    }
    for (size_t i = 0; i < stacks->size(); ++i) {
      if (codes[i] == kNothing) continue;
      Totals& totals = (*stacks)[i].statistics.*member;
      totals.samples = in_.varint();
      // More would be no number of samples, and their sizes no sum.
      if (totals.samples == 0 || totals.samples >> 53 != 0) return false;
      if (codes[i] < kFirstKind) continue;
      const SampleKind& kind = kinds[codes[i] - kFirstKind];
      if (kind.size_bytes != 0 && totals.samples > UINT64_MAX / kind.size_bytes) return false;
      totals = totals_of(kind, totals.samples);
      if (!has_variances) totals = without_variances(totals);
    }
    for (size_t i = 0; i < stacks->size(); ++i) {
      if (codes[i] != kSums) continue;
      Totals& totals = (*stacks)[i].statistics.*member;
      totals.size_bytes = in_.varint();
      totals.weight_bytes = has_variances ? in_.real() : in_.signed_real();
      totals.weight_count = has_variances ? in_.real() : in_.signed_real();
      if (!has_variances) continue;
      for (double* variance : {&totals.variance_bytes, &totals.variance_count}) {
        const double root = short_value(static_cast<uint16_t>(in_.fixed(2)));
        *variance = root * root;
      }
      const uint64_t smallest = in_.varint();
      if (smallest > kinds.size()) return false;
      if (smallest != 0) {
        set_maxima(kinds[smallest - 1], &totals);
        continue;
      }
      totals.max_missed_bytes = in_.real();
      totals.max_missed_count = in_.real();
    }
    return in_.ok();
  }

  Bytes in_;
};

bool are_told_apart(const std::vector<IdentifiedStatistics>& stacks, unsigned bits) {
  for (size_t i = 1; i < stacks.size(); ++i) {
    if (stacks[i].id != stacks[i - 1].id &&
        short_id(stacks[i].id, bits) == short_id(stacks[i - 1].id, bits)) {
      return false;
    }
  }
  return true;
}

unsigned bits_for(const std::vector<IdentifiedStatistics>& stacks) {
  constexpr unsigned kOneInAMillion = 20;
  unsigned bits = kOneInAMillion;
  while (bits < kAllBits && stacks.size() >> (bits - kOneInAMillion) != 0) ++bits;
  while (bits < kAllBits && !are_told_apart(stacks, bits)) bits = std::min(bits + 4, kAllBits);
  return bits;
}

void pack(const IdentifiedStatistics* stacks, size_t count, unsigned bits, uint64_t rate_bytes,
          std::vector<std::string>* comments) {
  const std::string bytes = Packer(stacks, count, bits, rate_bytes).pack();
  if (bytes.size() > kMostBytes && count > 1) {
    pack(stacks, count / 2, bits, rate_bytes, comments);
    pack(stacks + count / 2, count - count / 2, bits, rate_bytes, comments);
    return;
  }
  comments->push_back(kPrefix + std::to_string(bits) + kData + base64(bytes));
}

}  // namespace

// The highest bits, so that ids in order are short ids in order.
uint64_t short_id(uint64_t id, unsigned bits) {
  return bits >= kAllBits ? id : id >> (kAllBits - bits);
}

StackStatistics as_packed(const Stack& stack, uint64_t rate_bytes) {
  StackStatistics own;
  own.walk = stack.walk;
  own.allocated = packed(stack.allocated, rate_bytes);
  own.peak = packed(stack.peak, rate_bytes);
  const auto kind = freed_kind(stack.freed, rate_bytes);
  own.freed = without_variances(kind ? totals_of(*kind, stack.freed.samples) : stack.freed);
  if (own.freed.samples != 0 && own.freed.weight_count > 0) {
    own.lifetime_ns =
        short_value(short_code(stack.lifetime_ns / own.freed.weight_count)) * own.freed.weight_count;
  }
  own.births = stack.births;
  for (Birth& birth : own.births) {
    birth.weight_bytes = of_float_bits(float_bits(birth.weight_bytes));
    birth.weight_count = of_float_bits(float_bits(birth.weight_count));
  }
  if (own.freed.samples == 0) return own;
  own.lifetimes = stack.lifetimes;
  for (Lifetime& lifetime : own.lifetimes) {
    if (stands_for_itself(lifetime)) continue;
    lifetime.weight_bytes = of_float_bits(float_bits(lifetime.weight_bytes));
    lifetime.weight_count = of_float_bits(float_bits(lifetime.weight_count));
  }
  return own;
}

std::vector<std::string> pack_statistics(std::vector<IdentifiedStatistics> stacks, uint64_t rate_bytes) {
  std::vector<std::string> comments;
  if (stacks.empty()) return comments;
  std::sort(stacks.begin(), stacks.end(),
            [](const IdentifiedStatistics& a, const IdentifiedStatistics& b) { return a.id < b.id; });
  const unsigned bits = bits_for(stacks);
  // Parts of what fits in one comment where stacks are of the usual kind.
  constexpr size_t kMostStacks = 8192;
  for (size_t i = 0; i < stacks.size(); i += kMostStacks) {
    pack(&stacks[i], std::min(kMostStacks, stacks.size() - i), bits, rate_bytes, &comments);
  }
  return comments;
}

bool unpack_statistics(std::string_view comment,
                       const std::function<void(unsigned, uint64_t, const StackStatistics&)>& each) {
  constexpr std::string_view kBegin = kPrefix;
  constexpr std::string_view kMiddle = kData;
  if (comment.substr(0, kBegin.size()) != kBegin) return false;
  comment.remove_prefix(kBegin.size());
  unsigned bits = 0;
  const auto [end, error] = std::from_chars(comment.data(), comment.data() + comment.size(), bits);
  comment.remove_prefix(static_cast<size_t>(end - comment.data()));
  if (error != std::errc() || bits == 0 || bits > kAllBits || comment.substr(0, kMiddle.size()) != kMiddle)
    return false;
  const auto bytes = from_base64(comment.substr(kMiddle.size()));
  if (!bytes) return false;
  const std::vector<IdentifiedStatistics> stacks = Unpacker(*bytes).unpack();
  for (const IdentifiedStatistics& stack : stacks) each(bits, stack.id, stack.statistics);
  return !stacks.empty();
}

}  // namespace memprof::profile
