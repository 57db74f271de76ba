// The stage `decompress`: reads text files, compressed or not, into records of one line each.
#pragma once

#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

/// Reads files into records with the column `text`, in valid UTF-8.
StageType DecompressType();

}  // namespace pipeline
