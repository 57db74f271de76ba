// From a place as it stands in a pipeline file to a Store.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "storage/store.h"

namespace pipeline {

/// The store rooted at a path, `file://` or http(s) URI; whether it is there, and can be written to, shows at
/// the first use. Fails with kInvalidArgument for what is no place, kUnimplemented for gs://.
Result<std::unique_ptr<Store>> OpenStore(std::string_view uri);

}  // namespace pipeline
