#include "dag/location/holder.h"

#include "base/random_name.h"

namespace pipeline {

Result<std::string> HolderOf(Store& place) {
  const Result<std::string> known = ReadObject(place, kHolderName, kMaxHolderBytes);
  if (known.ok() && !known->empty()) return known;
  if (!known.ok() && known.status().code() != Code::kNotFound) return known.status();
  std::string made = RandomName(32);
  const Condition condition =
      known.ok() ? Condition::ReplaceAny() : Condition::CreateOnly();  // an empty one is no name
  const Status written = WriteObject(place, kHolderName, made, condition).status();
  if (written.code() == Code::kAlreadyExists) return ReadObject(place, kHolderName, kMaxHolderBytes);
  RETURN_IF_ERROR(written);
  return made;
}

}  // namespace pipeline
