// SPDX-License-Identifier: Apache-2.0
#include "profile/names/frame_role.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>

#include "format/affixes.h"
#include "format/pprof/pprof_schema.h"
#include "profile/names/allocator_frames.h"
#include "profile/names/forwarders.h"
#include "profile/names/short_name.h"
#include "profile/names/stack_frames.h"

namespace memprof::profile {
namespace {

// Whole names; one with a star at its end is the beginning of names.
constexpr std::string_view kWrappers[] = {
    // GNU's and git's
    "xmalloc", "xmallocz", "xcalloc", "xrealloc", "xstrdup", "xstrndup", "xmemdup", "xmemdupz", "xzalloc",
    "x2realloc", "x2nrealloc", "xnmalloc", "xnrealloc", "xreallocarray", "xcharalloc",
    // GLib
    "g_malloc*", "g_try_malloc*", "g_realloc*", "g_try_realloc*", "g_slice_alloc*", "g_slice_copy",
    "g_strdup", "g_strndup", "g_memdup*", "g_aligned_alloc*",
    // CPython and NumPy
    "PyMem_Malloc", "PyMem_Calloc", "PyMem_Realloc", "PyMem_RawMalloc", "PyMem_RawCalloc", "PyMem_RawRealloc",
    "PyObject_Malloc", "PyObject_Calloc", "PyObject_Realloc", "_PyObject_Malloc", "_PyObject_Calloc",
    "_PyObject_Realloc", "_PyMem_Raw*", "PyDataMem_NEW*", "PyDataMem_RENEW", "PyDataMem_UserNEW*",
    "PyDataMem_UserRENEW", "default_malloc", "default_calloc", "default_realloc",
    // OpenSSL, SQLite, FFmpeg, libuv, zlib and Redis, nginx
    "CRYPTO_malloc", "CRYPTO_zalloc", "CRYPTO_calloc", "CRYPTO_realloc", "CRYPTO_clear_realloc",
    "CRYPTO_strdup", "CRYPTO_strndup", "CRYPTO_memdup", "CRYPTO_malloc_array", "CRYPTO_realloc_array",
    "sqlite3Malloc*", "sqlite3_malloc*", "sqlite3MemMalloc", "sqlite3Realloc", "sqlite3_realloc*",
    "sqlite3MemRealloc", "sqlite3DbMalloc*", "sqlite3DbRealloc*", "av_malloc*", "av_calloc", "av_realloc*",
    "av_fast_malloc*", "av_fast_realloc", "av_strdup", "uv__malloc", "uv__calloc", "uv__realloc",
    "uv__strdup", "zcalloc*", "zmalloc*", "zrealloc*", "zstrdup", "ztrymalloc*", "ztrycalloc*",
    "ztryrealloc*", "ngx_alloc", "ngx_calloc", "ngx_memalign",
    // PostgreSQL: a context grows by blocks of malloc for who asks it
    "palloc*", "repalloc*", "pstrdup", "MemoryContextAlloc*", "MemoryContextStrdup", "AllocSetAlloc*",
    "AllocSetRealloc", "GenerationAlloc*", "SlabAlloc*", "BumpAlloc*",
    // Rust's, before the allocator
    "__rust_alloc", "__rust_alloc_zeroed", "__rust_realloc", "__rdl_alloc", "__rdl_alloc_zeroed",
    "__rdl_realloc", "__rg_alloc", "__rg_alloc_zeroed", "__rg_realloc",
    // The JVM's, with parameters
    "os::malloc(*", "os::realloc(*", "os::strdup(*", "AllocateHeap(*", "ReallocateHeap(*",
    // LLVM's, and how its vectors grow
    "llvm::allocate_buffer(*", "llvm::safe_malloc(*", "llvm::safe_calloc(*", "llvm::safe_realloc(*",
    "llvm::SmallVectorBase<*",
    // Mozilla's
    "moz_xmalloc", "moz_xcalloc", "moz_xrealloc", "moz_xstrdup", "moz_xstrndup", "moz_xmemdup",
    "moz_xmemalign", "moz_arena_malloc", "moz_arena_calloc", "moz_arena_realloc", "moz_arena_memalign",
    // 7-Zip, NSPR, Mono's GLib, Mosquitto, Check, OCaml
    "MyAlloc", "MyRealloc", "MidAlloc", "BigAlloc", "PL_malloc*", "PL_calloc", "PL_realloc*", "PR_Malloc",
    "PR_Calloc", "PR_Realloc", "monoeg_malloc*", "monoeg_g_malloc*", "monoeg_calloc", "monoeg_realloc",
    "monoeg_g_realloc", "mosquitto__malloc", "mosquitto__calloc", "mosquitto__realloc", "mosquitto__strdup",
    "mosquitto_malloc", "mosquitto_calloc", "mosquitto_realloc", "mosquitto_strdup", "ck_malloc", "ck_calloc",
    "ck_realloc", "caml_stat_alloc*", "caml_stat_calloc*", "caml_stat_resize*", "caml_stat_strdup*",
    // BIND, Perl, Tcl, PHP, SBCL, GHC
    "isc__mem_get*", "isc__mem_allocate*", "isc__mem_reget*", "isc__mem_reallocate*", "isc__mem_strdup",
    "isc__mem_strndup", "isc__mem_alloc_noctx", "isc__mempool_get", "Perl_safesysmalloc",
    "Perl_safesyscalloc", "Perl_safesysrealloc", "Tcl_Alloc", "Tcl_AttemptAlloc", "Tcl_Realloc",
    "Tcl_AttemptRealloc", "TclpAlloc", "TclpRealloc", "TclpSysAlloc", "TclpSysRealloc", "TclThreadAllocObj",
    "__zend_malloc", "__zend_calloc", "__zend_realloc", "successful_malloc", "stgMallocBytes",
    "stgCallocBytes", "stgReallocBytes"};

// What a program gives Rust's library to allocate with: `<X as core::alloc::global::GlobalAlloc>::alloc`.
constexpr std::string_view kRustAllocators[] = {"core::alloc::global::GlobalAlloc", "core::alloc::Allocator"};

// Namespaces of C++'s library.
constexpr std::string_view kCxxLibrary[] = {"std::", "__gnu_cxx::", "__cxxabiv1::"};

// Crates of Rust's library; hashbrown is its HashMap.
constexpr std::string_view kRustLibrary[] = {"std::", "core::", "alloc::", "hashbrown::", "__rustc::"};

// Between the system and main.
constexpr std::string_view kStart[] = {
    "_start",          "_dl_start_user",         "__libc_start_main*", "__libc_start_call_main",
    "__libc_csu_init", "_dl_relocate_static_pie"};

// File names of libraries, up to their version.  Ours is between a program and libc where it notes what the program
// calls (__cxa_atexit, dlopen).
constexpr std::string_view kLibraries[] = {"libc.so",       "libc-2.",       "libstdc++.so", "libc++.so",
                                           "libc++abi.so",  "libgcc_s.so",   "ld-linux",     "ld-musl",
                                           "ld-2.",         "libc.musl",     "libm.so",      "libdl.so",
                                           "libpthread.so", "libpthread-2.", "librt.so",     "libmemprof.so"};

template <size_t N>
bool begins_with_one_of(std::string_view text, const std::string_view (&prefixes)[N]) {
  return std::any_of(std::begin(prefixes), std::end(prefixes),
                     [text](std::string_view prefix) { return begins_with(text, prefix); });
}

template <size_t N>
bool is_in(std::string_view name, const std::string_view (&names)[N]) {
  return std::any_of(std::begin(names), std::end(names), [name](std::string_view known) {
    return known.back() == '*' ? begins_with(name, known.substr(0, known.size() - 1)) : name == known;
  });
}

bool ends(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Symbols of Rust are `_R...`, or `_ZN...17h0123456789abcdefE` with what LLVM appends.
bool is_rust(const Frame& frame) {
  if (begins_with(frame.symbol, "_R") || ends(frame.file, ".rs")) return true;
  constexpr std::string_view kHash = "17h";
  constexpr size_t kHashDigits = 16;
  const size_t at = frame.symbol.rfind(kHash);
  const size_t end = at + kHash.size() + kHashDigits;
  return begins_with(frame.symbol, "_ZN") && at != std::string::npos && end < frame.symbol.size() &&
         frame.symbol[end] == 'E' &&
         frame.symbol.find_first_not_of("0123456789abcdef", at + kHash.size()) == end;
}

// A path of the library; or a type without one (`[T]`, `*const T`, `str`), which only the library has
// functions of.
bool is_of_rust_library(std::string_view type) {
  if (begins_with_one_of(type, {"[", "*", "("})) return true;
  for (const std::string_view before : {"<", "&", "mut ", "dyn "}) {
    if (begins_with(type, before)) type.remove_prefix(before.size());
  }
  return begins_with_one_of(type, kRustLibrary) || type.find("::") == std::string_view::npos;
}

// Length of what the brackets at the beginning hold, with them.
size_t bracketed(std::string_view name) {
  size_t depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>' && (i == 0 || name[i - 1] != '-') && --depth == 0) return i + 1;
  }
  return name.size();
}

// `Type` and `Trait` of `<Type as Trait>::f`; the trait is empty for `<Type>::f` and `path::f`.
struct Implementer {
  std::string_view type;
  std::string_view trait;
};
Implementer implementer(std::string_view name) {
  if (!begins_with(name, "<")) return {};
  const std::string_view type = name.substr(1, bracketed(name) - 2);
  const size_t as = type.rfind(" as ");
  // Of the outermost brackets, not of those in the type.
  if (as == std::string_view::npos ||
      std::count(type.begin() + as, type.end(), '<') != std::count(type.begin() + as, type.end(), '>')) {
    return {type, {}};
  }
  return {type.substr(0, as), type.substr(as + std::strlen(" as "))};
}

// `path::f`, `<Type>::f`, `<Type as Trait>::f`: a trait of the program on a type of the library is the
// program's, and so is the other way round.
bool is_rust_library(std::string_view name) {
  if (!begins_with(name, "<")) return begins_with_one_of(name, kRustLibrary);
  const Implementer by = implementer(name);
  return is_of_rust_library(by.type) && (by.trait.empty() || is_of_rust_library(by.trait));
}

bool is_rust_allocator(std::string_view name) {
  return is_in(implementer(name).trait, kRustAllocators);
}

// A class's own.
bool is_operator_new(std::string_view name) {
  const size_t at = name.find("::operator new");
  if (at == std::string_view::npos) return false;
  const std::string_view rest = name.substr(at + std::strlen("::operator new"));
  return rest.empty() || rest[0] == '(' || rest[0] == '[';
}

bool is_cxx_library(const Frame& frame) {
  if (!begins_with(frame.symbol, "_Z")) return begins_with_one_of(frame.name, kCxxLibrary);
  const auto name = without_return_type(frame.name);
  return name && begins_with_one_of(*name, kCxxLibrary);
}

// Node's own scripts, V8's builtins (without a file), and what was there before memprof could ask for names.
bool is_of_node(const Frame& frame) {
  return begins_with(frame.file, "node:") || begins_with(frame.name, "Builtin:") ||
         frame.name == "[unknown JavaScript code]";
}

// What continues an async function.
bool is_resumption(const Frame& frame) {
  return frame.name == "(async)" && frame.file.empty();
}

// `python3.11`, `python3.14t`, `python311.zip`: what Python's own library lies in.
bool is_python_library(std::string_view folder) {
  if (!begins_with(folder, "python3")) return false;
  folder.remove_prefix(std::strlen("python"));
  if (ends(folder, ".zip")) folder.remove_suffix(std::strlen(".zip"));
  return folder.size() > 1 && folder.find_first_not_of("0123456789.t") == std::string_view::npos;
}

// `numpy` of `numpy/...`, `six` of `six.py`, `os` of `os>`.
std::string first_part(std::string_view path) {
  return std::string(path.substr(0, path.find_first_of("/.>")));
}

bool is_import(const Frame& frame) {
  for (const std::string_view file : {"<frozen importlib", "<frozen zipimport>"}) {
    if (begins_with(frame.file, file)) return true;
  }
  for (const std::string_view file :
       {"/importlib/__init__.py", "/importlib/_bootstrap.py", "/importlib/_bootstrap_external.py"}) {
    if (ends(frame.file, file)) return true;
  }
  return false;
}

}  // namespace

bool is_language_library(std::string_view module) {
  return begins_with_one_of(module, kLibraries);
}

bool has_known_package(const Frame& frame) {
  constexpr std::string_view kFrozen = "<frozen ";
  return frame.is_executed && !frame.file.empty() &&
         (frame.file[0] != '<' || begins_with(frame.file, kFrozen));
}

bool is_made_code(const Frame& frame) {
  return frame.is_executed && !frame.file.empty() && frame.file[0] == '<' && !has_known_package(frame);
}

bool is_typed_code(const Frame& frame) {
  static constexpr std::string_view kTyped[] = {"<stdin>", "<console>", "<ipython-input-", "<python-input-"};
  return is_made_code(frame) && begins_with_one_of(frame.file, kTyped);
}

std::string installed_package(const Frame& frame) {
  if (!has_known_package(frame)) return "";
  const std::string_view file = frame.file;
  constexpr std::string_view kFrozen = "<frozen ";
  if (begins_with(file, kFrozen)) return first_part(file.substr(kFrozen.size()));
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    const size_t at = file.rfind(folder);
    if (at != std::string_view::npos) return first_part(file.substr(at + folder.size()));
  }
  for (const std::string_view folder : {"/lib/", "/lib64/"}) {
    for (size_t at = file.find(folder); at != std::string_view::npos; at = file.find(folder, at + 1)) {
      const std::string_view rest = file.substr(at + folder.size());
      const size_t end = rest.find('/');
      if (end != std::string_view::npos && is_python_library(rest.substr(0, end))) {
        return first_part(rest.substr(end + 1));
      }
    }
  }
  return "";
}

