// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "memprof/attach/linux/processor/processor.h"

namespace memprof::cli::processor {
namespace {

TEST(Processor, TheStubFitsIntoAPage) {
  EXPECT_GT(stub_code().size(), 100u);
  EXPECT_LT(stub_code().size(), 4096u);
}

}  // namespace
}  // namespace memprof::cli::processor
