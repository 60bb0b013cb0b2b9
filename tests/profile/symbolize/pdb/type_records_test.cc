// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/pdb/type_records.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/profile/symbolize/pdb/pdb_bytes.h"

namespace memprof::profile {
namespace {

using fixture::Bytes;
using fixture::msf_of;
using fixture::record;
using fixture::type_stream;

std::string function_id(uint32_t scope, const std::string& name) {
  return record(0x1601, Bytes().u32(scope).u32(0).text(name).bytes());
}
std::string member_id(uint32_t type, const std::string& name) {
  return record(0x1602, Bytes().u32(type).u32(0).text(name).bytes());
}
std::string structure(const std::string& size, const std::string& name) {
  return record(0x1505, Bytes().zeros(16).raw(size).text(name).bytes());
}

class Ids {
 public:
  Ids(const std::vector<std::string>& types, const std::vector<std::string>& ids)
      : bytes_(msf_of({"", "", type_stream(types), "", type_stream(ids)})),
        msf_(MsfFile::of_bytes(bytes_, &why_)),
        ids_(*msf_) {}
  std::string name(uint32_t id) { return ids_.name_of(id); }

 private:
  std::string bytes_;
  std::string why_;
  std::unique_ptr<MsfFile> msf_;
  FunctionIds ids_;
};

TEST(TypeRecords, FunctionsHaveTheNamesOfWhatTheyAreIn) {
  Ids ids(
      {structure(Bytes().u16(8).bytes(), "S"), structure(Bytes().u16(0x8002).u16(40000).bytes(), "space::T"),
       structure(Bytes().u16(0x8004).u32(100000).bytes(), "U"),
       record(0x1506, Bytes().zeros(8).u16(4).text("Union").bytes()),
       record(0x1507, Bytes().zeros(12).text("Enum").bytes()), record(0x1001, Bytes().zeros(8).bytes())},
      {record(0x1605, Bytes().u32(0).text("a::b").bytes()), function_id(0x1000, "f"), function_id(0, "main"),
       member_id(0x1000, "m"), member_id(0x1001, "~T"), member_id(0x1002, "m"), member_id(0x1003, "m"),
       member_id(0x1004, "m"), member_id(0x1005, "m"), member_id(0x9999, "m"), function_id(0x9999, "f")});
  const std::vector<std::string> expected = {
      "", "a::b::f", "main", "S::m", "space::T::~T", "U::m", "Union::m", "Enum::m", "m", "m", "f"};
  for (uint32_t i = 0; i < expected.size(); ++i) EXPECT_EQ(ids.name(0x1000 + i), expected[i]) << i;
  EXPECT_EQ(ids.name(0), "");
  EXPECT_EQ(ids.name(0x1000 + 11), "");
  EXPECT_EQ(ids.name(UINT32_MAX), "");
}

TEST(TypeRecords, AnIndexSaysWhereTheyAre) {
  std::vector<std::string> records;
  Bytes index;
  uint32_t offset = 0;
  for (uint32_t i = 0; i < 5000; ++i) {
    if (i % 100 == 0) index.u32(0x1000 + i).u32(offset);
    records.push_back(function_id(0, "function" + std::to_string(i)));
    offset += static_cast<uint32_t>(records.back().size());
  }
  for (const unsigned hash_stream : {5u, 0xffffu}) {
    const std::string bytes =
        msf_of({"", "", "", "", type_stream(records, hash_stream, static_cast<uint32_t>(index.size())),
                index.bytes()},
               512, hash_stream == 5);
    std::string why;
    const auto msf = MsfFile::of_bytes(bytes, &why);
    FunctionIds ids(*msf);
    for (const uint32_t i : {0u, 1u, 99u, 100u, 1023u, 1024u, 4999u}) {
      EXPECT_EQ(ids.name_of(0x1000 + i), "function" + std::to_string(i));
    }
    EXPECT_EQ(ids.name_of(0x1000 + 5000), "");
  }
}

// An index that leads elsewhere costs no more than a chunk.
TEST(TypeRecords, DamagedIndicesEnd) {
  const std::vector<std::string> records(6000, function_id(0, "f"));
  for (const uint32_t offset : {0u, 2u, UINT32_MAX}) {
    const std::string bytes =
        msf_of({"", "", "", "", type_stream(records, 5, 8), Bytes().u32(0x1000).u32(offset).bytes()});
    std::string why;
    const auto msf = MsfFile::of_bytes(bytes, &why);
    FunctionIds ids(*msf);
    EXPECT_EQ(ids.name_of(0x1001), offset == 0 ? "f" : "");
    EXPECT_EQ(ids.name_of(0x1000 + 5999), "");
  }
}

}  // namespace
}  // namespace memprof::profile
