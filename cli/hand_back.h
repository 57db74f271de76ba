// Adding to the log what workers did since the last plan was handed out.
#pragma once

#include <string>

#include "base/status.h"
#include "cli/workplace.h"

namespace pipeline {

/// Takes back what lies at `hand_out`, and notes that place in the work directory. kFailedPrecondition, and
/// nothing is taken back, where what a worker says it did is not here: it would be handed out again and
/// again.
Status TakeBackFrom(Workplace& place, const std::string& hand_out);

/// The same from the place where `pipe plan` last handed out; OK where it never did.
Status TakeBackAny(Workplace& place);

}  // namespace pipeline
