// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/container_id.h"

#include <gtest/gtest.h>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

const std::string kId = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

TEST(ContainerId, IsTheNameOfAGroup) {
  for (const std::string& groups :
       {"0::/system.slice/docker-" + kId + ".scope\n", "12:memory:/docker/" + kId + "\n11:cpu:/\n",
        "0::/kubepods.slice/kubepods-pod1_2.slice/cri-containerd-" + kId + ".scope",
        "0::/kubepods/burstable/pod1/" + kId + "/inner\n",
        "1:name=systemd:/\n0::/machine/libpod-" + kId + ".scope\n"}) {
    EXPECT_EQ(container_id_in(groups), kId) << groups;
  }
}

TEST(ContainerId, OthersHaveNone) {
  for (const std::string& groups :
       {std::string(), std::string("0::/\n"), std::string("0::/user.slice/user-0.slice/session-1.scope\n"),
        "0::/docker-" + kId.substr(1) + ".scope", "0::/docker-" + kId + "a.scope", std::string("\n\n:-")}) {
    EXPECT_EQ(container_id_in(groups), "") << groups;
  }
  EXPECT_EQ(container_id_of(0), "") << "there is no such process";
}

}  // namespace
}  // namespace memprof::cli
