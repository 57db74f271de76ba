// The stage `read_examples`: TFRecord files of tf.train.Example to records. Rules: formats/examples.md.
#pragma once

#include "spec/registry.h"

namespace pipeline {

/// Takes files and gives records with columns `text` and, where it is mapped, `label`, clean UTF-8.
StageType ReadExamplesType();

}  // namespace pipeline
