// SPDX-License-Identifier: Apache-2.0
// Reads any bytes as a heap profile that is no pprof file and, where that works, does with it what the command does: a
// report, and a round trip through our own writer.
//
// Corpus: corpus/heap_text, profiles of tcmalloc, jemalloc and V8, and damaged ones.
#include <cstdint>
#include <string>
#include <string_view>

#include "profile/foreign/foreign_profile.h"
#include "profile/model/error.h"
#include "profile/pprof/pprof_reader.h"
#include "profile/pprof/pprof_writer.h"
#include "profile/report/report.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace memprof::profile;
  try {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    if (!is_foreign(bytes.substr(0, kForeignBeginning))) return 0;
    constexpr uint64_t kMaxModelBytes = uint64_t{512} << 20;
    const Profile profile = read_foreign(bytes, "input", kMaxModelBytes);
    build_report(profile);
    read_pprof(write_pprof(profile, {false}), "once");
  } catch (const Error&) {
    return 0;
  }
  return 0;
}
