// SPDX-License-Identifier: Apache-2.0
// PDBs, built byte by byte.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace memprof::profile::fixture {

using std::string_literals::operator""s;

// Little endian.
class Bytes {
 public:
  Bytes& u8(unsigned value) { return number(value, 1); }
  Bytes& u16(unsigned value) { return number(value, 2); }
  Bytes& u32(uint32_t value) { return number(value, 4); }
  Bytes& zeros(size_t count) { return raw(std::string(count, '\0')); }
  Bytes& raw(const std::string& text) {
    bytes_ += text;
    return *this;
  }
  Bytes& text(const std::string& text) { return raw(text + '\0'); }
  Bytes& align() { return zeros((4 - bytes_.size() % 4) % 4); }
  void set_u32(size_t at, uint32_t value) { bytes_.replace(at, 4, Bytes().u32(value).bytes_); }
  size_t size() const { return bytes_.size(); }
  const std::string& bytes() const { return bytes_; }

 private:
  Bytes& number(uint32_t value, int size) {
    for (int i = 0; i < size; ++i) bytes_ += static_cast<char>(value >> (8 * i));
    return *this;
  }
  std::string bytes_;
};

// A container with these streams.  `in_order`: false for blocks of a stream that lie apart from each other.
inline std::string msf_of(const std::vector<std::string>& streams, uint32_t block_bytes = 512,
                          bool in_order = true) {
  std::vector<std::string> blocks(3);  // the first one, and two lists of free blocks
  Bytes directory;
  directory.u32(static_cast<uint32_t>(streams.size()));
  for (const std::string& stream : streams) directory.u32(static_cast<uint32_t>(stream.size()));
  const auto add = [&](const std::string& contents) {
    std::vector<std::string> pieces;
    for (size_t at = 0; at < contents.size(); at += block_bytes)
      pieces.push_back(contents.substr(at, block_bytes));
    std::vector<uint32_t> numbers(pieces.size());
    for (size_t i = 0; i < pieces.size(); ++i) {
      const size_t which = in_order ? i : pieces.size() - 1 - i;
      numbers[which] = static_cast<uint32_t>(blocks.size());
      blocks.push_back(pieces[which]);
    }
    Bytes list;
    for (const uint32_t number : numbers) list.u32(number);
    return list.bytes();
  };
  for (const std::string& stream : streams) directory.raw(add(stream));
  const std::string list = add(directory.bytes());
  const auto list_at = static_cast<uint32_t>(blocks.size());
  blocks.push_back(list);
  blocks[0] = Bytes()
                  .raw(
                      "Microsoft C/C++ MSF 7.00\r\n\x1a"
                      "DS\0\0\0"s)
                  .u32(block_bytes)
                  .u32(1)
                  .u32(static_cast<uint32_t>(blocks.size()))
                  .u32(static_cast<uint32_t>(directory.size()))
                  .u32(0)
                  .u32(list_at)
                  .bytes();
  std::string file;
  for (std::string& block : blocks) {
    block.resize(block_bytes);
    file += block;
  }
  return file;
}

// A length, a kind, and what is said, up to a multiple of 4 bytes.
inline std::string record(unsigned kind, const std::string& data) {
  Bytes padded;
  padded.u16(0).u16(kind).raw(data).align();
  return Bytes().u16(static_cast<unsigned>(padded.size() - 2)).bytes() + padded.bytes().substr(2);
}

// The symbols of a module.
class Symbols {
 public:
  Symbols() { bytes_.u32(4); }
  void add(unsigned kind, const std::string& data) { bytes_.raw(record(kind, data)); }
  // One with others in it, up to end().
  void begin(unsigned kind, const std::string& data) {
    open_.push_back(bytes_.size());
    add(kind, data);
  }
  void end(unsigned kind) {
    bytes_.set_u32(open_.back() + 8, static_cast<uint32_t>(bytes_.size()));
    open_.pop_back();
    add(kind, "");
  }
  void begin_procedure(const std::string& name, uint32_t offset, uint32_t size, unsigned section = 1,
                       unsigned kind = 0x1147) {
    begin(kind, Bytes().zeros(12).u32(size).zeros(12).u32(offset).u16(section).u8(0).text(name).bytes());
  }
  void begin_site(uint32_t inlinee, const std::string& annotations) {
    begin(0x114d, Bytes().zeros(8).u32(inlinee).raw(annotations).bytes());
  }
  void end_procedure() { end(0x114f); }
  void end_site() { end(0x114e); }
  const std::string& bytes() const { return bytes_.bytes(); }

 private:
  Bytes bytes_;
  std::vector<size_t> open_;
};

inline std::string subsection(uint32_t kind, const std::string& data) {
  return Bytes().u32(kind).u32(static_cast<uint32_t>(data.size())).raw(data).align().bytes();
}

// The lines of a function in one file: offsets and lines.
inline std::string lines_subsection(uint32_t offset, uint32_t size, uint32_t file,
                                    const std::vector<std::pair<uint32_t, uint32_t>>& lines,
                                    unsigned section = 1) {
  Bytes data;
  data.u32(offset).u16(section).u16(0).u32(size);
  data.u32(file).u32(static_cast<uint32_t>(lines.size())).u32(static_cast<uint32_t>(12 + lines.size() * 8));
  for (const auto& [at, line] : lines) data.u32(at).u32(line | 0x80000000);
  return subsection(0xf2, data.bytes());
}

