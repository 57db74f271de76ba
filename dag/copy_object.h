// One object at a second place.
#pragma once

#include <stop_token>

#include "base/result.h"
#include "dag/stage.h"
#include "storage/store.h"

namespace pipeline {

/// Makes `object` of `from` stand in `to` under the same name; may share its storage. What is there
/// with the right size stays. kDataLoss where `from` holds another size than `object` says.
Status CopyObject(Store& from, Store& to, const StoredObject& object, std::stop_token stop);

}  // namespace pipeline
