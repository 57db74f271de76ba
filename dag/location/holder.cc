#include "dag/location/holder.h"

#include "base/random_name.h"

namespace pipeline {

Result<std::string> HolderOf(Store& place) {
  const Result<std::string> known = ReadObject(place, kHolderName, kMaxHolderBytes);
  if (known.ok() && !known->empty()) return known;
  if (!known.ok() && known.status().code() != Code::kNotFound) return known.status();
  std::string made = RandomName(32);
  RETURN_IF_ERROR(WriteObject(place, kHolderName, made, Condition::ReplaceAny()).status());
  return made;
}

}  // namespace pipeline
