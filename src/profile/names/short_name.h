// SPDX-License-Identifier: Apache-2.0
// Names of functions and modules as people read them, and made to fit a column.
//
// Threads: no state.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace memprof::profile {

// Columns that UTF-8 text takes on a terminal (character_width.h).
size_t text_width(std::string_view text);
// At most `width` columns: the end, after one ellipsis.
std::string short_path(const std::string& path, size_t width);

// At most `width` columns and one ellipsis: first the parameters become `(…)`, then the middle goes.
std::string short_name(const std::string& name, size_t width);

// Without parameters and template arguments: `ns::Cache::insert`.
std::string plain_name(const std::string& name);

// A name that was demangled from an Itanium C++ symbol, from its first scope: the return type, which
// templates have before it, and `non-virtual thunk to` are left out.  Nothing: it cannot be told.
std::optional<std::string_view> without_return_type(std::string_view name);

// As tables show a function: without return type, template arguments (`std::vector<>`), inline namespaces of
// the standard library and the suffixes of a compiler's clones (`.isra.0`, `[clone .cold]`).  `symbol` is the
// name in the symbol table, `file` the source file; empty: unknown.
std::string shown_name(const std::string& name, const std::string& symbol, const std::string& file);

// As tables show a module, and `module+0xoffset`: without the platform in the name of an extension of CPython
// (`algos.cpython-312-x86_64-linux-gnu.so`).
std::string shown_module(const std::string& module);

}  // namespace memprof::profile
