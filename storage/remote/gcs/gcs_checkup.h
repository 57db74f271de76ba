// Checks whether this machine can use buckets of Google Cloud Storage.
#pragma once

#include <memory>
#include <stop_token>

#include "storage/remote/scheme/checkup.h"

namespace pipeline {

/// Checks the credentials, then each bucket once, then the objects.
std::unique_ptr<Checkup> NewGcsCheckup(CheckTeller tell, std::stop_token stop);

}  // namespace pipeline
