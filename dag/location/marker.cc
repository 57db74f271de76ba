#include "dag/location/marker.h"

#include "base/json_fields.h"

namespace pipeline {

template <class Fields, Of<PublicationMarker> T>
void ListFields(Fields& fields, T& marker) {
  fields.Written("stage", marker.stage).Written("recipe", marker.recipe).Written("holder", marker.holder);
  fields.Loose("others", marker.others);
}

namespace {

constexpr std::uint64_t kMaxMarkerBytes = 64 << 10;

std::string Encode(const PublicationMarker& marker) { return JsonWriter::ValueOf(marker).DumpPretty(); }

}  // namespace

Result<std::optional<PublicationMarker>> ReadMarker(Store& out) {
  const Result<std::string> text = ReadObject(out, kMarkerName, kMaxMarkerBytes);
  if (text.status().code() == Code::kNotFound) return std::nullopt;
  RETURN_IF_ERROR(text.status());
  const Result<Json> json = Json::Parse(*text);
  if (!json.ok() || !json->is_object()) return std::optional(PublicationMarker{{}, {}, {}, true});
  return std::optional(JsonFields::ReadLoosely<PublicationMarker>(*json));
}

Status WriteMarker(const Publishing& by, Store& out) {
  ASSIGN_OR_RETURN(const std::optional<PublicationMarker> before, ReadMarker(out));
  PublicationMarker marker{by.stage, by.recipe.ToHex(), by.holder, false};
  marker.others =
      before && (before->others || before->recipe != marker.recipe || before->holder != marker.holder);
  const std::string text = Encode(marker);
  if (before && Encode(*before) == text) return {};
  ASSIGN_OR_RETURN(const std::optional<ObjectInfo> there, out.Stat(kMarkerName));
  const Condition condition = there ? Condition::ReplaceUnlessSame(there->version) : Condition::CreateOnly();
  return WriteObject(out, kMarkerName, text, condition).status();
}

}  // namespace pipeline
