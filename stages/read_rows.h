// The stage `read_rows`: tables to records. What rows are: formats/rows.md.
#pragma once

#include "spec/registry.h"

namespace pipeline {

/// Takes files and gives records with columns `text` and, where it is mapped, `label`, clean UTF-8.
StageType ReadRowsType();

}  // namespace pipeline
