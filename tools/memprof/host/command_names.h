// SPDX-License-Identifier: Apache-2.0
// What people call a program that runs, by its command line: the script of an interpreter (`gunicorn`, not
// `python3.12`), its module, or the title that the program gave itself.
//
// Threads: no state.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

// `program`: the name of the executable; `arguments`: of the process, with the name that it was started by.
//
//   python3.12  /venv/bin/python3 -X dev /venv/bin/gunicorn app:app   python3 gunicorn
//   python3.12  python3 -m uvicorn app:app                            python3 uvicorn
//   node        node server.js                                        node server.js server
//   python3.12  gunicorn: worker [app:app]                            gunicorn
std::vector<std::string> command_names(const std::string& program, const std::vector<std::string>& arguments);

}  // namespace memprof::cli
