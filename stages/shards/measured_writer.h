// Writes an object and measures it meanwhile: length, CRC-32C and digest.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/result.h"
#include "dag/records/stored_object.h"
#include "storage/store.h"

namespace pipeline {

/// One thread at a time. If it is destroyed uncommitted, the object never existed.
class MeasuredWriter {
 public:
  static Result<std::unique_ptr<MeasuredWriter>> Create(Store& store, std::string name,
                                                        const Condition& condition);
  /// Small byte strings are buffered; large ones are written directly.
  Status Append(std::string_view bytes);
  Result<StoredObject> Commit(std::stop_token stop);

 private:
  MeasuredWriter(std::string name, std::unique_ptr<ObjectWriter> writer);
  Status Pass(std::string_view bytes);

  StoredObject object_;
  Hasher hasher_;
  std::unique_ptr<ObjectWriter> writer_;
  std::string buffer_;
};

}  // namespace pipeline
