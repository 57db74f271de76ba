// The stage that begins every pipeline: the files of a corpus.
#pragma once

#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

/// Local files are read in place, remote ones while they download: storage/remote/download/source_download.h.
/// All come through FileListKind::local_inputs; no unit downloads them.
StageType DownloadType();

}  // namespace pipeline
