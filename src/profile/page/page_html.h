// SPDX-License-Identifier: Apache-2.0
// A page in one HTML file: the built page (web/README.md), a table of the largest rows for browsers with no
// JavaScript, and the data block.
//
// Model: names come from files and are anybody's.  They reach the page in two ways: escaped, in the table,
// and in base64, in the data block.  The page's policy lets no script run but its own, which it names by its
// hash.
//
// Threads: no state.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "profile/compare/comparison.h"
#include "profile/files/source_file.h"
#include "profile/model/model.h"

namespace memprof::profile {

struct PageOptions {
  std::optional<Metric> metric;  // that it opens on; else the profile's default
  // Not null for a page that asks its server for what changes (docs/page-data.md says what is in it).
  nlohmann::ordered_json live;
  // What the addresses of source files begin with, which the page asks its server for; empty: it has none.
  std::string source_address;
  std::optional<SourceRule> sources;  // it carries the lines that it names, of files that the rule allows
};

// `name`: of the file.  The policy of a page that has a server allows it to ask that one.
std::string write_page(const Profile& profile, const std::string& name, const PageOptions& options = {});

// What such a page is told of a later look: page_stream.h.
nlohmann::ordered_json live_page_facts(const Profile& profile, const std::string& name,
                                       const nlohmann::ordered_json& live);

// The data block alone (page_data.h), of a page that is shown already.
std::string write_page_block(const Profile& profile, const std::string& name);
std::string write_change_block(const std::vector<ComparedProfile>& before,
                               const std::vector<ComparedProfile>& after);

// Of what changed between two profiles; their names are those of the files.  The vectors have one each.
// Failure: throws Error where the two have no metric in common, or not the one that is asked for.
std::string write_change_page(const std::vector<ComparedProfile>& before,
                              const std::vector<ComparedProfile>& after, std::optional<Metric> metric);

}  // namespace memprof::profile
