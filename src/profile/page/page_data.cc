// SPDX-License-Identifier: Apache-2.0
#include "profile/page/page_data.h"

#include <algorithm>
#include <tuple>

#include "profile/files/byte_writer.h"
#include "profile/lifetimes/temporary.h"
#include "profile/model/estimate.h"
#include "profile/model/metric.h"
#include "profile/page/page_frames.h"
#include "profile/page/page_tables.h"
#include "profile/page/page_tree.h"
#include "profile/report/report_columns.h"
#include "profile/text/markup/json_text.h"

namespace memprof::profile {
namespace {

using Json = nlohmann::ordered_json;

class Writer {
 public:
  void add(const Profile& profile, bool is_after) {
    ProfileFrames frames(profile, &tables_.frames());
    for (const Stack& stack : profile.stacks) {
      PageRow& row = rows_.emplace_back(tables_.row_of(stack, profile, is_after));
      row.node = tree_.add(frames.root_first(stack));
    }
  }

  std::string finish(const Json& facts) {
    ByteWriter out;
    out.text(json_to_text(facts));
    tables_.write_names({}, &out);
    write_tree(&out);
    tables_.write_kinds({}, &out);
    write_rows(&out);
    return out.take();
  }

 private:
  void write_tree(ByteWriter* out) const {
    const std::vector<PageTree::Node> nodes = tree_.nodes();
    out->varint(nodes.size());
    out->column(nodes, [](const PageTree::Node& node) { return node.label; });
    uint32_t child_depth = 0;  // of the node before
    out->column(nodes, [&child_depth](const PageTree::Node& node) {
      const uint32_t up = child_depth - node.depth;
      child_depth = node.depth + 1;
      return up;
    });
  }

  void write_rows(ByteWriter* out) {
    const std::vector<uint32_t> places = tree_.places();
    for (PageRow& row : rows_) row.node = places[row.node];
    std::sort(rows_.begin(), rows_.end(), [](const PageRow& a, const PageRow& b) {
      return std::tie(a.node, a.label) < std::tie(b.node, b.label);
    });
    out->varint(rows_.size());
    uint32_t last = 0;
    out->column(rows_, [&last](const PageRow& row) {
      const uint32_t step = row.node - last;
      last = row.node;
      return step;
    });
    out->column(rows_, [](const PageRow& row) { return row.label; });
    std::vector<const PageRow*> rows;
    for (const PageRow& row : rows_) rows.push_back(&row);
    write_values(rows, out);
  }

  PageTables tables_;
  PageTree tree_;
  std::vector<PageRow> rows_;
};

Json side_facts(const Profile& profile) {
  return {{"program", profile.program},           {"pid", profile.pid},
          {"rate", profile.rate_bytes},           {"samples", profile.samples},
          {"stacks", profile.stacks.size()},      {"dropped", profile.dropped_samples},
          {"time_unix_ns", profile.time_unix_ns}, {"duration_ns", profile.duration_ns}};
}

bool all_have_statistics(const Profile& profile) {
  return profile.from_memprof && std::all_of(profile.stacks.begin(), profile.stacks.end(),
                                             [](const Stack& stack) { return stack.has_statistics; });
}

// What is temporary is computed for the page where a profile says of all stacks how long blocks lived.
bool has_in_page(const Profile& profile, Metric metric) {
  if (!metric_is_temporary(metric)) return profile.has_metric[metric_index(metric)];
  return profile.has_metric[metric_index(Metric::kAllocSpace)] && all_have_statistics(profile) &&
         has_lifetimes(profile);
}

}  // namespace

nlohmann::ordered_json page_facts(const std::vector<const Profile*>& sides, const PageSubject& subject) {
  const Profile& last = *sides.back();
  Json facts = {{"version", kPageDataVersion}, {"title", subject.title}, {"lines", subject.facts}};
  facts["sides"] = Json::array();
  for (const Profile* profile : sides) facts["sides"].push_back(side_facts(*profile));
  facts["metrics"] = Json::array();
  for (const Metric metric : kMetrics) {
    const bool all_have = std::all_of(sides.begin(), sides.end(), [metric](const Profile* profile) {
      return has_in_page(*profile, metric);
    });
    if (all_have) facts["metrics"].push_back(metric_name(metric));
  }
  facts["metric"] = metric_name(subject.metric.value_or(default_metric(last)));
  facts["columns"] = page_columns();
  facts["temporary_ns"] = page_temporary_ns(last);
  facts["has_intervals"] = std::all_of(sides.begin(), sides.end(),
                                       [](const Profile* profile) { return all_have_statistics(*profile); });
  facts["unlisted_bytes"] = unlisted_bound_bytes(last.rate_bytes);
  facts["changes"] = subject.changes.is_null() ? Json::object() : subject.changes;
  if (!subject.live.is_null()) facts["live"] = subject.live;
  if (!subject.sources.is_null()) facts["sources"] = subject.sources;
  if (!subject.source_address.empty()) facts["source_address"] = subject.source_address;
  return facts;
}

std::string write_page_data(const std::vector<const Profile*>& sides, const PageSubject& subject) {
  Writer writer;
  for (size_t i = 0; i < sides.size(); ++i) writer.add(*sides[i], i != 0);
  return writer.finish(page_facts(sides, subject));
}

}  // namespace memprof::profile
