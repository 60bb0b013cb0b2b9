// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/packed_statistics.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "profile/files/base64.h"
#include "profile/files/byte_writer.h"
#include "profile/files/gzip.h"
#include "profile/model/error.h"
#include "profile/model/sample_kind.h"
#include "profile/pprof/packed_numbers.h"
#include "profile/pprof/statistics_unpacker.h"

namespace memprof::profile {

using packed::alike;
using packed::float_bits;
using packed::follows;
using packed::freed_kind;
using packed::is_alike;
using packed::is_same;
using packed::kFirstKind;
using packed::kLifetimeForms;
using packed::kMaxStacks;
using packed::kMaxUnpackedBytes;
using packed::kNothing;
using packed::kSame;
using packed::kSums;
using packed::LifetimeForm;
using packed::of_float_bits;
using packed::share_of;
using packed::share_of_births;
using packed::short_code;
using packed::short_value;
using packed::smallest_of;
using packed::stands_for_itself;
using packed::without_variances;

namespace {

constexpr char kPrefix[] = "#memprof.stacks version=2 bits=";
constexpr char kPrefixOfBefore[] = "#memprof.stacks version=1 bits=";
constexpr char kData[] = " data=";
constexpr unsigned kAllBits = 64;
// Services cut texts of more than 65,535 characters.
constexpr size_t kMaxBytes = 48000;

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
      if (own.freed.samples != 0 && is_same(own.allocated, own.freed)) {
        freed.codes.push_back(kSame);
      } else {
        add(own.freed, freed_kind(own.freed, rate_bytes_), &freed);
      }
    }
    std::vector<SampleKind> kinds(kinds_.size());
    for (const auto& [kind, index] : kinds_) kinds[index] = kind;
    out_.varint(count_);
    out_.varint(kinds.size());
    out_.varint(rate_bytes_);
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
      write(own.freed, own.lifetimes);
    }
    write_births(&StackStatistics::births);
    // Old readers know none.
    if (std::any_of(stacks_, stacks_ + count_, [](const IdentifiedStatistics& stack) {
          return !stack.statistics.load_births.empty();
        })) {
      write_births(&StackStatistics::load_births);
    }
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

  void write(const Totals& freed, const std::vector<Lifetime>& lifetimes) {
    out_.varint(lifetimes.size());
    for (const Lifetime& lifetime : lifetimes) {
      const LifetimeForm form = form_of(freed, lifetime);
      out_.varint(kLifetimeForms * lifetime.lifetime_class + static_cast<uint64_t>(form));
      out_.varint(lifetime.samples);
      if (form == LifetimeForm::kShare) continue;
      out_.varint(lifetime.size_bytes);
      if (form != LifetimeForm::kNumbers) continue;
      write_float(lifetime.weight_bytes);
      write_float(lifetime.weight_count);
    }
  }

  LifetimeForm form_of(const Totals& freed, const Lifetime& lifetime) const {
    if (follows(freed, lifetime)) return LifetimeForm::kShare;
    if (stands_for_itself(lifetime)) return LifetimeForm::kItself;
    return is_alike(lifetime, rate_bytes_) ? LifetimeForm::kAlike : LifetimeForm::kNumbers;
  }

  // How many parts a stack has, for all of them; then the parts.
  void write_births(std::vector<Birth> StackStatistics::* member) {
    for (size_t i = 0; i < count_; ++i) out_.varint((stacks_[i].statistics.*member).size());
    for (size_t i = 0; i < count_; ++i) {
      for (const Birth& birth : stacks_[i].statistics.*member) {
        const bool is_share = follows(stacks_[i].statistics.allocated, birth);
        out_.varint(2 * birth.part + (is_share ? 1 : 0));
        out_.varint(birth.samples);
        if (is_share) continue;
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

bool are_told_apart(const std::vector<uint64_t>& ids, unsigned bits) {
  for (size_t i = 1; i < ids.size(); ++i) {
    if (ids[i] != ids[i - 1] && short_id(ids[i], bits) == short_id(ids[i - 1], bits)) {
      return false;
    }
  }
  return true;
}

unsigned bits_for(const std::vector<uint64_t>& ids) {
  constexpr unsigned kOneInAMillion = 20;
  unsigned bits = kOneInAMillion;
  while (bits < kAllBits && ids.size() >> (bits - kOneInAMillion) != 0) ++bits;
  while (bits < kAllBits && !are_told_apart(ids, bits)) bits = std::min(bits + 4, kAllBits);
  return bits;
}

// Returns how many stacks to try in the next comment: half as many where these did not fit, and more where there was
// much room.
size_t pack(const IdentifiedStatistics* stacks, size_t count, unsigned bits, uint64_t rate_bytes,
            GzipEffort effort, std::vector<std::string>* comments) {
  const std::string unpacked = Packer(stacks, count, bits, rate_bytes).pack();
  const std::string bytes = gzip(unpacked, effort);
  if ((bytes.size() > kMaxBytes || unpacked.size() > kMaxUnpackedBytes) && count > 1) {
    const size_t next = pack(stacks, count / 2, bits, rate_bytes, effort, comments);
    return std::min(next, pack(stacks + count / 2, count - count / 2, bits, rate_bytes, effort, comments));
  }
  comments->push_back(kPrefix + std::to_string(bits) + kData + base64(bytes));
  constexpr size_t kMuchRoom = 3;  // so that twice as many fit, and not just
  const bool has_room =
      bytes.size() < kMaxBytes / kMuchRoom && unpacked.size() < kMaxUnpackedBytes / kMuchRoom;
  return has_room ? std::min<size_t>(2 * count, kMaxStacks) : count;
}

}  // namespace

// The highest bits, so that ids in order are short ids in order.
uint64_t short_id(uint64_t id, unsigned bits) {
  return bits >= kAllBits ? id : id >> (kAllBits - bits);
}

StackStatistics as_packed(StackStatistics own, uint64_t rate_bytes) {
  own.allocated = packed::rounded(own.allocated, rate_bytes);
  own.peak = packed::rounded(own.peak, rate_bytes);
  const auto kind = freed_kind(own.freed, rate_bytes);
  own.freed = without_variances(kind ? totals_of(*kind, own.freed.samples) : own.freed);
  own.lifetime_ns =
      own.freed.samples != 0 && own.freed.weight_count > 0
          ? short_value(short_code(own.lifetime_ns / own.freed.weight_count)) * own.freed.weight_count
          : 0;
  for (std::vector<Birth>* births : {&own.births, &own.load_births}) {
    for (Birth& birth : *births) {
      birth.weight_bytes = of_float_bits(float_bits(birth.weight_bytes));
      birth.weight_count = of_float_bits(float_bits(birth.weight_count));
      if (follows(own.allocated, birth)) birth = share_of_births(own.allocated, birth.part, birth.samples);
    }
  }
  if (own.freed.samples == 0) {
    own.lifetimes.clear();
    return own;
  }
  for (Lifetime& lifetime : own.lifetimes) {
    if (follows(own.freed, lifetime)) {
      lifetime = share_of(own.freed, lifetime.lifetime_class, lifetime.samples);
      continue;
    }
    if (stands_for_itself(lifetime)) continue;
    if (is_alike(lifetime, rate_bytes)) {
      lifetime = alike(lifetime.lifetime_class, lifetime.samples, lifetime.size_bytes, rate_bytes);
      continue;
    }
    lifetime.weight_bytes = of_float_bits(float_bits(lifetime.weight_bytes));
    lifetime.weight_count = of_float_bits(float_bits(lifetime.weight_count));
  }
  return own;
}

std::vector<std::string> pack_statistics(std::vector<IdentifiedStatistics> stacks, uint64_t rate_bytes) {
  std::sort(stacks.begin(), stacks.end(),
            [](const IdentifiedStatistics& a, const IdentifiedStatistics& b) { return a.id < b.id; });
  std::vector<uint64_t> ids;
  ids.reserve(stacks.size());
  for (const IdentifiedStatistics& stack : stacks) ids.push_back(stack.id);
  return pack_statistics(ids, [&](size_t i) { return std::move(stacks[i].statistics); }, rate_bytes);
}

std::vector<std::string> pack_statistics(const std::vector<uint64_t>& ids,
                                         const std::function<StackStatistics(size_t)>& statistics_of,
                                         uint64_t rate_bytes) {
  std::vector<std::string> comments;
  const unsigned bits = bits_for(ids);
  constexpr size_t kMany = size_t{1} << 16;
  const GzipEffort effort = ids.size() < kMany ? GzipEffort::kUsual : GzipEffort::kQuick;
  std::vector<IdentifiedStatistics> part;
  // Parts of what fits in one comment: where stacks are of the usual kind, and then as many as before.
  size_t most = kMaxStacks;
  for (size_t i = 0; i < ids.size(); ++i) {
    part.push_back({ids[i], statistics_of(i)});
    if (part.size() < most && i + 1 < ids.size()) continue;
    most = pack(part.data(), part.size(), bits, rate_bytes, effort, &comments);
    part.clear();
  }
  return comments;
}

namespace {

struct PackedComment {
  PackedForm form;
  unsigned bits;
  std::string_view data;  // in base64
};

std::optional<PackedComment> outline_of(std::string_view comment) {
  constexpr std::string_view kBegin = kPrefix;
  constexpr std::string_view kMiddle = kData;
  const bool is_derived = comment.substr(0, kBegin.size()) == kBegin;
  if (!is_derived && comment.substr(0, kBegin.size()) != kPrefixOfBefore) return std::nullopt;
  comment.remove_prefix(kBegin.size());
  unsigned bits = 0;
  const auto [end, error] = std::from_chars(comment.data(), comment.data() + comment.size(), bits);
  comment.remove_prefix(static_cast<size_t>(end - comment.data()));
  if (error != std::errc() || bits == 0 || bits > kAllBits || comment.substr(0, kMiddle.size()) != kMiddle)
    return std::nullopt;
  return PackedComment{is_derived ? PackedForm::kDerived : PackedForm::kOfBefore, bits,
                       comment.substr(kMiddle.size())};
}

}  // namespace

std::optional<unsigned> packed_bits(std::string_view comment) {
  const auto packed = outline_of(comment);
  return packed ? std::optional(packed->bits) : std::nullopt;
}

bool unpack_statistics(std::string_view comment,
                       const std::function<void(unsigned, uint64_t, StackStatistics&&)>& each) {
  const auto packed = outline_of(comment);
  if (!packed) return false;
  auto bytes = from_base64(packed->data);
  if (!bytes) return false;
  try {
    if (packed->form == PackedForm::kDerived) bytes = gunzip(*bytes, "", kMaxUnpackedBytes);
  } catch (const Error&) {
    return false;
  }
  std::vector<IdentifiedStatistics> stacks = unpack_columns(*bytes, packed->form);
  for (IdentifiedStatistics& stack : stacks) each(packed->bits, stack.id, std::move(stack.statistics));
  return !stacks.empty();
}

}  // namespace memprof::profile
