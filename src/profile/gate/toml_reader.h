// SPDX-License-Identifier: Apache-2.0
// A table of a TOML file, read with checks: each value is of the type that is asked for, or an Error says what is
// wrong with it and in which line.
//
// toml++ parses; it is included in toml_reader.cc alone, because each file that includes it costs seconds to
// compile.
//
// Threads: plain values.
// Failure: throws Error, "FILE:LINE: KEY: ...".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace memprof::profile {

// Nothing: it cannot be read.
std::optional<std::string> text_of_file(const std::string& path);

class TomlReader {
 public:
  // `path` is for messages.
  static TomlReader parse(const std::string& text, const std::string& path);

  int line() const;
  // Of the key's value; of the table where it does not have the key.
  int line_of(const std::string& key) const;
  bool has(const std::string& key) const;
  std::vector<std::string> names() const;  // of its keys

  // Each key is one of `known`.  `where`: what the table is called in the message: "[[check]]".
  void require_known(const std::vector<std::string>& known, const std::string& where) const;

  // The key's value; the table has it.
  std::string text(const std::string& key) const;
  std::string text_or_number(const std::string& key) const;  // as it would be written without quotes
  double number(const std::string& key) const;               // 0 or more
  bool boolean(const std::string& key) const;
  enum class Lists : unsigned char { kOnly, kToo };  // kToo: a single text is a list of one
  std::vector<std::string> texts(const std::string& key, Lists lists) const;
  std::vector<uint64_t> counts(const std::string& key) const;  // a number is a list of one

  // [[key]]; none where the table does not have the key.
  std::vector<TomlReader> tables(const std::string& key) const;

  // An empty key: of the table.
  [[noreturn]] void refuse(const std::string& key, const std::string& why) const;
  [[noreturn]] void refuse_line(int line, const std::string& why) const;

 private:
  struct File;
  TomlReader(std::shared_ptr<const File> file, const void* table) : file_(std::move(file)), table_(table) {}

  std::shared_ptr<const File> file_;
  const void* table_;  // of the file: a toml::table
};

}  // namespace memprof::profile
