// SPDX-License-Identifier: Apache-2.0
// A profile, or two of them to compare, as the data block of a page: what the page's script reads.
//
// Model: every text and frame once; stacks as a tree of sites (page_frames.h) from the root, in preorder; of
// each stack how many samples of which kind of block there are, from which estimates and their intervals
// follow as in estimate.h.  docs/page-data.md describes the bytes.
//
// Threads: no state.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "profile/model/model.h"

namespace memprof::profile {

// What a page is called, and of what it is.
struct PageSubject {
  std::string title;               // of the file, or of both
  std::vector<std::string> facts;  // about the profile, each a line
  std::optional<Metric> metric;    // that it opens on; else the profile's default
  nlohmann::ordered_json changes;  // of a difference: page_changes.h
  nlohmann::ordered_json live;     // of a page that is live: page_stream.h
  nlohmann::ordered_json sources;  // that the page carries: read_sources() of page_sources.h
  std::string source_address;      // where a served page asks for others; empty: it does not
};

inline constexpr int kPageDataVersion = 5;

// What stands before the tables: docs/page-data.md.
nlohmann::ordered_json page_facts(const std::vector<const Profile*>& sides, const PageSubject& subject);

// `sides`: one profile; or, of a difference, the one before and the one after.  The result is not compressed.
std::string write_page_data(const std::vector<const Profile*>& sides, const PageSubject& subject);

}  // namespace memprof::profile
