// The stage `read_rows`: reads tables into records. Format of rows: formats/rows.md.
#pragma once

#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

/// Reads files into records with the columns `text` and, if it is mapped, `label`, in valid UTF-8.
StageType ReadRowsType();

}  // namespace pipeline
