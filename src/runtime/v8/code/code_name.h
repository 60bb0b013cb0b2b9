// SPDX-License-Identifier: Apache-2.0
// What V8 calls code in its events, taken apart: function, file, line.
//
//     JS:*fn file:///x.js:8:3       optimised; ~ interpreted, ^ baseline, + mid-tier, with ' or o in between
//     LazyCompile:~fill app.js:8    of older versions and perf maps: no column
//     Script:~ app.js:1:1           the code outside of functions; Eval: of an eval
//     RegExp:a+b  Builtin:ArrayMap  no file
//     Builtin:AsyncFunctionAwaitResolveClosure    continues an async function: it is called "(async)"
//
// The tier is no part of a function's name: the interpreted and the optimised one are one function.
//
// Threads: no state.
// Allocates: never; what is returned are pieces of `text`, or literals.
#pragma once

#include <cstdint>
#include <string_view>

namespace memprof::v8 {

// Pieces of a text, as substr() has them, which may throw.
inline std::string_view head(std::string_view text, size_t size_bytes) {
  return {text.data(), size_bytes < text.size() ? size_bytes : text.size()};
}
inline std::string_view tail(std::string_view text, size_t at) {
  return at < text.size() ? std::string_view(text.data() + at, text.size() - at) : std::string_view();
}

struct CodeName {
  std::string_view function;  // never empty
  std::string_view file;      // empty: it has none
  uint32_t line = 0;          // that the function begins in; 0: unknown
};

CodeName parse_code_name(std::string_view text);

// Where V8's tier mark stands in `text`, and its length; 0: there is none.  Names that differ in nothing else
// are of one function.
struct TierMark {
  uint32_t at;
  uint32_t size_bytes;
};
TierMark find_tier_mark(std::string_view text);
// Is it of a function of a script, by whatever word?
bool is_function_code(std::string_view text);
// Is it compiled bytecode by bytecode?
bool is_baseline(std::string_view text);

// A script of Node's own, not of the program.
bool is_internal_file(std::string_view file);
// The same of a whole name, without taking it apart.
bool is_internal_code(std::string_view text);

}  // namespace memprof::v8
