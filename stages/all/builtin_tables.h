// The tables of all built-in stages and export formats.
#pragma once

#include "stages/verify/export_format.h"

namespace pipeline {

/// The tables live as long as the program.
const StageTables& BuiltinTables();

}  // namespace pipeline
