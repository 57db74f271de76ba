// The store of a place that a run holds: nothing there changes once the run has lost it.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "storage/store.h"

namespace pipeline {

/// `inner`, of which each change is preceded by a call of `check`, and does not come about when that fails.
/// Reading asks nobody. `check` may be called from any thread.
std::unique_ptr<Store> HoldStore(std::unique_ptr<Store> inner, std::function<Status(std::stop_token)> check);

}  // namespace pipeline
