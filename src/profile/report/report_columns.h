// SPDX-License-Identifier: Apache-2.0
// The tables of a report: their columns, from left to right.  A new column is an entry in report_columns.cc.
//
// Threads: plain values.
#pragma once

#include "profile/report/call_edges.h"
#include "profile/report/report.h"
#include "profile/text/text_writer.h"

namespace memprof::profile {

// Whether rows are functions or lines, which have a place; not modules or processes.
bool has_places(const Report& report);

// The rows of a report.
void write_rows(const Report& report, TextWriter* writer);

// Callers or callees of a function.
void write_edges(const Report& report, const CallEdges& edges, TextWriter* writer);

}  // namespace memprof::profile
