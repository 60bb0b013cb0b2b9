// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/pprof_tables.h"

#include <fmt/format.h>

#include "format/pprof/pprof_schema.h"
#include "profile/pprof/pprof_fields.h"

namespace memprof::profile {

namespace field = schema::profile_field;
using protozero::pbf_reader;

void PprofTables::Ids::add(uint64_t id, ReadBudget& budget) {
  budget.charge(ReadBudget::kHashEntryBytes);
  if (index_of_.empty()) {
    if (id == uint64_t{counted_} + 1 && counted_ < UINT32_MAX) {
      ++counted_;
      return;
    }
    for (uint32_t i = 0; i < counted_; ++i) index_of_.emplace(uint64_t{i} + 1, i);
    counted_ = 0;
  }
  if (id == 0 || !index_of_.emplace(id, static_cast<uint32_t>(index_of_.size())).second) {
    throw Error(fmt::format("damaged pprof profile: {} id {} is {}", kind_, id,
                            id == 0 ? "not allowed" : "used twice"));
  }
}

uint32_t PprofTables::Ids::find(uint64_t id) const {
  if (id - 1 < counted_) {
    return static_cast<uint32_t>(id - 1);
  }
  const auto found = index_of_.find(id);
  if (found == index_of_.end()) {
    throw Error(fmt::format("damaged pprof profile: there is no {} {}", kind_, id));
  }
  return found->second;
}

uint32_t PprofTables::location(uint64_t id) const {
  return location_ids_.find(id);
}

std::string_view PprofTables::string(uint64_t index) const {
  if (index >= strings_.size()) {
    throw Error(fmt::format("damaged pprof profile: string {} of {}", index, strings_.size()));
  }
  return strings_[index];
}

std::string PprofTables::copy(uint64_t index) {
  const std::string_view text = string(index);
  budget_.charge(text.size());
  return std::string(text);
}

bool PprofTables::read_string(pbf_reader& reader) {
  if (reader.tag_and_type() != bytes_field(field::kStringTable)) {
    return false;
  }
  budget_.charge(sizeof(std::string_view));
  const auto view = reader.get_view();
  strings_.emplace_back(view.data(), view.size());
  return true;
}

bool PprofTables::read_mapping_or_function(pbf_reader& reader) {
  switch (reader.tag_and_type()) {
    case bytes_field(field::kMapping):
      read_mapping(reader.get_message());
      return true;
    case bytes_field(field::kFunction):
      read_function(reader.get_message());
      return true;
    default:
      return false;
  }
}

void PprofTables::read_mapping(pbf_reader reader) {
  budget_.charge(2 * sizeof(Mapping));
  uint64_t id = 0;
  Mapping& mapping = profile_.mappings.emplace_back();
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case number_field(schema::mapping_field::kId):
        id = reader.get_uint64();
        break;
      case number_field(schema::mapping_field::kStart):
        mapping.start = reader.get_uint64();
        break;
      case number_field(schema::mapping_field::kLimit):
        mapping.limit = reader.get_uint64();
        break;
      case number_field(schema::mapping_field::kFileOffset):
        mapping.file_offset = reader.get_uint64();
        break;
      case number_field(schema::mapping_field::kFilename):
        mapping.path = copy(reader.get_uint64());
        break;
      case number_field(schema::mapping_field::kBuildId):
        mapping.build_id = copy(reader.get_uint64());
        break;
      case number_field(schema::mapping_field::kHasFunctions):
        mapping.has_functions = reader.get_bool();
        break;
      case number_field(schema::mapping_field::kHasFilenames):
        mapping.has_filenames = reader.get_bool();
        break;
      case number_field(schema::mapping_field::kHasLineNumbers):
        mapping.has_line_numbers = reader.get_bool();
        break;
      case number_field(schema::mapping_field::kHasInlineFrames):
        mapping.has_inline_frames = reader.get_bool();
        break;
      default:
        reader.skip();
    }
  }
  mapping_ids_.add(id, budget_);
}

void PprofTables::read_function(pbf_reader reader) {
  budget_.charge(2 * sizeof(Function));
  uint64_t id = 0;
  Function& function = profile_.functions.emplace_back();
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case number_field(schema::function_field::kId):
        id = reader.get_uint64();
        break;
      case number_field(schema::function_field::kName):
        function.name = copy(reader.get_uint64());
        break;
      case number_field(schema::function_field::kSystemName):
        function.system_name = copy(reader.get_uint64());
        break;
      case number_field(schema::function_field::kFilename):
        function.filename = copy(reader.get_uint64());
        break;
      case number_field(schema::function_field::kStartLine):
        function.start_line = reader.get_int64();
        break;
      default:
        reader.skip();
    }
  }
  if (function.system_name.empty() && schema::is_cut_by_pprof(function.name.data(), function.name.size())) {
    budget_.charge(function.name.size());
    function.system_name = function.name;
  }
  function_ids_.add(id, budget_);
}

bool PprofTables::read_location(pbf_reader& reader) {
  if (reader.tag_and_type() != bytes_field(field::kLocation)) {
    return false;
  }
  pbf_reader message = reader.get_message();
  budget_.charge(2 * sizeof(Location));
  uint64_t id = 0;
  Location& location = profile_.locations.emplace_back();
  while (message.next()) {
    switch (message.tag_and_type()) {
      case number_field(schema::location_field::kId):
        id = message.get_uint64();
        break;
      case number_field(schema::location_field::kMappingId):
        if (const uint64_t mapping = message.get_uint64()) {
          location.mapping = mapping_ids_.find(mapping);
        }
        break;
      case number_field(schema::location_field::kAddress):
        location.address = message.get_uint64();
        break;
      case bytes_field(schema::location_field::kLine):
        budget_.charge(2 * sizeof(Line));
        location.lines.push_back(read_line(message.get_message()));
        break;
      case number_field(schema::location_field::kIsFolded):
        location.is_folded = message.get_bool();
        break;
      default:
        message.skip();
    }
  }
  location_ids_.add(id, budget_);
  return true;
}

Line PprofTables::read_line(pbf_reader reader) const {
  Line line;
  uint64_t function = 0;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case number_field(schema::line_field::kFunctionId):
        function = reader.get_uint64();
        break;
      case number_field(schema::line_field::kLine):
        line.line = reader.get_int64();
        break;
      default:
        reader.skip();
    }
  }
  line.function = function_ids_.find(function);
  return line;
}

}  // namespace memprof::profile
