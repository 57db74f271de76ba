#include "stages/verify/verified.h"

#include <chrono>
#include <optional>
#include <utility>

#include "base/digest.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/wait.h"

namespace pipeline {

template <class Fields, Of<VerifiedObject> T>
void ListFields(Fields& fields, T& object) {
  fields.Required("version", object.version).Required("bytes", object.bytes);
  fields.RequiredHex32("crc32c", object.crc32c).Loose("ctime", object.ctime_ns);
}

namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;
constexpr std::chrono::seconds kMostAtTheEnd{10};
constexpr std::uint64_t kVersion = 1;  // raised whenever `verify` finds more than before: verified.md

std::string NameOf(const Manifest& manifest) { return DigestOf(EncodeManifest(manifest)).ToHex(); }

Result<VerifiedObjects> Parse(std::string_view text, const Manifest& manifest) {
  ASSIGN_OR_RETURN(const Json json, Json::Parse(text));
  Status status;
  JsonFields all(json, "", status);
  VerifiedObjects verified;
  if (all.Number("pipe_verified") != kVersion || all.Text("manifest") != NameOf(manifest)) return verified;
  all.Required("objects", verified);
  if (!status.ok()) return status;
  return verified;
}

}  // namespace

bool IsVerified(const VerifiedObject& verified, const StoredObject& object, const ObjectInfo& info) {
  return !info.version.empty() && verified.version == info.version && verified.bytes == info.size &&
         verified.bytes == object.bytes && verified.crc32c == object.crc32c &&
         info.crc32c.value_or(object.crc32c) == object.crc32c &&
         (verified.ctime_ns == 0 || verified.ctime_ns == info.ctime_ns);
}

VerifiedObjects ReadVerified(Store& store, const Manifest& manifest, std::stop_token stop) {
  const Result<std::string> text = ReadObject(store, kVerifiedName, kMaxBytes, std::move(stop));
  if (!text.ok()) return {};
  Result<VerifiedObjects> verified = Parse(*text, manifest);
  return verified.ok() ? std::move(verified).value() : VerifiedObjects();
}

Status WriteVerified(Store& store, const Manifest& manifest, const VerifiedObjects& verified,
                     std::stop_token stop) {
  JsonWriter writer;
  writer.Written("pipe_verified", kVersion)
      .Written("manifest", NameOf(manifest))
      .Required("objects", verified);
  // A run that is stopped ends soon, even if the server does not answer.
  std::optional<TimeLimit> limit;
  if (stop.stop_requested()) limit.emplace(kMostAtTheEnd, std::stop_token());
  return WriteObject(store, kVerifiedName, writer.Finish().Dump() + "\n", Condition::ReplaceAny(),
                     limit ? limit->token() : stop)
      .status();
}

}  // namespace pipeline
