// SPDX-License-Identifier: Apache-2.0
// What memprof says, and where: results on standard output, everything else on standard error.
//
// Failure: print() throws Failure when standard output does not take it (full disk, closed).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "profile/text/text_writer.h"

namespace memprof::cli {

// Results.
void print(std::string_view text);

// One line on standard error, `memprof: LINE`.  Line breaks and other control characters in it become `?`.
void complain(std::string_view line);

// Whether the environment has it, and not empty.
bool is_variable_set(const char* variable);

// Columns of a line: those that COLUMNS says, else those of the terminal that is standard output; 0: it is
// not a terminal, and lines may have any length.
size_t terminal_width();

// Whether colours are wanted: standard output is a terminal, NO_COLOR is not set, TERM is not "dumb".
bool wants_color();

// Whether text may be UTF-8: by LC_ALL, LC_CTYPE or LANG, the first that is set.  The locale itself need not
// be installed.
bool wants_utf8();

// All of these.
profile::TextOptions terminal_text_options();

bool is_output_terminal();

// `text` as one word of a shell.
std::string shell_word(const std::string& text);

// "No such file or directory" as the end of a line of ours: "no such file or directory".
std::string error_text(int error);

}  // namespace memprof::cli
