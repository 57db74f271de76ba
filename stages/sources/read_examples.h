// The stage `read_examples`: TFRecord files of tf.train.Example to records. Rules: formats/examples.md.
#pragma once

#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

/// Reads files into records with the columns `text` and, if it is mapped, `label`, in valid UTF-8.
StageType ReadExamplesType();

}  // namespace pipeline
