// SPDX-License-Identifier: Apache-2.0
// Formats of profiles, and the names of files that say them.
#pragma once

#include <optional>
#include <string>

namespace memprof::cli {

enum class ExportFormat { kPprofGzip, kPprof, kSpeedscope, kCollapsed, kJson, kPage };

// By the end of a file's name; nothing where it tells nothing.
std::optional<ExportFormat> format_of_path(const std::string& path);

// By --format: "pprof", "pb.gz", "pb", "speedscope", "speedscope.json", "collapsed", "json", "html".
std::optional<ExportFormat> format_from_name(const std::string& name);

// Of a file that the command writes as pprof: throws Failure where its name says another format, or none.  A
// device or a pipe may have any name, and of a folder check_output_path says that it is one.
void check_pprof_name(const std::string& command, const std::string& path);

}  // namespace memprof::cli
