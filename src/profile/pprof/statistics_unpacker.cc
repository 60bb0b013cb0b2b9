// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/statistics_unpacker.h"

#include <cmath>
#include <cstring>

#include "format/pprof/comments.h"
#include "profile/model/sample_kind.h"
#include "profile/pprof/packed_numbers.h"

namespace memprof::profile {

using packed::kFirstKind;
using packed::kNothing;
using packed::kSums;
using packed::of_float_bits;
using packed::set_maxima;
using packed::short_value;
using packed::without_variances;

namespace {

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

}  // namespace

std::vector<IdentifiedStatistics> unpack_columns(std::string_view bytes) {
  return Unpacker(bytes).unpack();
}

}  // namespace memprof::profile
