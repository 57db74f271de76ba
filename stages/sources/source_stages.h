// The stages that bring text in.
#pragma once

#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

/// The files of a corpus. Local files are read in place, remote ones while they download:
/// storage/remote/download/source_download.h. All come through FileListKind::local_inputs; no unit downloads
/// them.
StageType DownloadType();

/// Reads text files, compressed or not, into records of one line each: the column `text`, in valid UTF-8.
StageType DecompressType();

/// Reads tables into records with the columns `text` and, if it is mapped, `label`, in valid UTF-8. Format of
/// rows: formats/rows.md.
StageType ReadRowsType();

/// The same for TFRecord files of tf.train.Example. Rules: formats/examples.md.
StageType ReadExamplesType();

}  // namespace pipeline
