// SPDX-License-Identifier: Apache-2.0
// The container that a process is in, by its control group: Docker, containerd, CRI-O and Podman name groups by the id.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace memprof::cli {

// 64 hexadecimal digits; empty: it is in none, or its groups are hidden from here.
std::string container_id_of(uint64_t pid);

// The same of the text that the system has of a process's control groups.
std::string container_id_in(std::string_view groups);

}  // namespace memprof::cli
