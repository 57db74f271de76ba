#include "storage/remote/scheme/remote_opener.h"

#include <utility>

#include "base/str.h"
#include "storage/store.h"

namespace pipeline {

namespace {

Status CannotList(std::string_view where) {
  return Status(Code::kInvalidArgument, StrCat(where, ": what is there cannot be listed"));
}

}  // namespace

Result<RemoteFile> RemoteOpener::OpenFile(const Uri& location, const RemoteAsk&, std::stop_token stop) {
  ASSIGN_OR_RETURN(const std::optional<RemoteObject> object, FindObject(location, std::move(stop)));
  if (object) return object->open();
  return Status(Code::kNotFound, StrCat(location.ToString(), ": there is no such object"));
}

Result<EncodedTransfer> RemoteOpener::OpenEncoded(const std::string& url, const RemoteAsk&, const HttpFacts*,
                                                  std::stop_token) {
  return Status(Code::kInvalidArgument, StrCat(ShownUrl(url), ": is never sent encoded"));
}

Status RemoteOpener::CheckName(std::string_view name) const { return CheckObjectName(name); }

Result<std::optional<RemoteObject>> RemoteOpener::FindObject(const Uri& location, std::stop_token) {
  return CannotList(ShownUrl(location.ToString()));
}

Status RemoteOpener::ListPages(const std::string& bucket, std::string_view, bool,
                               const std::function<Status(RemotePage)>&, std::stop_token) {
  return CannotList(bucket);
}

}  // namespace pipeline
