// SPDX-License-Identifier: Apache-2.0
#include "profile/page/page_data.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "profile/files/byte_writer.h"
#include "profile/model/estimate.h"
#include "profile/model/metric.h"
#include "profile/model/sample_kind.h"
#include "profile/page/page_frames.h"
#include "profile/page/page_tree.h"

namespace memprof::profile {
namespace {

using Json = nlohmann::ordered_json;

// What is known of samples: live blocks, all that were allocated, those at the peak.
constexpr size_t kFamilies = 3;
enum Family : uint8_t { kLiveFamily, kAllocatedFamily, kPeakFamily };

// Numbers below this are not kinds, but say what follows instead.
constexpr uint64_t kTotals = 0;  // a row of sums over samples of several sizes
constexpr uint64_t kPlain = 1;   // bytes and blocks as a file without statistics has them
constexpr uint64_t kFirstKind = 2;

struct Entry {
  uint64_t kind = kTotals;
  uint64_t samples = 0;
};

// Everything about one stack.
struct Row {
  uint32_t node = 0;
  uint32_t label = 0;
  std::array<std::vector<Entry>, kFamilies> entries;
  std::vector<Totals> totals;                    // for entries that are kTotals
  std::vector<std::pair<double, double>> plain;  // for those that are kPlain: bytes, blocks
};

struct StackLabel {
  uint32_t process = 0;  // texts
  uint32_t heap = 0;
  uint32_t flags = 0;

  bool operator<(const StackLabel& other) const {
    return std::tie(process, heap, flags) < std::tie(other.process, other.heap, other.flags);
  }
};
constexpr uint32_t kIsCut = 1;
constexpr uint32_t kIsAfter = 2;  // of the second profile

class Writer {
 public:
  void add(const Profile& profile, bool is_after) {
    ProfileFrames frames(profile, &frames_);
    for (const Stack& stack : profile.stacks) {
      Row& row = rows_.emplace_back();
      row.node = tree_.add(frames.root_first(stack));
      StackLabel label;
      label.process = frames_.texts().index_of(stack.process);
      label.heap = frames_.texts().index_of(stack.heap);
      label.flags = (is_cut(stack) ? kIsCut : 0) | (is_after ? kIsAfter : 0);
      row.label = labels_.emplace(label, static_cast<uint32_t>(labels_.size())).first->second;
      if (stack.has_statistics) {
        for (const LiveGroup& group : stack.live) {
          add_samples({group.size_bytes, group.rate_bytes, 1}, group.samples, &row.entries[kLiveFamily]);
        }
        add_totals(stack.allocated, profile.rate_bytes, kAllocatedFamily, &row);
        add_totals(stack.peak, profile.rate_bytes, kPeakFamily, &row);
      } else {
        add_plain(stack, Metric::kInuseSpace, Metric::kInuseObjects, kLiveFamily, &row);
        add_plain(stack, Metric::kAllocSpace, Metric::kAllocObjects, kAllocatedFamily, &row);
        add_plain(stack, Metric::kPeakSpace, Metric::kPeakObjects, kPeakFamily, &row);
      }
    }
  }

  std::string finish(const Json& facts) {
    ByteWriter out;
    out.text(facts.dump(-1, ' ', false, Json::error_handler_t::replace));
    write_names(&out);
    write_tree(&out);
    write_kinds(&out);
    write_rows(&out);
    return out.take();
  }

 private:
  void add_samples(const SampleKind& kind, uint64_t samples, std::vector<Entry>* entries) {
    const auto known = kinds_.emplace(kind, kinds_.size()).first;
    entries->push_back({kFirstKind + known->second, samples});
  }

  void add_totals(const Totals& totals, uint64_t rate_bytes, Family family, Row* row) {
    if (totals.samples == 0) return;
    if (const auto kind = kind_of(totals, rate_bytes)) {
      return add_samples(*kind, totals.samples, &row->entries[family]);
    }
    row->entries[family].push_back({kTotals, totals.samples});
    row->totals.push_back(totals);
  }

  static void add_plain(const Stack& stack, Metric bytes, Metric blocks, Family family, Row* row) {
    const std::pair values(estimated_value(stack, bytes), estimated_value(stack, blocks));
    if (values.first == 0 && values.second == 0) return;
    row->entries[family].push_back({kPlain, 0});
    row->plain.push_back(values);
  }

  void write_names(ByteWriter* out) const {
    const auto& texts = frames_.texts().texts();
    out->varint(texts.size());
    out->column(texts, [](const std::string* text) { return text->size(); });
    for (const std::string* text : texts) out->bytes(*text);
    const auto& frames = frames_.frames();
    out->varint(frames.size());
    for (const auto member : {&PageFrame::name, &PageFrame::shown, &PageFrame::symbol, &PageFrame::file,
                              &PageFrame::module, &PageFrame::shown_module, &PageFrame::path}) {
      out->column(frames, [member](const PageFrame& frame) { return frame.*member; });
    }
    out->column(frames, [](const PageFrame& frame) { return std::max<int64_t>(frame.line, 0); });
    out->column(frames, [](const PageFrame& frame) { return frame.flags; });
    const auto& sites = frames_.sites();
    out->varint(sites.size());
    out->column(sites, [](const PageSite& site) { return site.frame; });
    out->column(sites, [](const PageSite& site) { return site.role; });
  }

