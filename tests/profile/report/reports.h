// SPDX-License-Identifier: Apache-2.0
// Options of reports for tests.
#pragma once

#include "profile/report/report.h"

#include <gtest/gtest.h>

namespace memprof::profile {

inline ReportOptions grouped_by(GroupBy by) {
  ReportOptions options;
  options.by = by;
  return options;
}

}  // namespace memprof::profile
