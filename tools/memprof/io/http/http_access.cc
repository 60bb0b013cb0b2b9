// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/http/http_access.h"

#include "memprof/console/failure.h"
#include "memprof/io/http/secret_file.h"

namespace memprof::cli {
namespace {

constexpr char kToken[] = "--token-file";
constexpr char kPassword[] = "--password-file";
constexpr char kCertificates[] = "--ca-file";

}  // namespace

void check_http_access(const HttpAccess& access) {
  if (!access.token_file.empty()) read_secret(kToken, access.token_file);
  if (!access.password_file.empty() &&
      read_secret(kPassword, access.password_file).find(':') == std::string::npos) {
    throw Failure(std::string(kPassword) + ": " + access.password_file +
                  ": has no NAME:PASSWORD in its first line");
  }
  if (!access.ca_file.empty() &&
      read_text_file(kCertificates, access.ca_file).find("-----BEGIN ") == std::string::npos) {
    throw Failure(std::string(kCertificates) + ": " + access.ca_file + ": has no certificate in PEM form");
  }
}

HttpAccessOptions::HttpAccessOptions(ArgumentParser& parser) : parser_(parser) {
  constexpr char kHome[] = "ship";  // whose help has them
  constexpr auto kInHelp = OptionText::Shown::kInHelp;
  parser.add_option({kToken, "FILE", "a bearer token; FILE is read again for each request", kInHelp, kHome},
                    access_.token_file);
  parser.add_option({kPassword, "FILE", "NAME:PASSWORD, for basic authentication", kInHelp, kHome},
                    access_.password_file);
  parser.add_option({kCertificates, "FILE", "certificates to trust, instead of the system's", kInHelp, kHome},
                    access_.ca_file);
}

HttpAccess HttpAccessOptions::access() const {
  if (parser_.is_given(kToken) && parser_.is_given(kPassword)) {
    throw Failure(std::string(kToken) + " and " + kPassword + " exclude each other");
  }
  return access_;
}

std::string HttpAccessOptions::given() const {
  for (const char* const option : {kToken, kPassword, kCertificates}) {
    if (parser_.is_given(option)) return option;
  }
  return "";
}

}  // namespace memprof::cli
