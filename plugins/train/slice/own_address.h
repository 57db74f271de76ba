// Addresses and ports of this machine, for the coordinator of the trainers.
#pragma once

#include <string>

#include "base/result.h"

namespace pipeline {

/// The address with which this machine reaches other networks; "127.0.0.1" if it has no route. Sends nothing.
std::string OwnAddress();

/// A port that was free a moment ago: on 127.0.0.1 alone, or on all addresses.
Result<int> FreePort(bool loopback);

/// ADDRESS:PORT, with brackets around an IPv6 address.
std::string WithPort(const std::string& address, int port);

}  // namespace pipeline
