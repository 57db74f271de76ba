#include "dag/records/stored_object.h"

#include "storage/store.h"

namespace pipeline {

bool StoredObject::IsAt(const ObjectInfo& there) const {
  return there.size == bytes && there.crc32c.value_or(crc32c) == crc32c;
}

}  // namespace pipeline
