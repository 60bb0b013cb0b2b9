// SPDX-License-Identifier: Apache-2.0
// Options that commands share, each declared once.  Where several belong together there are classes: ReaderOptions,
// RecordOptions, SourceMapOption, SourceRootOption.
#pragma once

#include <string>

#include "memprof/console/arguments.h"

namespace memprof::cli {

// --no-debuginfod, of every command that names functions.
void add_no_debuginfod(ArgumentParser& parser);

// --no-pager
void add_no_pager(ArgumentParser& parser);

// --sample-type
void add_sample_type(ArgumentParser& parser, std::string& value);

// -n; `usual`: how many rows there are without it.
void add_rows(ArgumentParser& parser, const std::string& usual, std::string& value);

// --force; `what` it replaces.
void add_force(ArgumentParser& parser, const std::string& what, bool& value);

// --at, the look of a series; `usual`: which without it, "last by default".
void add_moment(ArgumentParser& parser, const std::string& usual, std::string& value);

// --run, with the other processes of a run.
void add_whole_run(ArgumentParser& parser, bool& value);

// --raw of what writes the profile of a process.
void add_raw(ArgumentParser& parser, bool& value);

// --budget, --no-inline-hooks of what starts memprof in a program.
void add_budget(ArgumentParser& parser, const std::string& more, std::string& value);
void add_no_inline_hooks(ArgumentParser& parser, const std::string& more);
void add_native_interpreter(ArgumentParser& parser, bool& value);

}  // namespace memprof::cli
