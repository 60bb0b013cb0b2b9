// SPDX-License-Identifier: Apache-2.0
// The names of a server that a request's Host may have: a web site that resolves a name of its own to this machine
// gets nothing from a server here.
//
// Model: of "NAME", "NAME:PORT" and "[IPV6]:PORT" only the name is looked at.  The port may be another than the
// server's, as in a tunnel of ssh, and is left out where it is 80.
//
// Threads: no state.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

class HostNames {
 public:
  HostNames() = default;
  // `address`: an IP address that the server is bound to.  One that other machines reach may be named by any number,
  // because a machine has many, and by the machine's name.
  HostNames(const std::string& address, const std::string& machine);

  bool are_named_by(const std::string& host) const;
  // Whether only this machine reaches it.
  bool are_local() const { return is_local_; }
  // For the page's address, without a port.
  const std::string& shown() const { return shown_; }

 private:
  std::string address_;
  std::vector<std::string> names_;  // in small letters
  std::string shown_;
  bool is_local_ = true;
};

}  // namespace memprof::cli
