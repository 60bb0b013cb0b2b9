// SPDX-License-Identifier: Apache-2.0
#include "profile/text/markup/column_values.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace memprof::profile {
namespace {

using Json = nlohmann::ordered_json;

struct Place {
  std::string file;
  int line = 0;
  bool has_caller = false;
};

std::vector<Column<Place>> place_columns() {
  return {
      text_column<Place>("for people", kStays, [](const Place&) { return std::string("text"); }),
      value_column<Place>("file", [](const Place& place) { return Json(place.file); }),
      value_column<Place>("line", [](const Place& place) { return Json(place.line); }, {{"", "", true}}),
      value_column<Place>("caller",
                          [](const Place& place) {
                            return place.has_caller ? Json{{"name", "main"}, {"value", 0}, {"low", nullptr}}
                                                    : Json(nullptr);
                          },
                          {{"_name", "/name"}, {"", "/value"}, {"_low", "/low"}}),
  };
}

TEST(ColumnValues, OfJsonAreThoseThatHaveAName) {
  EXPECT_EQ(json_row(place_columns(), Place{"a.cc", 7, false}).dump(),
            R"({"file":"a.cc","line":7,"caller":null})");
}

TEST(ColumnValues, OfCsvAreFieldsAndWhatIsNotKnownIsEmpty) {
  EXPECT_EQ(csv_titles(place_columns()), "file,line,caller_name,caller,caller_low\n");
  EXPECT_EQ(csv_row(place_columns(), Place{"a,b.cc", 0, true}), "\"a,b.cc\",,main,0,\n");
  EXPECT_EQ(csv_row(place_columns(), Place{"a.cc", 7, false}), "a.cc,7,,,\n");
}

}  // namespace
}  // namespace memprof::profile
