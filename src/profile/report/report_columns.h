// SPDX-License-Identifier: Apache-2.0
// The tables of a report: their columns, from left to right.  A new column is an entry in report_columns.cc: text, JSON,
// CSV and the page (in its data: docs/page-data.md) have it from there.
//
// Threads: plain values.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "profile/report/call_edges.h"
#include "profile/report/report.h"
#include "profile/text/columns.h"
#include "profile/text/text_writer.h"

namespace memprof::profile {

// The columns keep a reference to the report.
std::vector<Column<ReportRow>> report_columns(const Report& report, const TextOptions& options = {});
std::vector<Column<EdgeRow>> edge_columns(const Report& report, const CallEdges& edges,
                                          const TextOptions& options = {});

// Those that a page shows, which computes them itself of the rows that its reader chose.
nlohmann::ordered_json page_columns();

// The rows of a report.
void write_rows(const Report& report, TextWriter* writer);

// Callers or callees of a function.
void write_edges(const Report& report, const CallEdges& edges, TextWriter* writer);

}  // namespace memprof::profile
