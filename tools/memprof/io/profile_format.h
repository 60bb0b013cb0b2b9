// SPDX-License-Identifier: Apache-2.0
// Formats of profiles, and the names of files that say them.  A format is a line of the table in
// profile_format.cc, and a file that writes it.
//
// Threads: no state.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/files/source_file.h"
#include "profile/fleet/look_table.h"
#include "profile/model/metric.h"
#include "profile/model/model.h"
#include "profile/names/frame_grouping.h"
#include "profile/view/profile_view.h"

namespace memprof::cli {

// What is written beside the profile itself.
struct ExportSubject {
  std::string name;                       // a title
  std::optional<profile::Metric> metric;  // that was asked for
  profile::GroupBy by = profile::GroupBy::kFunction;
  std::optional<profile::SourceRule> sources =
      {};  // a page carries source text, of files that the rule allows
  // Of a table for SQL.
  std::string path = {};           // of the profile, as it was given
  std::string version_label = {};  // which label says the version; empty: the usual one

  profile::Metric metric_of(const profile::Profile& profile) const;  // else the profile's default
};

// What --metric does to a file.
enum class MetricUse : unsigned char {
  kOnly,   // the file has one metric
  kFirst,  // it has all, and a viewer opens on this one
  kNone,   // it has all, and none before the others
};

struct ExportFormat {
  const char* name;  // of --format
  const char* end;   // of files
  const char* what;  // for --help
  MetricUse metric;
  profile::NameStyle names;
  bool folds_itself;  // its reader chooses the frames: it gets all of them
  bool is_text;
  bool has_signs;  // can say what is below zero
  std::string (*write)(const profile::Profile& profile, const ExportSubject& subject);
  bool takes_many = false;  // of any number of profiles one file is made, by table_options()
};

// As .parquet has profiles.
profile::LookTableOptions table_options(const ExportSubject& subject);

// In the order in which --help lists them.
const std::vector<ExportFormat>& export_formats();

// By the end of a file's name; nullptr where it tells nothing.
const ExportFormat* format_of_path(const std::string& path);

// By --format: the name, or an end without its dot ("speedscope", "speedscope.json").
const ExportFormat* format_from_name(const std::string& name);

bool is_page_path(const std::string& path);

// ".pb.gz, .pb, ... or .json"; the same of names.
std::string format_ends();
std::string format_names();

// Of a file that the command writes as pprof: throws Failure where its name says another format, or none.  A
// device or a pipe may have any name, and of a folder check_output_path says that it is one.
void check_pprof_name(const std::string& command, const std::string& path);

}  // namespace memprof::cli
