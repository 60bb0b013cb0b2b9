// SPDX-License-Identifier: Apache-2.0
#include "profile/page/page_tables.h"

#include <algorithm>
#include <cmath>

#include "format/lifetime_class.h"
#include "profile/lifetimes/temporary.h"
#include "profile/model/estimate.h"

namespace memprof::profile {
namespace {

enum Family : uint8_t { kLive, kAllocated, kPeak, kMapped, kMappedResident, kTemporary, kResident, kJs };

// Of labels.
constexpr uint32_t kIsCut = 1;
constexpr uint32_t kIsAfter = 2;

void add_plain(const Stack& stack, Metric bytes, Metric blocks, PageValues* values) {
  const std::pair both(estimated_value(stack, bytes), estimated_value(stack, blocks));
  if (both.first == 0 && both.second == 0) return;
  values->entries.push_back({kPlainKind, 0});
  values->plain.push_back(both);
}

// Of blocks of one size an Accumulator takes the bytes from the blocks, and so do the page's sums: weights travel with some
// digits only.
Totals temporary_totals(const Stack& stack, uint32_t within) {
  Totals totals = younger_totals(stack.allocated, stack.lifetimes.data(), stack.lifetimes.size(), within);
  const auto samples = static_cast<double>(totals.samples);
  const double missed = totals.weight_count - samples;
  if (totals.samples == 0 ||
      std::abs(totals.max_missed_count * samples - missed) > 1e-6 * missed + 1e-12 * totals.weight_count)
    return totals;
  totals.weight_bytes = static_cast<double>(totals.size_bytes) / samples * totals.weight_count;
  return totals;
}

uint64_t rounded(double value) {
  return static_cast<uint64_t>(std::llround(std::max(value, 0.0)));
}

bool is_same(const Totals& a, const Totals& b) {
  const auto key = [](const Totals& totals) {
    return std::tie(totals.samples, totals.size_bytes, totals.weight_bytes, totals.weight_count,
                    totals.variance_bytes, totals.variance_count, totals.max_missed_bytes,
                    totals.max_missed_count);
  };
  return key(a) == key(b);
}

// A table, from a row on.
template <typename Row>
std::vector<Row> rest_of(const std::vector<Row>& rows, size_t from) {
  return std::vector<Row>(rows.begin() + static_cast<std::ptrdiff_t>(from), rows.end());
}

}  // namespace

void PageValues::add(const PageValues& more) {
  entries.insert(entries.end(), more.entries.begin(), more.entries.end());
  totals.insert(totals.end(), more.totals.begin(), more.totals.end());
  plain.insert(plain.end(), more.plain.begin(), more.plain.end());
}

bool PageValues::operator==(const PageValues& other) const {
  return entries == other.entries && plain == other.plain &&
         std::equal(totals.begin(), totals.end(), other.totals.begin(), other.totals.end(), is_same);
}

void PageRow::add(const PageRow& more) {
  for (size_t i = 0; i < kPageFamilies; ++i) families[i].add(more.families[i]);
  lifetimes.insert(lifetimes.end(), more.lifetimes.begin(), more.lifetimes.end());
}

bool PageRow::holds_the_same(const PageRow& other) const {
  return families == other.families && lifetimes == other.lifetimes;
}

bool PageRow::is_empty() const {
  return lifetimes.empty() && std::all_of(families.begin(), families.end(),
                                          [](const PageValues& values) { return values.entries.empty(); });
}

PageRow PageTables::row_of(const Stack& stack, const Profile& profile, bool is_after) {
  Label label;
  label.process = frames_.texts().index_of(stack.process);
  label.heap = frames_.texts().index_of(stack.heap);
  label.flags = (is_cut(stack) ? kIsCut : 0) | (is_after ? kIsAfter : 0);
  const auto [known, is_new] = label_index_.emplace(label, static_cast<uint32_t>(labels_.size()));
  if (is_new) labels_.push_back(label);
  PageRow row;
  row.label = known->second;
  auto& families = row.families;
  if (stack.has_statistics) {
    for (const LiveGroup& group : stack.live) {
      add_samples({group.size_bytes, group.rate_bytes, 1}, group.samples, &families[kLive]);
    }
    add_totals(stack.allocated, profile.rate_bytes, &families[kAllocated]);
    add_totals(stack.peak, profile.rate_bytes, &families[kPeak]);
    const uint32_t within = lifetime_classes_within(page_temporary_ns(profile));
    add_totals(temporary_totals(stack, within), profile.rate_bytes, &families[kTemporary]);
    for (const Lifetime& lifetime : stack.lifetimes) {
      row.lifetimes.push_back(
          {lifetime.lifetime_class, rounded(lifetime.weight_bytes), rounded(lifetime.weight_count)});
    }
  } else {
    add_plain(stack, Metric::kInuseSpace, Metric::kInuseObjects, &families[kLive]);
    add_plain(stack, Metric::kAllocSpace, Metric::kAllocObjects, &families[kAllocated]);
    add_plain(stack, Metric::kPeakSpace, Metric::kPeakObjects, &families[kPeak]);
  }
  add_plain(stack, Metric::kMappedSpace, Metric::kMappedObjects, &families[kMapped]);
  add_plain(stack, Metric::kMappedResidentSpace, Metric::kMappedResidentObjects, &families[kMappedResident]);
  add_plain(stack, Metric::kResidentSpace, Metric::kResidentObjects, &families[kResident]);
  add_plain(stack, Metric::kJsSpace, Metric::kJsObjects, &families[kJs]);
  return row;
}

void PageTables::add_samples(const SampleKind& kind, uint64_t samples, PageValues* values) {
  const auto [known, is_new] = kind_index_.emplace(kind, kinds_.size());
  if (is_new) kinds_.push_back(kind);
  values->entries.push_back({kFirstPageKind + known->second, samples});
}

void PageTables::add_totals(const Totals& totals, uint64_t rate_bytes, PageValues* values) {
  if (totals.samples == 0) return;
  if (const auto kind = kind_of(totals, rate_bytes)) return add_samples(*kind, totals.samples, values);
  values->entries.push_back({kTotalsKind, totals.samples});
  values->totals.push_back(totals);
}

PageTables::Sizes PageTables::sizes() const {
  return {frames_.texts().texts().size(), frames_.frames().size(), frames_.sites().size(), kinds_.size(),
          labels_.size()};
}

void PageTables::write_names(const Sizes& from, ByteWriter* out) const {
  const auto texts = rest_of(frames_.texts().texts(), from.texts);
  out->varint(texts.size());
  out->column(texts, [](const std::string* text) { return text->size(); });
  for (const std::string* text : texts) out->bytes(*text);
  const auto frames = rest_of(frames_.frames(), from.frames);
  out->varint(frames.size());
  for (const auto member :
       {&PageFrame::name, &PageFrame::shown, &PageFrame::symbol, &PageFrame::file, &PageFrame::module,
        &PageFrame::shown_module, &PageFrame::path, &PageFrame::package}) {
    out->column(frames, [member](const PageFrame& frame) { return frame.*member; });
  }
  out->column(frames, [](const PageFrame& frame) { return std::max<int64_t>(frame.line, 0); });
  out->column(frames, [](const PageFrame& frame) { return frame.flags; });
  const auto sites = rest_of(frames_.sites(), from.sites);
  out->varint(sites.size());
  out->column(sites, [](const PageSite& site) { return site.frame; });
  out->column(sites, [](const PageSite& site) { return site.role; });
}

void PageTables::write_kinds(const Sizes& from, ByteWriter* out) const {
  const auto kinds = rest_of(kinds_, from.kinds);
  out->varint(kinds.size());
  out->column(kinds, [](const SampleKind& kind) { return kind.size_bytes; });
  out->column(kinds, [](const SampleKind& kind) { return kind.rate_bytes; });
  out->column(kinds, [](const SampleKind& kind) { return kind.share; });
  const auto labels = rest_of(labels_, from.labels);
  out->varint(labels.size());
  for (const auto member : {&Label::process, &Label::heap, &Label::flags}) {
    out->column(labels, [member](const Label& label) { return label.*member; });
  }
}

void write_values(const std::vector<const PageRow*>& rows, ByteWriter* out) {
  for (size_t family = 0; family < kPageFamilies; ++family) {
    out->column(rows, [family](const PageRow* row) { return row->families[family].entries.size(); });
    for (const PageRow* row : rows) {
      out->column(row->families[family].entries, [](const PageEntry& entry) { return entry.kind; });
    }
    for (const PageRow* row : rows) {
      out->column(row->families[family].entries, [](const PageEntry& entry) { return entry.samples; });
    }
  }
  for (const PageRow* row : rows) {
    for (const PageValues& values : row->families) {
      for (const Totals& totals : values.totals) {
        out->varint(totals.size_bytes);
        for (const double number :
             {totals.weight_bytes, totals.weight_count, totals.variance_bytes, totals.variance_count,
              totals.max_missed_bytes, totals.max_missed_count}) {
          out->real(number);
        }
      }
    }
  }
  for (const PageRow* row : rows) {
    for (const PageValues& values : row->families) {
      for (const auto& [bytes, blocks] : values.plain) {
        out->real(bytes);
        out->real(blocks);
      }
    }
  }
  out->column(rows, [](const PageRow* row) { return row->lifetimes.size(); });
  for (const PageRow* row : rows) {
    out->column(row->lifetimes, [](const PageLifetime& lifetime) { return lifetime.lifetime_class; });
    out->column(row->lifetimes, [](const PageLifetime& lifetime) { return lifetime.bytes; });
    out->column(row->lifetimes, [](const PageLifetime& lifetime) { return lifetime.blocks; });
  }
}

uint64_t page_temporary_ns(const Profile& profile) {
  return profile.temporary_ns != 0 ? profile.temporary_ns : kDefaultTemporaryNs;
}

}  // namespace memprof::profile
