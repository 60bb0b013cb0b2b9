// SPDX-License-Identifier: Apache-2.0
// A file with code in it, whatever its format: which build it is, and what its code is called.  A format is a folder
// beside this one (elf/, macho/, pe/) with an ObjectFormat, and a line in object_formats.cc.
//
// Files are not trusted: what lies outside the file, or is not what it says, is as if it were not there.
// Threads: one object, one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/symbolize/files/opened_file.h"

namespace memprof::profile {

inline constexpr const char kDebugRoot[] = "/usr/lib/debug";

// Where names may be looked for besides the file itself.
struct NameSources {
  bool use_debug_files = true;          // separate files on this machine that have what was stripped
  bool use_debug_info = true;           // lines and inlined calls; false: the names of symbol tables only
  std::string debug_root = kDebugRoot;  // of ELF's debug files
  // The path of the debug file with this build id, from a server; empty: there is none.  Unset: no server is asked.
  std::function<std::string(const std::string& build_id)> from_server;
};

// One function at an address.
struct CodeName {
  std::string name;       // never empty
  bool is_symbol = true;  // `name` may be mangled; false: debug info has the name, no symbol
  std::string file;       // empty: unknown
  int64_t line = 0;       // 0: unknown
};

struct CodeNames {
  std::vector<CodeName> names;  // innermost first: inlined calls, then the function; empty: nothing is known
  bool has_lines = false;       // of debug info, which has files, lines and inlined calls
  bool can_be_kept = true;      // false: they are of files, too, that names_depend_on() does not tell of
};

class ObjectFile {
 public:
  virtual ~ObjectFile() = default;
  ObjectFile(const ObjectFile&) = delete;
  ObjectFile& operator=(const ObjectFile&) = delete;

  // Lower-case hex, as the platform of its system writes it into profiles; empty: the file has none.
  virtual const std::string& build_id() const = 0;

  // OpenedFile::changed_unix_ns.
  virtual uint64_t changed_unix_ns() const = 0;

  // The address, as the file counts them, of what a mapping has from this offset on; nothing: no code is loaded there.
  // Offsets are in the file, where the system maps the file in parts (ELF, Mach-O), else in the image (PE).
  virtual std::optional<uint64_t> vaddr_of_offset(uint64_t offset) const = 0;

  // One entry an address, which vaddr_of_offset() gave; of a call, an address inside of the instruction.  In any order.
  // What is missing for more names is a line of `warnings`.
  virtual std::vector<CodeNames> names_of(const std::vector<uint64_t>& vaddrs, const NameSources& sources,
                                          std::vector<std::string>* warnings) const = 0;

  // A text that is another one when names_of() may give others: which files they are read from, as the system tells files
  // apart, and how.  Nothing: that cannot be told, or others than root and this user can change one of the files.
  // A names_of() with the same sources that follows reads these very files.
  virtual std::optional<std::string> names_depend_on(const NameSources& /*sources*/) const {
    return std::nullopt;
  }

 protected:
  ObjectFile() = default;
};

struct ObjectFormat {
  // Does a file that begins with these bytes have this format?
  bool (*is_one)(std::string_view bytes);

  // `build_id`: the wanted one, for files that have several parts.  nullptr: it cannot be used, and *why says so.
  std::unique_ptr<ObjectFile> (*open)(OpenedFile file, const std::string& build_id, std::string* why);
};

}  // namespace memprof::profile
