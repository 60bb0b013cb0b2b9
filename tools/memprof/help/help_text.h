// SPDX-License-Identifier: Apache-2.0
// Help texts of a command, made of what it says of itself.
#pragma once

#include <string>
#include <vector>

#include "memprof/help/option_text.h"

namespace memprof::cli {

// What `memprof COMMAND --help` prints.
std::string help_of(const Description& description);

// What `memprof COMMAND -h` prints: at most a screen.
std::string brief_help_of(const Description& description);

// "-o,--output" -> {"-o", "--output"}
std::vector<std::string> names_of(const OptionText& option);

// "-o, --output PATH"
std::string heading_of(const OptionText& option);

// The text up to the end of its first sentence, without a full stop.
std::string first_sentence(const std::string& text);

// Whether the help of this command leaves the option's text to another command's.
bool is_explained_elsewhere(const Description& description, const OptionText& option);

}  // namespace memprof::cli
