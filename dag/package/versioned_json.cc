#include "dag/package/versioned_json.h"

#include "base/str.h"

namespace pipeline {

Result<Json> ParseVersioned(std::string_view text, std::string_view member, std::uint32_t newest) {
  Result<Json> json = Json::Parse(text);
  if (!json.ok()) return Status(Code::kDataLoss, std::string(json.status().message()));
  Status status;
  JsonFields fields(*json, "", status);
  const std::uint64_t version = fields.Number(member);
  RETURN_IF_ERROR(status);
  if (version > 0 && version <= newest) return json;
  return Status(version > newest ? Code::kFailedPrecondition : Code::kDataLoss,
                StrCat("it has version ", version, ", and this program reads ", newest));
}

bool IsDamaged(const Status& why) {
  return why.code() == Code::kDataLoss || why.code() == Code::kResourceExhausted;
}

}  // namespace pipeline
