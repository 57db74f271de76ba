#include "storage/open_store.h"

#include "base/str.h"
#include "storage/local_store.h"
#include "storage/uri.h"

namespace pipeline {

Result<std::unique_ptr<Store>> OpenStore(std::string_view uri) {
  ASSIGN_OR_RETURN(const Uri place, Uri::Parse(uri));
  switch (place.scheme) {
    case Uri::Scheme::kFile: return std::unique_ptr<Store>(std::make_unique<LocalStore>(place.path));
    case Uri::Scheme::kGs:
      return Status(Code::kUnimplemented, StrCat(uri,
                                                 ": this version cannot read or write buckets; "
                                                 "name a local directory and copy it when it is done"));
    case Uri::Scheme::kHttp:
    case Uri::Scheme::kHttps: break;
  }
  return Status(Code::kInvalidArgument, StrCat(uri, ": cannot be written to; name a directory"));
}

}  // namespace pipeline
