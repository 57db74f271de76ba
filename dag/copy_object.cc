#include "dag/copy_object.h"

#include <memory>
#include <optional>
#include <utility>

#include "base/str.h"

namespace pipeline {

Status CopyObject(Store& from, Store& to, const StoredObject& object, std::stop_token stop) {
  if (stop.stop_requested()) return Status(Code::kCancelled, "stopped");
  ASSIGN_OR_RETURN(const std::optional<ObjectInfo> there, to.Stat(object.name));
  if (there && there->size == object.bytes) return {};
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteFile> file, from.Open(object.name));
  if (file->size() != object.bytes)
    return Status(Code::kDataLoss,
                  StrCat(object.name, ": ", file->size(), " bytes where ", object.bytes, " were written"));
  ASSIGN_OR_RETURN(const std::unique_ptr<ObjectWriter> writer,
                   to.Create(object.name, Condition::ReplaceAny()));
  RETURN_IF_ERROR(writer->AppendFile(*file, std::move(stop)));
  return writer->Commit().status();
}

}  // namespace pipeline
