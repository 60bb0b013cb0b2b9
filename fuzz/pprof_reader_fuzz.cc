// SPDX-License-Identifier: Apache-2.0
// Reads any bytes as a pprof profile and, where that works, does with it what the command does: estimates,
// every export, and a round trip through our own writer, which must give the same bytes the second time.
//
// Corpus: corpus/pprof_reader, profiles of both our writers, of the kind that Go and tcmalloc write, and
// damaged ones.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "profile/formats/collapsed.h"
#include "profile/formats/dhat.h"
#include "profile/formats/flame_svg.h"
#include "profile/formats/heapprofile.h"
#include "profile/formats/json_export.h"
#include "profile/formats/speedscope.h"
#include "profile/pprof/pprof_reader.h"
#include "profile/pprof/pprof_writer.h"
#include "profile/view/profile_view.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace memprof::profile;
  ReadOptions options;
  options.max_decompressed_bytes = size_t{4} << 20;
  options.max_model_bytes = size_t{64} << 20;
  Profile profile;
  try {
    profile = read_pprof({reinterpret_cast<const char*>(data), size}, "input", options);
  } catch (const Error&) {
    return 0;
  }
  write_speedscope(profile, {"input", {}, {}});
  write_collapsed(profile);
  write_json(profile);
  write_heapprofile(profile, Metric::kInuseSpace);
  write_dhat(profile);
  write_flame_svg(profile, {"input"});
  for (const GroupBy by : {GroupBy::kFunction, GroupBy::kFile}) {
    ViewRequest request;
    request.by = by;
    request.names = NameStyle::kShown;
    write_collapsed(view_of(profile, request));
  }
  const std::string once = write_pprof(profile, {false});
  if (write_pprof(read_pprof(once, "once"), {false}) != once) {
    std::abort();  // something was lost or changed on the way
  }
  return 0;
}
