// Adding to the log what workers did since the last plan was handed out.
#pragma once

#include <string>

#include "base/status.h"
#include "cli/workplace.h"

namespace pipeline {

/// Takes back what lies at `hand_out`, and notes that place in the work directory.
Status TakeBackFrom(Workplace& place, const std::string& hand_out);

/// The same from the place where `pipe plan` last handed out; OK where it never did.
Status TakeBackAny(Workplace& place);

}  // namespace pipeline
