// SPDX-License-Identifier: Apache-2.0
// The data of a page that is live: look after look at running processes, of which only what changed is sent.
//
// Model: texts, frames, nodes, stacks have numbers that stay, and looks are numbered from 1 on.  Who knows look
// N is sent the rows that the tables got since, and what those stacks hold that changed.  What is in no look any
// more holds nothing, and keeps its number.  docs/page-data.md describes the bytes.
//
// Threads: one object, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "profile/model/model.h"
#include "profile/page/page_tables.h"
#include "profile/page/page_tree.h"

namespace memprof::profile {

class PageStream {
 public:
  // `facts`: page_facts() of the profile.  Returns the number of the look.
  uint64_t add(const Profile& profile, const nlohmann::ordered_json& facts);

  uint64_t looks() const { return looks_; }
  // Whether changes_since() still has what came after a look; of 0, which is nothing, it always has.
  bool knows(uint64_t look) const;
  // Not compressed.  After add(); knows(look).
  std::string changes_since(uint64_t look) const;

 private:
  struct Mark {
    PageTables::Sizes tables;
    size_t nodes = 0;
    size_t rows = 0;
  };
  struct HeldRow {
    PageRow row;
    uint64_t changed = 0;  // the look
    uint64_t seen = 0;
  };

  HeldRow& row_at(uint32_t node, uint32_t label);
  void write_nodes(size_t from, ByteWriter* out) const;
  void write_stacks(size_t from, ByteWriter* out) const;

  static constexpr size_t kMaxMarks = 600;

  uint64_t looks_ = 0;
  std::string facts_;
  PageTables tables_;
  PageTree tree_;
  std::vector<HeldRow> rows_;
  std::map<std::pair<uint32_t, uint32_t>, size_t> row_index_;  // by node and label
  Mark first_;
  std::deque<Mark> marks_;  // of the last looks
};

}  // namespace memprof::profile
