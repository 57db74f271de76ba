// The stage at the beginning of every line: the files of a corpus.
#pragma once

#include "spec/registry.h"

namespace pipeline {

/// Files on this machine are read where they lie, those of others while they arrive: cli/source_files.h. All
/// of them through StageType::local_inputs; there is no unit that fetches.
StageType DownloadType();

}  // namespace pipeline
