// SPDX-License-Identifier: Apache-2.0
#include "profile/page/page_stream.h"

#include "profile/page/page_data.h"
#include "profile/text/markup/json_text.h"

namespace memprof::profile {
PageStream::HeldRow& PageStream::row_at(uint32_t node, uint32_t label) {
  const auto [known, is_new] = row_index_.emplace(std::pair(node, label), rows_.size());
  if (is_new) {
    rows_.emplace_back();
    rows_.back().row.node = node;
    rows_.back().row.label = label;
  }
  return rows_[known->second];
}

uint64_t PageStream::add(const Profile& profile, const nlohmann::ordered_json& facts) {
  ++looks_;
  facts_ = json_to_text(facts);
  ProfileFrames frames(profile, &tables_.frames());
  // Stacks that differ in what a page does not show are one.
  std::map<size_t, PageRow> sums;
  for (const Stack& stack : profile.stacks) {
    PageRow row = tables_.row_of(stack, profile, false);
    row.node = tree_.add(frames.root_first(stack));
    HeldRow& held = row_at(row.node, row.label);
    held.seen = looks_;
    const auto place = static_cast<size_t>(&held - rows_.data());
    const auto [sum, is_first] = sums.emplace(place, row);
    if (!is_first) sum->second.add(row);
  }
  for (auto& [place, row] : sums) {
    HeldRow& held = rows_[place];
    if (held.changed != 0 && held.row.holds_the_same(row)) continue;
    held.row = std::move(row);
    held.changed = looks_;
  }
  for (HeldRow& held : rows_) {
    if (held.seen == looks_ || held.row.is_empty()) continue;
    held.row.families = {};
    held.row.lifetimes.clear();
    held.changed = looks_;
  }
  marks_.push_back({tables_.sizes(), tree_.size(), rows_.size()});
  if (looks_ == 1) first_ = marks_.back();
  if (marks_.size() > kMaxMarks) marks_.pop_front();
  return looks_;
}

bool PageStream::knows(uint64_t look) const {
  return look <= 1 || (look <= looks_ && look > looks_ - marks_.size());
}

std::string PageStream::changes_since(uint64_t look) const {
  const Mark none;
  const Mark& from = look == 0   ? none
                     : look == 1 ? first_
                                 : marks_[static_cast<size_t>(look + marks_.size() - looks_ - 1)];
  ByteWriter out;
  out.text(facts_);
  // Where what follows begins: who reads it is sure that nothing is missing.
  for (const size_t size : {from.tables.texts, from.tables.frames, from.tables.sites, from.nodes,
                            from.tables.kinds, from.tables.labels, from.rows}) {
    out.varint(size);
  }
  tables_.write_names(from.tables, &out);
  write_nodes(from.nodes, &out);
  tables_.write_kinds(from.tables, &out);
  write_stacks(from.rows, &out);
  std::vector<const PageRow*> changed;
  std::vector<size_t> steps;
  size_t last = 0;
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].changed <= look) continue;
    changed.push_back(&rows_[i].row);
    steps.push_back(i - last);
    last = i;
  }
  out.varint(changed.size());
  out.column(steps, [](size_t step) { return step; });
  write_values(changed, &out);
  return out.take();
}

void PageStream::write_nodes(size_t from, ByteWriter* out) const {
  out->varint(tree_.size() - from);
  for (size_t i = from; i < tree_.size(); ++i) out->varint(tree_.label_of(i));
  for (size_t i = from; i < tree_.size(); ++i) out->varint(tree_.steps_to_parent(i));
}

void PageStream::write_stacks(size_t from, ByteWriter* out) const {
  out->varint(rows_.size() - from);
  for (size_t i = from; i < rows_.size(); ++i) out->varint(rows_[i].row.node);
  for (size_t i = from; i < rows_.size(); ++i) out->varint(rows_[i].row.label);
}

}  // namespace memprof::profile
