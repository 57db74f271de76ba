// The store of a location that a run holds: nothing there changes once the run has lost it.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "storage/store.h"

namespace pipeline {

/// Returns `inner` with a call of `check` before each change; if `check` fails, the change is not made. A
/// removal of up to 100 objects is one change.
/// Reading calls nothing. `check` may be called from any thread.
std::unique_ptr<Store> HoldStore(std::unique_ptr<Store> inner, std::function<Status(std::stop_token)> check);

}  // namespace pipeline
