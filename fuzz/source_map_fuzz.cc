// SPDX-License-Identifier: Apache-2.0
// Reads any bytes as a source map, and as the script that it belongs to.
//
// Corpus: corpus/source_map, maps of tsc and esbuild, an index map, and damaged ones.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "profile/model/error.h"
#include "profile/symbolize/source_maps/script_url.h"
#include "profile/symbolize/source_maps/source_map.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace memprof::profile;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view url = source_mapping_url(text);
  data_of_url(url);
  resolved("/folder", url);
  try {
    const SourceMap map(text, text);
    SourceLine found;
    for (int64_t line = -1; line < 100; ++line) {
      if (map.find(line, &found) == SourceMap::Answer::kOne && (found.source->empty() || found.line < 1))
        std::abort();
    }
    map.source_name("f");
  } catch (const Error&) {
    return 0;
  }
  return 0;
}