FrameRole frame_role(const Frame& frame) {
  if (frame.is_executed && is_resumption(frame)) return FrameRole::kWrapper;
  if (frame.is_executed) return is_import(frame) || is_of_node(frame) ? FrameRole::kImport : FrameRole::kOwn;
  if (schema::is_gap_name(frame.symbol)) return FrameRole::kGap;
  if (frame.is_named && is_allocator_function(frame.name)) return FrameRole::kAllocation;
  if (is_language_library(frame.module)) return FrameRole::kLibrary;
  if (!frame.is_named) return FrameRole::kNameless;
  const std::string plain = shown_name(frame.name, "", frame.file);  // without `.part.0`
  if (is_in(plain, kWrappers) || is_operator_new(frame.name)) return FrameRole::kWrapper;
  if (is_in(plain, kStart)) return FrameRole::kLibrary;
  if (is_rust(frame) && is_rust_allocator(frame.name)) return FrameRole::kWrapper;
  return (is_rust(frame) ? is_rust_library(frame.name) : is_cxx_library(frame)) ? FrameRole::kLibrary
                                                                                : FrameRole::kOwn;
}

size_t AllocatorEnds::of(const Stack& stack) {
  size_t inside = 0;
  uint32_t module = 0;  // of those inside
  size_t end = 0;
  for (size_t place = 0; place < stack.locations.size(); ++place) {
    const FrameRole role = role_at(stack.locations[place]);
    if (role == FrameRole::kGap) break;
    if (role != FrameRole::kOwn && role != FrameRole::kWrapper) continue;
    const uint32_t its = profile_.locations[stack.locations[place]].mapping;
    if (inside != 0 && its != module) break;
    if (role == FrameRole::kWrapper) {
      if (inside != 0) end = place + 1;
      continue;
    }
    if (++inside > kMaxInside) break;
    module = its;
  }
  return end;
}

FrameRole AllocatorEnds::role_at(uint32_t location) {
  std::optional<FrameRole>& known = roles_[location];
  if (!known) known = find_role(location);
  return *known;
}

FrameRole AllocatorEnds::find_role(uint32_t location) const {
  FrameRole found = FrameRole::kLibrary;
  for (const Frame& frame : location_frames(profile_, profile_.locations[location])) {
    const FrameRole role = frame_role(frame);
    if (frame.is_executed || role == FrameRole::kGap) return FrameRole::kGap;
    const bool is_own = role == FrameRole::kOwn || role == FrameRole::kNameless;
    const bool may_be_inside = role == FrameRole::kNameless || sounds_like_allocation(frame.name);
    if (is_own && (found == FrameRole::kWrapper || !may_be_inside)) return FrameRole::kGap;
    if (is_own || role == FrameRole::kWrapper) found = is_own ? FrameRole::kOwn : role;
  }
  return found;
}

}  // namespace memprof::profile
