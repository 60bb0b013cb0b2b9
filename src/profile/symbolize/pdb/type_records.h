// SPDX-License-Identifier: Apache-2.0
// The records of a PDB that inlined functions have their names from: ids of functions (stream IPI), and the classes that
// they are members of (stream TPI).
//
// Model: records have no index of their own.  A second stream says where each 8 KiB of them begin, and what is between is
// walked; where it is missing, all records are walked once.
//
// Threads: one object, one thread.
// Memory: the index, and the names that were asked for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/symbolize/pdb/msf_file.h"

namespace memprof::profile {

class TypeRecords {
 public:
  TypeRecords(const MsfFile& file, uint32_t stream);

  struct Record {
    uint16_t kind = 0;
    std::string data;  // behind its kind
  };
  // false: there is none.
  bool find(uint32_t id, Record* record) const;

 private:
  struct Chunk {
    uint32_t first;   // id
    uint32_t offset;  // of its record
  };
  void read_index(const MsfFile& file, std::string_view header);
  void walk_all();
  uint32_t size_at(uint64_t offset) const;

  MsfStream stream_;
  uint32_t begin_ = 0;  // ids
  uint32_t end_ = 0;
  uint64_t records_at_ = 0;
  uint64_t records_end_ = 0;
  std::vector<Chunk> chunks_;  // by id
};

class FunctionIds {
 public:
  explicit FunctionIds(const MsfFile& file);

  // "space::Class::function"; empty: there is none.
  const std::string& name_of(uint32_t id);

 private:
  std::string read_name(uint32_t id) const;
  std::string class_name(uint32_t type) const;

  TypeRecords types_;
  TypeRecords ids_;
  std::unordered_map<uint32_t, std::string> names_;
};

}  // namespace memprof::profile
