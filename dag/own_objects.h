// Which of the objects at a place belong to the artifact there: that of another stage, or a trial of the same
// (`--subset`), may lie below it.
#pragma once

#include <vector>

#include "storage/store.h"

namespace pipeline {

/// `listed`, all of a place, without what the program keeps there for itself (kOwnPrefix), and without what
/// lies below the place of another artifact: a directory with a manifest or with such objects. In the same
/// order.
std::vector<ObjectInfo> OwnObjects(std::vector<ObjectInfo> listed);

}  // namespace pipeline
