// The same bytes wanted at another place: copied, not made again.
#pragma once

#include <stop_token>

#include "base/result.h"
#include "dag/stage.h"
#include "storage/store.h"

namespace pipeline {

struct SegmentScope;

/// Makes `object` of `from` stand in `to` under the same name; may share its storage. What is there
/// with the right size stays. kDataLoss where `from` holds another size than `object` says.
Status CopyObject(Store& from, Store& to, const StoredObject& object, std::stop_token stop);

/// Makes the artifact at `from` stand at `out`, the place of the segment: shards, then what describes
/// them, the manifest, and what follows it. What is there already with the right size stays.
Status CopyArtifact(const SegmentScope& scope, Store& from, Store& out, std::stop_token stop);

}  // namespace pipeline
