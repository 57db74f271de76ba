// The stage at the beginning of every line: the files of a corpus.
#pragma once

#include "spec/registry.h"

namespace pipeline {

/// Files on this machine are read where they lie, through StageType::local_inputs.
StageType DownloadType();

}  // namespace pipeline