// Entries of 8 bytes each, without checksums.
inline std::string files_subsection(const std::vector<uint32_t>& names) {
  Bytes data;
  for (const uint32_t name : names) data.u32(name).u16(0).align();
  return subsection(0xf4, data.bytes());
}

// Types or ids from 0x1000 on.
inline std::string type_stream(const std::vector<std::string>& records, unsigned hash_stream = 0xffff,
                               uint32_t index_bytes = 0) {
  Bytes all;
  for (const std::string& one : records) all.raw(one);
  Bytes stream;
  stream.u32(20040203).u32(56).u32(0x1000).u32(0x1000 + static_cast<uint32_t>(records.size()));
  stream.u32(static_cast<uint32_t>(all.size()))
      .u16(hash_stream)
      .u16(0xffff)
      .zeros(16)
      .u32(0)
      .u32(index_bytes)
      .zeros(8);
  return stream.raw(all.bytes()).bytes();
}

struct PdbStreams {
  std::vector<std::string> streams;
  std::string bytes(uint32_t block_bytes = 512, bool in_order = true) const {
    return msf_of(streams, block_bytes, in_order);
  }
};

// The GUID is "0123456789abcdef", the age 1.  Section 1 is at 0x1000, 0x1000 bytes.  A module has space::outer at 0x1010,
// 0x40 bytes, with space::Class::inner inlined in [0x1018, 0x1020).  A public symbol is at 0x1100.
inline PdbStreams small_pdb(uint32_t feature = 0x20140508) {
  Symbols symbols;
  symbols.begin_procedure("space::outer", 0x10, 0x40);
  // Line +1 at 8, 8 bytes long.
  symbols.begin_site(0x1000, Bytes().u8(11).u8(0x28).u8(4).u8(8).bytes());
  symbols.end_site();
  symbols.end_procedure();
  const std::string names = Bytes().text("").text("C:\\src\\outer.cpp").text("C:\\src\\inner.h").bytes();
  const std::string lines =
      lines_subsection(0x10, 0x40, 0, {{0, 100}, {8, 101}, {0x20, 0xfeefee}, {0x28, 104}}) +
      files_subsection({1, 18}) + subsection(0xf6, Bytes().u32(0).u32(0x1000).u32(8).u32(20).bytes());
  const auto size_of = [](const std::string& text) { return static_cast<uint32_t>(text.size()); };

  Bytes info;
  info.u32(20000404).u32(7).u32(3).raw("0123456789abcdef");
  info.u32(7).text("/names").u32(1).u32(2).u32(1).u32(1).u32(0).u32(0).u32(5).u32(feature);

  Bytes module;
  module.u32(0).u16(1).u16(0).u32(0x10).u32(0x40).zeros(16).u16(0).u16(7);
  module.u32(size_of(symbols.bytes()))
      .u32(0)
      .u32(size_of(lines))
      .zeros(16)
      .text("outer.obj")
      .text("")
      .align();
  Bytes parts;
  parts.u32(0xf12eba2d).u16(1).u16(0).u32(0x10).u32(0x40).u32(0x20).u16(0).u16(0).zeros(8);
  Bytes streams;
  for (int i = 0; i < 5; ++i) streams.u16(0xffff);
  streams.u16(6);
  Bytes debug;
  debug.u32(UINT32_MAX).u32(19990903).u32(1).u16(0xffff).u16(0).u16(8).u16(0).u16(9).u16(0);
  debug.u32(size_of(module.bytes())).u32(size_of(parts.bytes())).zeros(12).u32(0);
  debug.u32(size_of(streams.bytes())).u32(0).u16(0).u16(0x8664).u32(0);
  debug.raw(module.bytes()).raw(parts.bytes()).raw(streams.bytes());

  Bytes section;
  section.raw(".text").zeros(3).u32(0x1000).u32(0x1000).zeros(24);
  const std::string publics =
      record(0x110e, Bytes().u32(2).u32(0x10).u16(1).text("?outer@space@@YAXXZ").bytes()) +
      record(0x110e, Bytes().u32(2).u32(0x100).u16(1).text("?only_public@@YAXXZ").bytes());
  Bytes map;
  map.u32(0).u32(8).zeros(20).u32(0).u32(static_cast<uint32_t>(publics.size() / 2));
  const std::string types = type_stream(
      {record(0x1504, Bytes().u16(0).u16(0).u32(0).u32(0).u32(0).u16(8).text("space::Class").bytes())});
  const std::string ids = type_stream({record(0x1602, Bytes().u32(0x1000).u32(0).text("inner").bytes())});
  return {{"", info.bytes(), types, debug.bytes(), ids,
           Bytes().u32(0xeffeeffe).u32(1).u32(size_of(names)).raw(names).bytes(), section.bytes(),
           symbols.bytes() + lines, map.bytes(), publics}};
}

}  // namespace memprof::profile::fixture
