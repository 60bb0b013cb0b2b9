// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/jit/jitdump.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>

#include "profile/symbolize/jit/perf_map.h"

namespace memprof::profile {
namespace {

constexpr uint32_t kMagic = 0x4a695444;  // "JiTD"
constexpr uint32_t kLoad = 0;
constexpr uint32_t kMove = 1;
constexpr uint32_t kDebugInfo = 2;
constexpr size_t kHeaderBytes = 40;
constexpr size_t kRecordBytes = 16;  // id, size, time

// Numbers and texts one after the other; zeros and nothing behind the end.
class Reader {
 public:
  explicit Reader(std::string_view data) : data_(data) {}

  template <typename T>
  T number() {
    T value{};
    if (data_.size() < sizeof(T)) {
      data_ = {};
      return value;
    }
    // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): the size was compared
    std::memcpy(&value, data_.data(), sizeof(T));
    data_.remove_prefix(sizeof(T));
    return value;
  }

  std::string_view text() {
    const size_t end = std::min(data_.find('\0'), data_.size());
    const std::string_view result = data_.substr(0, end);
    data_.remove_prefix(std::min(end + 1, data_.size()));
    return result;
  }

  bool is_at_end() const { return data_.empty(); }

 private:
  std::string_view data_;
};

// Code that was loaded: its name, and the record of its lines.
struct Code {
  std::string_view name;
  std::string_view lines;
};

struct Found {
  Code code;
  uint64_t loaded_address = 0;  // of this address when the code was loaded
};

void set_line(std::string_view lines, uint64_t address, JitFrame* frame) {
  Reader reader(lines);
  const auto count = (reader.number<uint64_t>(), reader.number<uint64_t>());
  std::string_view file;
  uint64_t best = 0;
  for (uint64_t i = 0; i < count && !reader.is_at_end(); ++i) {
    const auto begin = reader.number<uint64_t>();
    const auto line = reader.number<int32_t>();
    reader.number<int32_t>();
    const std::string_view name = reader.text();
    if (name != "\xff") file = name;  // else that of the entry before
    if (begin > address || begin < best) continue;
    best = begin;
    frame->line = std::max(line, 0);
    frame->file = file.substr(0, kMaxJitNameBytes);
  }
}

}  // namespace

bool is_jitdump(std::string_view data) {
  return data.size() >= kHeaderBytes && Reader(data).number<uint32_t>() == kMagic;
}

std::vector<JitFrame> read_jitdump(std::string_view data, const std::vector<uint64_t>& addresses) {
  std::vector<JitFrame> frames(addresses.size());
  if (!is_jitdump(data)) return frames;
  std::vector<Found> found(addresses.size());
  std::unordered_map<uint64_t, Code> code_of_index;
  std::unordered_map<uint64_t, std::string_view> lines_of_address;
  const auto cover = [&](uint64_t begin, uint64_t size, const Code& code, uint64_t loaded) {
    auto address = std::lower_bound(addresses.begin(), addresses.end(), begin);
    for (; address != addresses.end() && *address - begin < size; ++address) {
      found[static_cast<size_t>(address - addresses.begin())] = {code, loaded + (*address - begin)};
    }
  };
  uint32_t header_bytes = 0;
  std::memcpy(&header_bytes, data.data() + 8, sizeof(header_bytes));
  if (header_bytes < kHeaderBytes) return frames;
  data.remove_prefix(std::min<size_t>(header_bytes, data.size()));
  std::unordered_map<uint64_t, uint64_t> loaded_of_index;
  while (data.size() >= kRecordBytes) {
    Reader reader(data);
    const auto id = reader.number<uint32_t>();
    const auto record_bytes = reader.number<uint32_t>();
    if (record_bytes < kRecordBytes || record_bytes > data.size()) break;
    const std::string_view body = data.substr(kRecordBytes, record_bytes - kRecordBytes);
    data.remove_prefix(record_bytes);
    Reader fields(body);
    if (id == kDebugInfo) {
      lines_of_address[Reader(body).number<uint64_t>()] = body;
    } else if (id == kLoad || id == kMove) {
      fields.number<uint64_t>();  // process and thread
      fields.number<uint64_t>();  // vma, for load the same as the address
      const auto address = fields.number<uint64_t>();
      const auto new_address = id == kMove ? fields.number<uint64_t>() : address;
      const auto size = fields.number<uint64_t>();
      const auto index = fields.number<uint64_t>();
      Code& code = code_of_index[index];
      if (id == kLoad) {
        code = {fields.text().substr(0, kMaxJitNameBytes), lines_of_address[address]};
        lines_of_address.erase(address);
        loaded_of_index[index] = address;
      }
      if (!code.name.empty()) cover(new_address, size, code, loaded_of_index[index]);
    }
  }
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].code.name.empty()) continue;
    frames[i] = frame_of_jit_name(found[i].code.name);
    if (!found[i].code.lines.empty()) set_line(found[i].code.lines, found[i].loaded_address, &frames[i]);
  }
  return frames;
}

}  // namespace memprof::profile
