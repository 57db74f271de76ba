// Stage types that stand for each kind, so that the file, the graph and the plan can be tested
// without a corpus. Their factories answer kUnimplemented: none of them runs.
#pragma once

#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

/// fetch (Job: nothing to files) -> lines (Source: files to records with `text`) -> map, divide,
/// cut (Transforms; divide adds `split`, cut adds `cuts`) -> publish (Sink), learn (Job: reads
/// `cuts`, publishes); study (Job: reads `text`, gives an artifact), use (Transform with the named inputs
/// `model`, a file too, and `words`), again (Transform that inherits `model`).
const Registry& FakeRegistry();

}  // namespace pipeline
