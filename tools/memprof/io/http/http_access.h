// SPDX-License-Identifier: Apache-2.0
// How servers are reached: secrets and certificates in files that a user names.  What is sent and what is read have the
// same options.
//
// Threads: no state.
// Failure: throws Failure "OPTION: PATH: why".
#pragma once

#include <string>

#include "memprof/console/arguments.h"

namespace memprof::cli {

struct HttpAccess {
  std::string token_file;     // a bearer token
  std::string password_file;  // NAME:PASSWORD
  std::string ca_file;        // in PEM form; empty: the system's
};

// Whether the files can be used.
void check_http_access(const HttpAccess& access);

// --token-file, --password-file, --ca-file
class HttpAccessOptions {
 public:
  // Adds them to a command, which must outlive this.
  explicit HttpAccessOptions(ArgumentParser& parser);

  // After the command has parsed its arguments.
  HttpAccess access() const;
  // The first one that was given; empty: none was.
  std::string given() const;

 private:
  ArgumentParser& parser_;
  HttpAccess access_;
};

}  // namespace memprof::cli
