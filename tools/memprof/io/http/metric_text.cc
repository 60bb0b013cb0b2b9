// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/http/metric_text.h"

#include <fmt/format.h>

namespace memprof::cli {

void add_metric(const std::string& name, const char* kind, const char* help, double value,
                std::string* text) {
  *text += fmt::format("# HELP memprof_{0} {2}\n# TYPE memprof_{0} {1}\nmemprof_{0} {3:.0f}\n", name, kind,
                       help, value);
}

}  // namespace memprof::cli
