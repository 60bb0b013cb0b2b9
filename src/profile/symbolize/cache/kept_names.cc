// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/cache/kept_names.h"

#include <algorithm>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "profile/symbolize/files/debug_link.h"

namespace memprof::profile {
namespace {

// The number changes with the fields, and with what a name means.
constexpr std::string_view kVersion = "memprof names 1\n";
constexpr size_t kChecksumBytes = 4;

// Columns: one entry an address, or a frame; in the order of addresses.
enum : protozero::pbf_tag_type {
  kKey = 1,
  kText = 2,     // repeated
  kAddress = 3,  // minus the one before
  kFrames = 4,   // 2 * how many, and 1 if they are of debug info
  kName = 5,     // 2 * index of a text, and 1 if it is a symbol
  kFile = 6,     // index of a text
  kLine = 7,
};

std::string checksum_of(std::string_view bytes) {
  const uint32_t sum = debug_link_checksum(bytes);
  std::string text;
  for (int shift = 0; shift < 32; shift += 8) text.push_back(static_cast<char>(sum >> shift));
  return text;
}

struct Columns {
  std::string key;
  std::vector<std::string> texts;
  std::vector<uint64_t> addresses, frames, names, files;
  std::vector<int64_t> lines;
};

template <typename Range, typename Number>
void take(const Range& range, std::vector<Number>* column) {
  column->assign(range.begin(), range.end());
}

// Throws protozero::exception.
Columns columns_of(std::string_view bytes) {
  Columns columns;
  protozero::pbf_reader reader(bytes.data(), bytes.size());
  while (reader.next()) {
    if (reader.wire_type() != protozero::pbf_wire_type::length_delimited)
      throw protozero::unknown_pbf_wire_type_exception();
    switch (reader.tag()) {
      case kKey:
        columns.key = reader.get_string();
        break;
      case kText:
        columns.texts.push_back(reader.get_string());
        break;
      case kAddress:
        take(reader.get_packed_uint64(), &columns.addresses);
        break;
      case kFrames:
        take(reader.get_packed_uint64(), &columns.frames);
        break;
      case kName:
        take(reader.get_packed_uint64(), &columns.names);
        break;
      case kFile:
        take(reader.get_packed_uint64(), &columns.files);
        break;
      case kLine:
        take(reader.get_packed_sint64(), &columns.lines);
        break;
      default:
        reader.skip();
    }
  }
  return columns;
}

}  // namespace

std::optional<KeptNames> KeptNames::decode(std::string_view bytes, const std::string& key) {
  if (bytes.substr(0, kVersion.size()) != kVersion) return std::nullopt;
  bytes.remove_prefix(kVersion.size());
  if (bytes.size() < kChecksumBytes) return std::nullopt;
  const std::string_view body = bytes.substr(kChecksumBytes);
  if (bytes.substr(0, kChecksumBytes) != checksum_of(body)) return std::nullopt;
  Columns columns;
  try {
    columns = columns_of(body);
  } catch (const protozero::exception&) {
    return std::nullopt;
  }
  const size_t frames = columns.names.size();
  if (columns.key != key || columns.addresses.size() != columns.frames.size() ||
      columns.files.size() != frames || columns.lines.size() != frames) {
    return std::nullopt;
  }
  KeptNames names;
  names.texts_ = std::move(columns.texts);
  for (size_t i = 0; i < names.texts_.size(); ++i) {
    names.text_bytes_ += names.texts_[i].size();
    names.text_indices_.emplace(names.texts_[i], static_cast<uint32_t>(i));
  }
  names.frames_.reserve(frames);
  for (size_t i = 0; i < frames; ++i) {
    const uint64_t name = columns.names[i] / 2;
    const uint64_t file = columns.files[i];
    if (name >= names.texts_.size() || file >= names.texts_.size() || names.texts_[name].empty())
      return std::nullopt;
    names.frames_.push_back({static_cast<uint32_t>(name), static_cast<uint32_t>(file), columns.lines[i],
                             columns.names[i] % 2 != 0});
  }
  uint64_t address = 0;
  uint64_t first = 0;
  names.places_.reserve(columns.addresses.size());
  for (size_t i = 0; i < columns.addresses.size(); ++i) {
    address += columns.addresses[i];
    const uint64_t count = columns.frames[i] / 2;
    if (count > frames - first) return std::nullopt;
    const Place place{static_cast<uint32_t>(first), static_cast<uint32_t>(count), columns.frames[i] % 2 != 0};
    if (!names.places_.emplace(address, place).second) return std::nullopt;
    first += count;
  }
  if (first != frames) return std::nullopt;
  return names;
}

std::string KeptNames::encode(const std::string& key) const {
  std::vector<uint64_t> order;
  order.reserve(places_.size());
  for (const auto& [address, place] : places_) order.push_back(address);
  std::sort(order.begin(), order.end());
  Columns columns;
  uint64_t before = 0;
  for (const uint64_t address : order) {
    const Place& place = places_.at(address);
    columns.addresses.push_back(address - before);
    before = address;
    columns.frames.push_back(uint64_t{place.count} * 2 + (place.has_lines ? 1 : 0));
    for (uint32_t i = 0; i < place.count; ++i) {
      const Frame& frame = frames_[place.first + i];
      columns.names.push_back(uint64_t{frame.name} * 2 + (frame.is_symbol ? 1 : 0));
      columns.files.push_back(frame.file);
      columns.lines.push_back(frame.line);
    }
  }
  std::string body;
  protozero::pbf_writer writer(body);
  writer.add_bytes(kKey, key);
  for (const std::string& text : texts_) writer.add_bytes(kText, text);
  writer.add_packed_uint64(kAddress, columns.addresses.begin(), columns.addresses.end());
  writer.add_packed_uint64(kFrames, columns.frames.begin(), columns.frames.end());
  writer.add_packed_uint64(kName, columns.names.begin(), columns.names.end());
  writer.add_packed_uint64(kFile, columns.files.begin(), columns.files.end());
  writer.add_packed_sint64(kLine, columns.lines.begin(), columns.lines.end());
  return std::string(kVersion) + checksum_of(body) + body;
}

bool KeptNames::find(uint64_t vaddr, CodeNames* names) const {
  const auto known = places_.find(vaddr);
  if (known == places_.end()) return false;
  const Place& place = known->second;
  names->has_lines = place.has_lines;
  names->names.clear();
  for (uint32_t i = 0; i < place.count; ++i) {
    const Frame& frame = frames_[place.first + i];
    names->names.push_back({texts_[frame.name], frame.is_symbol, texts_[frame.file], frame.line});
  }
  return true;
}

void KeptNames::add(uint64_t vaddr, const CodeNames& names) {
  const Place place{static_cast<uint32_t>(frames_.size()), static_cast<uint32_t>(names.names.size()),
                    names.has_lines};
  if (!places_.emplace(vaddr, place).second) return;
  for (const CodeName& name : names.names) {
    const uint32_t index = text_index(name.name);
    frames_.push_back({index, text_index(name.file), name.line, name.is_symbol});
  }
}

void KeptNames::add_all(const KeptNames& other) {
  CodeNames names;
  for (const auto& [address, place] : other.places_) {
    if (places_.count(address) == 0 && other.find(address, &names)) add(address, names);
  }
}

uint32_t KeptNames::text_index(const std::string& text) {
  const auto [known, is_new] = text_indices_.emplace(text, static_cast<uint32_t>(texts_.size()));
  if (is_new) {
    texts_.push_back(text);
    text_bytes_ += text.size();
  }
  return known->second;
}

}  // namespace memprof::profile
