// SPDX-License-Identifier: Apache-2.0
// Scripts by which shells complete commands and options, made of what commands say of themselves.
#pragma once

#include <string>
#include <vector>

#include "memprof/help/option_text.h"

namespace memprof::cli {

// A command in a list of commands.
struct CommandText {
  Description description;
  std::string purpose;  // half a line
};

std::string bash_completion(const std::vector<CommandText>& commands);
std::string zsh_completion(const std::vector<CommandText>& commands);
std::string fish_completion(const std::vector<CommandText>& commands);

}  // namespace memprof::cli