  void write_tree(ByteWriter* out) const {
    const std::vector<PageTree::Node> nodes = tree_.nodes();
    out->varint(nodes.size());
    out->column(nodes, [](const PageTree::Node& node) { return node.label; });
    // How many levels up from where a child of the node before would be.
    uint32_t child_depth = 0;
    out->column(nodes, [&child_depth](const PageTree::Node& node) {
      const uint32_t up = child_depth - node.depth;
      child_depth = node.depth + 1;
      return up;
    });
  }

  void write_kinds(ByteWriter* out) const {
    std::vector<SampleKind> kinds(kinds_.size());
    for (const auto& [kind, index] : kinds_) kinds[index] = kind;
    out->varint(kinds.size());
    out->column(kinds, [](const SampleKind& kind) { return kind.size_bytes; });
    out->column(kinds, [](const SampleKind& kind) { return kind.rate_bytes; });
    out->column(kinds, [](const SampleKind& kind) { return kind.share; });
    std::vector<StackLabel> labels(labels_.size());
    for (const auto& [label, index] : labels_) labels[index] = label;
    out->varint(labels.size());
    for (const auto member : {&StackLabel::process, &StackLabel::heap, &StackLabel::flags}) {
      out->column(labels, [member](const StackLabel& label) { return label.*member; });
    }
  }

  void write_rows(ByteWriter* out) {
    const std::vector<uint32_t> places = tree_.places();
    for (Row& row : rows_) row.node = places[row.node];
    std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
      return std::tie(a.node, a.label) < std::tie(b.node, b.label);
    });
    out->varint(rows_.size());
    uint32_t last = 0;
    out->column(rows_, [&last](const Row& row) {
      const uint32_t step = row.node - last;
      last = row.node;
      return step;
    });
    out->column(rows_, [](const Row& row) { return row.label; });
    for (size_t family = 0; family < kFamilies; ++family) {
      out->column(rows_, [family](const Row& row) { return row.entries[family].size(); });
      for (const Row& row : rows_)
        out->column(row.entries[family], [](const Entry& entry) { return entry.kind; });
      for (const Row& row : rows_)
        out->column(row.entries[family], [](const Entry& entry) { return entry.samples; });
    }
    for (const Row& row : rows_) {
      for (const Totals& totals : row.totals) {
        out->varint(totals.size_bytes);
        for (const double number :
             {totals.weight_bytes, totals.weight_count, totals.variance_bytes, totals.variance_count,
              totals.max_missed_bytes, totals.max_missed_count}) {
          out->real(number);
        }
      }
    }
    for (const Row& row : rows_) {
      for (const auto& [bytes, blocks] : row.plain) {
        out->real(bytes);
        out->real(blocks);
      }
    }
  }

  PageFrames frames_;
  PageTree tree_;
  std::map<SampleKind, uint64_t> kinds_;
  std::map<StackLabel, uint32_t> labels_;
  std::vector<Row> rows_;
};

Json side_facts(const Profile& profile) {
  return {{"program", profile.program},           {"pid", profile.pid},
          {"rate", profile.rate_bytes},           {"samples", profile.samples},
          {"stacks", profile.stacks.size()},      {"dropped", profile.dropped_samples},
          {"time_unix_ns", profile.time_unix_ns}, {"duration_ns", profile.duration_ns}};
}

}  // namespace

std::string write_page_data(const std::vector<const Profile*>& sides, const PageSubject& subject) {
  const Profile& last = *sides.back();
  Json facts = {{"version", 1}, {"title", subject.title}, {"lines", subject.facts}};
  facts["sides"] = Json::array();
  for (const Profile* profile : sides) facts["sides"].push_back(side_facts(*profile));
  facts["metrics"] = Json::array();
  for (const Metric metric : kMetrics) {
    const bool all_have = std::all_of(sides.begin(), sides.end(), [metric](const Profile* profile) {
      return profile->has_metric[metric_index(metric)];
    });
    if (all_have && !metric_is_optional(metric)) facts["metrics"].push_back(metric_name(metric));
  }
  facts["metric"] = metric_name(subject.metric.value_or(default_metric(last)));
  facts["has_intervals"] = std::all_of(sides.begin(), sides.end(), [](const Profile* profile) {
    return profile->from_memprof && std::all_of(profile->stacks.begin(), profile->stacks.end(),
                                                [](const Stack& stack) { return stack.has_statistics; });
  });
  facts["unlisted_bytes"] = unlisted_bound_bytes(last.rate_bytes);
  facts["changes"] = subject.changes.is_null() ? Json::object() : subject.changes;
  Writer writer;
  for (size_t i = 0; i < sides.size(); ++i) writer.add(*sides[i], i != 0);
  return writer.finish(facts);
}

}  // namespace memprof::profile
