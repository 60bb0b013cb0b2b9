// SPDX-License-Identifier: Apache-2.0
#include "memprof/console/failure.h"
#include "memprof/ship/targets/directory_target.h"
#include "memprof/ship/targets/otlp_target.h"
#include "memprof/ship/targets/pyroscope_target.h"
#include "memprof/ship/targets/target.h"

namespace memprof::cli {

const std::vector<TargetKind>& target_kinds() {
  static const std::vector<TargetKind> kKinds = {
      {"http://HOST:PORT   Pyroscope, by its Push API; also https://", is_pyroscope_url,
       make_pyroscope_target},
      {"otlp+http://HOST:PORT[/PATH]  OpenTelemetry; also otlp+https", is_otlp_url, make_otlp_target},
      {"/FOLDER            a folder, or a mounted bucket", is_directory, make_directory_target},
  };
  return kKinds;
}

std::unique_ptr<ShipTarget> make_target(const std::string& text, const TargetOptions& options) {
  for (const TargetKind& kind : target_kinds()) {
    if (kind.is(text)) return kind.make(text, options);
  }
  throw Failure(
      options.option + ": '" + text +
      "' is no target: give http://HOST:PORT of a Pyroscope, otlp+http://HOST:PORT of an OpenTelemetry collector, or "
      "the path of a folder that begins with / or .");
}

}  // namespace memprof::cli
