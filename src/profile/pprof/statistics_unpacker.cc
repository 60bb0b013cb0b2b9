// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/statistics_unpacker.h"

#include <cmath>
#include <cstring>

#include "format/pprof/comments.h"
#include "profile/model/sample_kind.h"
#include "profile/pprof/packed_numbers.h"

namespace memprof::profile {

using packed::alike;
using packed::kFirstKind;
using packed::kLifetimeForms;
using packed::kMaxStacks;
using packed::kNothing;
using packed::kSame;
using packed::kSums;
using packed::LifetimeForm;
using packed::of_float_bits;
using packed::restore_variance;
using packed::set_maxima;
using packed::share_of;
using packed::share_of_births;
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
  Unpacker(std::string_view bytes, PackedForm form) : in_(bytes), is_derived_(form == PackedForm::kDerived) {}

  std::vector<IdentifiedStatistics> unpack() {
    const uint64_t count = in_.count();
    if (is_derived_ && count > kMaxStacks) return {};
    std::vector<SampleKind> kinds(in_.count());
    if (is_derived_) rate_bytes_ = in_.varint();
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
      if (!read(own.freed, &own.lifetimes)) return {};
    }
    // The first files of version 1 end here.
    const bool has_births = is_derived_ || !in_.is_at_end();
    if (in_.ok() && has_births && !read_births(&StackStatistics::births, &stacks)) return {};
    // Where all of them are as those of before, files have none.
    const bool has_load_births = is_derived_ && !in_.is_at_end();
    if (in_.ok() && has_load_births && !read_births(&StackStatistics::load_births, &stacks)) return {};
    if (!in_.ok() || !in_.is_at_end()) return {};
    return stacks;
  }

 private:
  // Ascending by class, each of them once.
  bool read(const Totals& freed, std::vector<Lifetime>* lifetimes) {
    // Version 1 has the first two.
    const uint64_t forms = is_derived_ ? kLifetimeForms : 2;
    const uint64_t count = in_.count();
    for (uint64_t i = 0; i < count && in_.ok(); ++i) {
      const uint64_t code = in_.varint();
      Lifetime lifetime;
      if (code / forms >= kLifetimeClasses) return false;
      lifetime.lifetime_class = static_cast<uint32_t>(code / forms);
      if (!lifetimes->empty() && lifetimes->back().lifetime_class >= lifetime.lifetime_class) return false;
      lifetime.samples = in_.varint();
      const auto form = static_cast<LifetimeForm>(code % forms);
      if (form == LifetimeForm::kShare) {
        if (lifetime.samples == 0 || lifetime.samples > freed.samples) return false;
        lifetimes->push_back(share_of(freed, lifetime.lifetime_class, lifetime.samples));
        continue;
      }
      lifetime.size_bytes = in_.varint();
      if (form == LifetimeForm::kAlike) {
        if (lifetime.samples == 0 || lifetime.size_bytes < lifetime.samples) return false;
        lifetimes->push_back(
            alike(lifetime.lifetime_class, lifetime.samples, lifetime.size_bytes, rate_bytes_));
        continue;
      }
      const bool is_itself = form == LifetimeForm::kItself;
      lifetime.weight_bytes = is_itself ? static_cast<double>(lifetime.size_bytes) : in_.small_real();
      lifetime.weight_count = is_itself ? static_cast<double>(lifetime.samples) : in_.small_real();
      lifetimes->push_back(lifetime);
    }
    return in_.ok();
  }

  bool read_births(std::vector<Birth> StackStatistics::* member, std::vector<IdentifiedStatistics>* stacks) {
    for (IdentifiedStatistics& stack : *stacks) {
      const uint64_t count = in_.varint();
      if (!in_.ok() || count > kBirthParts) return false;
      (stack.statistics.*member).resize(count);
    }
    for (IdentifiedStatistics& stack : *stacks) {
      const Totals& allocated = stack.statistics.allocated;
      const Birth* before = nullptr;
      for (Birth& birth : stack.statistics.*member) {
        const uint64_t code = in_.varint();
        const uint64_t part = is_derived_ ? code / 2 : code;
        if (part >= kBirthParts || (before != nullptr && before->part >= part)) return false;
        birth.part = static_cast<uint32_t>(part);
        birth.samples = in_.varint();
        if (is_derived_ && code % 2 != 0) {
          if (birth.samples == 0 || birth.samples > allocated.samples || !in_.ok()) return false;
          birth = share_of_births(allocated, birth.part, birth.samples);
          before = &birth;
          continue;
        }
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
      // Version 1 counts its kinds from the code that means the same here.
      if (!is_derived_ && codes.back() >= kSame) ++codes.back();
      if (codes.back() == kSame && has_variances) return false;
      if (codes.back() >= kFirstKind + kinds.size()) return false;
    }
    for (size_t i = 0; i < stacks->size(); ++i) {
      if (codes[i] == kNothing) continue;
      Totals& totals = (*stacks)[i].statistics.*member;
      if (codes[i] == kSame) {
        totals = without_variances((*stacks)[i].statistics.allocated);
        continue;
      }
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
      restore_variance(&totals);
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
  const bool is_derived_;
  uint64_t rate_bytes_ = 0;
};

}  // namespace

std::vector<IdentifiedStatistics> unpack_columns(std::string_view bytes, PackedForm form) {
  return Unpacker(bytes, form).unpack();
}

}  // namespace memprof::profile
