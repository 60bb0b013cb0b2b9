// SPDX-License-Identifier: Apache-2.0
// Long results on a terminal by the user's pager, as git does: MEMPROF_PAGER, else PAGER, else `less -FRX`.
//
// Signals: while the pager runs, SIGINT and SIGQUIT are its own.
// Threads: one command's own; starts a process.
// Failure: print_paged() throws Failure as print() does.  A pager that cannot be started is said, and the text
// printed.
#pragma once

#include <string>
#include <string_view>

namespace memprof::cli {

// As print().  `may_page`: by a pager where standard output is a terminal that has fewer rows than the text.
void print_paged(std::string_view text, bool may_page);

// The command by the environment, for a shell; empty: no pager is wanted (a variable that is empty, or `cat`),
// or none is there.
std::string pager_command();

// Runs it with the text as its input, waits for its end; that it did not read all of it is no error.  False:
// the shell did not find it.
bool page(std::string_view text, const std::string& command);

}  // namespace memprof::cli
