#include "dag/place/claim.h"

#include <utility>

#include "base/json.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxClaimBytes = 64 << 10;

std::string Encode(const Claim& claim) {
  Json json;
  json["stage"] = claim.stage;
  json["recipe"] = claim.recipe;
  json["holder"] = claim.holder;
  if (claim.others) json["others"] = true;
  return json.DumpPretty();
}

}  // namespace

Result<std::optional<Claim>> ReadClaim(Store& out) {
  const Result<std::string> text = ReadObject(out, kClaimName, kMaxClaimBytes);
  if (text.status().code() == Code::kNotFound) return std::optional<Claim>();
  RETURN_IF_ERROR(text.status());
  const Result<Json> json = Json::Parse(*text);
  if (!json.ok() || !json->is_object()) return std::optional(Claim{{}, {}, {}, true});
  const auto text_of = [&json](std::string_view member) { return std::string((*json)[member].AsString()); };
  return std::optional(
      Claim{text_of("stage"), text_of("recipe"), text_of("holder"), (*json)["others"].AsBool(false)});
}

Status LayClaim(const Publishing& by, Store& out) {
  ASSIGN_OR_RETURN(const std::optional<Claim> before, ReadClaim(out));
  Claim claim{by.stage, by.recipe.ToHex(), by.holder, false};
  claim.others =
      before && (before->others || before->recipe != claim.recipe || before->holder != claim.holder);
  const std::string text = Encode(claim);
  if (before && Encode(*before) == text) return {};
  ASSIGN_OR_RETURN(const std::optional<ObjectInfo> there, out.Stat(kClaimName));
  const Condition condition = there ? Condition::ReplaceUnlessSame(there->version) : Condition::CreateOnly();
  return WriteObject(out, kClaimName, text, condition).status();
}

}  // namespace pipeline
