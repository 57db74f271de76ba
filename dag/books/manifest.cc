#include "dag/books/manifest.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/json_fields.h"
#include "base/str.h"
#include "dag/books/unit_id.h"

namespace pipeline {

namespace {

constexpr std::string_view kVersionKey = "pipe_manifest";
constexpr std::string_view kSealKey = "seal";
/// All members of the manifests that earlier versions wrote without a seal.
constexpr std::array<std::string_view, 14> kUnsealedKeys = {
    kVersionKey, "stage",    "recipe",    "content", "lineage",    "schema", "splits",
    "counts",    "sidecars", "followers", "shards",  "partitions", "facts",  "continues"};
constexpr std::uint32_t kManifestVersion = 1;
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;  // some 5 million entries
constexpr std::array<std::pair<std::string_view, ColumnType>, 3> kColumnTypes = {
    {{"utf8", ColumnType::kUtf8}, {"u32[]", ColumnType::kU32List}, {"u8", ColumnType::kU8}}};

// ------------------------------------------------------------------------------------------ seal

/// The members of a manifest without the seal, and the digest of the canonical JSON of each.
using MemberDigests = std::map<std::string, Digest, std::less<>>;

/// Returns the digest of `value.Dump()`, and never has the text of a long list as a whole.
Digest DigestOfJson(const Json& value) {
  if (!value.is_array()) return DigestOf(value.Dump());
  Hasher hasher;
  hasher.Update("[");
  bool first = true;
  for (const Json& element : value.AsArray()) {
    if (!std::exchange(first, false)) hasher.Update(",");
    hasher.Update(element.Dump());
  }
  return hasher.Update("]").Finish();
}

Digest Seal(const MemberDigests& members) {
  Hasher hasher;
  hasher.UpdateField("pipe seal v1");
  for (const auto& [name, digest] : members)
    hasher.UpdateField(name).UpdateU64(digest.high).UpdateU64(digest.low);
  return hasher.Finish();
}

// ------------------------------------------------------------------------------------- encoding

Json ToJson(const Schema& schema) {
  Json json;
  json["columns"] = Json::Object{};
  for (const auto& [column, type] : schema.columns)
    for (const auto& [name, its_type] : kColumnTypes)
      if (its_type == type) json["columns"][column] = name;
  json["splits"] = Json::Array(schema.splits.begin(), schema.splits.end());
  if (!schema.field_names.empty())
    json["fields"] = Json::Array(schema.field_names.begin(), schema.field_names.end());
  return json;
}

Json ToJson(const ArtifactTotals::Split& split) {
  Json json;
  json["records"] = split.records;
  json["documents"] = split.documents;
  json["bytes"] = split.bytes;
  return json;
}

Json ToJson(const StageCounts& counts) {
  Json json;
  json["records_in"] = counts.records_in;
  json["records_out"] = counts.records_out;
  json["bytes_in"] = counts.bytes_in;
  json["bytes_out"] = counts.bytes_out;
  json["reasons"] = Json::Object{};
  for (const auto& [reason, count] : counts.reasons) json["reasons"][reason] = count;
  return json;
}

Json ToJson(const StoredObject& object) {
  Json json;
  json["object"] = object.name;
  json["bytes"] = object.bytes;
  json["crc32c"] = Hex32(object.crc32c);
  json["digest"] = object.digest.ToHex();
  return json;
}

Json ToJson(const ManifestShard& shard) {
  Json json = ToJson(shard.object);
  json["split"] = shard.split;
  json["number"] = shard.number;
  json["count"] = shard.count;
  json["records"] = shard.records;
  return json;
}

Json ToJson(const PartitionOutput& output) {
  Json json;
  json["partition"] = PartitionName(output.id);
  json["digest"] = output.committed.digest.ToHex();
  json["splits"] = Json::Object{};
  for (const auto& [name, split] : output.splits) json["splits"][name] = ToJson(split);
  Json::Array objects;
  for (const StoredObject& object : output.committed.objects) objects.push_back(ToJson(object));
  json["objects"] = std::move(objects);
  return json;
}

/// Writes the top level by hand: a member or an entry per line, so that a long manifest stays
/// compact and two of them can be compared line by line.
class ManifestWriter {
 public:
  void Member(std::string_view key, const Json& value) {
    Key(key);
    out_ += value.Dump();
    values_.emplace(key, DigestOfJson(value));
  }
  /// `dump` gives the name of an entry, empty in an array, and its value.
  template <class Entries, class Dump>
  void List(std::string_view key, std::string_view brackets, const Entries& entries, const Dump& dump) {
    Key(key);
    Hasher hasher;
    out_.push_back(brackets[0]);
    hasher.Update(brackets.substr(0, 1));
    const char* separator = "\n    ";
    for (const auto& entry : entries) {
      const auto [name, value] = dump(entry);
      if (*separator == ',') hasher.Update(",");
      out_ += separator;
      if (!name.empty()) {
        out_ += StrCat(name, ": ");
        hasher.Update(name).Update(":");
      }
      out_ += value;
      hasher.Update(value);
      separator = ",\n    ";
    }
    if (entries.begin() != entries.end()) out_ += "\n  ";
    out_.push_back(brackets[1]);
    values_.emplace(key, hasher.Update(brackets.substr(1, 1)).Finish());
  }
  template <class Entries>
  void Array(std::string_view key, const Entries& entries) {
    List(key, "[]", entries,
         [](const auto& entry) { return std::pair(std::string(), ToJson(entry).Dump()); });
  }
  template <class Map>
  void Object(std::string_view key, const Map& map) {
    List(key, "{}", map, [](const auto& entry) {
      std::string name;
      AppendJsonString(name, entry.first);
      return std::pair(std::move(name), ToJson(entry.second).Dump());
    });
  }
  std::string Finish(bool sealed) {
    if (sealed) {
      const std::string seal = Seal(values_).ToHex();
      Member(kSealKey, seal);
    }
    return std::move(out_) + "\n}\n";
  }

 private:
  void Key(std::string_view key) { out_ += StrCat(out_.empty() ? "{\n" : ",\n", "  \"", key, "\": "); }
  std::string out_;
  MemberDigests values_;
};

// -------------------------------------------------------------------------------------- reading

Schema SchemaFromJson(const Json& json, Status& status) {
  Schema schema;
  JsonFields fields(json, "schema.", status);
  const Json& columns = fields.Object("columns");
  JsonFields types(columns, "schema.columns.", status);
  for (const auto& [column, value] : columns.AsObject()) {
    const std::string type = types.Text(column);
    bool known = false;
    for (const auto& [name, its_type] : kColumnTypes)
      if (name == type) schema.columns[column] = its_type, known = true;
    if (!known && status.ok())
      status = Status(Code::kDataLoss, StrCat("schema.columns.", column, ": no such type as ", type));
  }
  for (const Json& split : fields.Array("splits")) {
    if (!split.is_string() && status.ok())
      status = Status(Code::kDataLoss, "schema.splits: not all are strings");
    schema.splits.emplace_back(split.AsString());
  }
  if (!json.Has("fields")) return schema;
  for (const Json& name : fields.Array("fields")) {
    if (!name.is_string() && status.ok())
      status = Status(Code::kDataLoss, "schema.fields: not all are strings");
    schema.field_names.emplace_back(name.AsString());
  }
  return schema;
}

std::map<std::string, ArtifactTotals::Split, std::less<>> SplitsFromJson(const Json& json,
                                                                         std::string_view where,
                                                                         Status& status) {
  std::map<std::string, ArtifactTotals::Split, std::less<>> splits;
  for (const auto& [name, value] : json.AsObject()) {
    const std::string inner = StrCat(where, "splits.", name, '.');
    JsonFields fields(value, inner, status);
    splits[name] = {fields.Number("records"), fields.Number("documents"), fields.Number("bytes")};
  }
  return splits;
}

StageCounts CountsFromJson(const Json& json, std::string_view where, Status& status) {
  JsonFields fields(json, where, status);
  StageCounts counts;
  counts.records_in = fields.Number("records_in");
  counts.records_out = fields.Number("records_out");
  counts.bytes_in = fields.Number("bytes_in");
  counts.bytes_out = fields.Number("bytes_out");
  const Json& reasons = fields.Object("reasons");
  const std::string inner = StrCat(where, "reasons.");
  JsonFields numbers(reasons, inner, status);
  for (const auto& [reason, value] : reasons.AsObject()) counts.reasons[reason] = numbers.Number(reason);
  return counts;
}

StoredObject ObjectFromJson(JsonFields& fields) {
  StoredObject object;
  object.name = fields.Text("object");
  object.bytes = fields.Number("bytes");
  object.crc32c = fields.Hex32("crc32c");
  object.digest = fields.Hex("digest");
  return object;
}

std::vector<StoredObject> ObjectsFromJson(const Json::Array& array, std::string_view where, Status& status) {
  std::vector<StoredObject> objects;
  objects.reserve(array.size());
  for (const Json& element : array) {
    const std::string inner = StrCat(where, '[', objects.size(), "].");
    JsonFields fields(element, inner, status);
    objects.push_back(ObjectFromJson(fields));
  }
  return objects;
}

std::vector<ManifestShard> ShardsFromJson(const Json::Array& array, Status& status) {
  std::vector<ManifestShard> shards;
  shards.reserve(array.size());
  for (const Json& element : array) {
    const std::string where = StrCat("shards[", shards.size(), "].");
    JsonFields fields(element, where, status);
    ManifestShard shard;
    shard.split = fields.Text("split");
    shard.number = fields.Number32("number");
    shard.count = fields.Number32("count");
    shard.records = fields.Number("records");
    shard.object = ObjectFromJson(fields);
    shards.push_back(std::move(shard));
  }
  return shards;
}

std::vector<PartitionOutput> PartitionsFromJson(const Json::Array& array, Status& status) {
  std::vector<PartitionOutput> outputs;
  outputs.reserve(array.size());
  for (const Json& element : array) {
    const std::string where = StrCat("partitions[", outputs.size(), "].");
    JsonFields fields(element, where, status);
    PartitionOutput output;
    const std::optional<PartitionId> id = ParsePartitionName(fields.Text("partition"));
    if (!id && status.ok())
      status = Status(Code::kDataLoss, StrCat(where, "partition: not of the form IIII-PPPPP"));
    output.id = id.value_or(PartitionId{});
    output.committed.digest = fields.Hex("digest");
    output.splits = SplitsFromJson(fields.Object("splits"), where, status);
    output.committed.objects = ObjectsFromJson(fields.Array("objects"), StrCat(where, "objects"), status);
    outputs.push_back(std::move(output));
  }
  return outputs;
}

Result<Manifest> ManifestFromJson(const Json& json) {
  Status status;
  JsonFields fields(json, "", status);
  const std::uint64_t version = fields.Number(kVersionKey);
  if (!status.ok()) return Status(status.code(), StrCat(status.message(), "; this is no manifest"));
  if (version > kManifestVersion)
    return Status(Code::kFailedPrecondition,
                  StrCat("written by a newer program: version ", version, " where this one reads ",
                         kManifestVersion, "; use the newer program"));
  if (version < kManifestVersion)
    return Status(Code::kDataLoss, StrCat(kVersionKey, ": no version ", version, " ever was"));

  Manifest manifest;
  const Json lineage = fields.Array("lineage");
  if (!status.ok()) return status;
  ASSIGN_OR_RETURN(manifest.lineage, LineageFromJson(lineage));
  manifest.schema = SchemaFromJson(fields.Object("schema"), status);
  manifest.splits = SplitsFromJson(fields.Object("splits"), "", status);
  for (const auto& [stage, counts] : fields.Object("counts").AsObject())
    manifest.counts[stage] = CountsFromJson(counts, StrCat("counts.", stage, '.'), status);
  manifest.sidecars = ObjectsFromJson(fields.Array("sidecars"), "sidecars", status);
  manifest.followers = ObjectsFromJson(fields.Array("followers"), "followers", status);
  manifest.shards = ShardsFromJson(fields.Array("shards"), status);
  manifest.partitions = PartitionsFromJson(fields.Array("partitions"), status);
  if (json.Has("facts")) manifest.facts = fields.Object("facts");
  if (json.Has("continues")) manifest.continues = fields.Object("continues");
  const std::string stage = fields.Text("stage");
  const Digest recipe = fields.Hex("recipe");
  const Digest content = fields.Hex("content");
  manifest.sealed = json.Has(kSealKey);
  if (manifest.sealed) {
    MemberDigests members;
    for (const auto& [name, value] : json.AsObject())
      if (name != kSealKey) members.emplace(name, DigestOfJson(value));
    if (fields.Hex(kSealKey) != Seal(members) && status.ok())
      status =
          Status(Code::kDataLoss, "seal: not made of the other members: the manifest was edited or damaged");
  } else {
    // A damaged name of the seal must not make the manifest one that has none.
    for (const auto& [name, value] : json.AsObject())
      if (status.ok() && std::find(kUnsealedKeys.begin(), kUnsealedKeys.end(), name) == kUnsealedKeys.end())
        status = Status(Code::kDataLoss, StrCat(name, ": unknown in a manifest without `", kSealKey,
                                                "`: the manifest was edited or damaged"));
  }
  if (!status.ok()) return status;
  if (manifest.lineage.empty()) return Status(Code::kDataLoss, "lineage: empty");
  if (stage != manifest.stage()) return Status(Code::kDataLoss, "stage: not the last of the lineage");
  if (recipe != manifest.recipe())
    return Status(Code::kDataLoss, "recipe: not that of the last stage of the lineage");
  if (content != manifest.ContentRoot())
    return Status(Code::kDataLoss, "content: not made of these entries: the manifest was edited or damaged");
  return manifest;
}

}  // namespace

Digest ContentOf(const std::vector<PartitionOutput>& outputs) {
  Manifest manifest;
  manifest.partitions = outputs;
  return manifest.ContentRoot();
}

Digest Manifest::ContentRoot() const {
  Hasher hasher;
  hasher.UpdateField("pipe content v1");
  const auto add = [&](std::string_view name, const Digest& digest) {
    hasher.UpdateField(name).UpdateU64(digest.high).UpdateU64(digest.low);
  };
  hasher.UpdateU64(shards.size());
  for (const ManifestShard& shard : shards) {
    hasher.UpdateU64(shard.number).UpdateU64(shard.count);
    add(shard.split, shard.object.digest);
  }
  hasher.UpdateU64(partitions.size());
  for (const PartitionOutput& output : partitions) add(PartitionName(output.id), output.committed.digest);
  hasher.UpdateU64(sidecars.size());
  for (const StoredObject& sidecar : sidecars) add(sidecar.name, sidecar.digest);
  hasher.UpdateU64(followers.size());
  for (const StoredObject& follower : followers) add(follower.name, follower.digest);
  return hasher.Finish();
}

std::string EncodeManifest(const Manifest& manifest) {
  ManifestWriter writer;
  writer.Member(kVersionKey, kManifestVersion);
  writer.Member("stage", manifest.stage());
  writer.Member("recipe", manifest.recipe().ToHex());
  writer.Member("content", manifest.ContentRoot().ToHex());
  writer.List("lineage", "[]", ToJson(manifest.lineage).AsArray(),
              [](const Json& stage) { return std::pair(std::string(), stage.Dump()); });
  writer.Member("schema", ToJson(manifest.schema));
  writer.Object("splits", manifest.splits);
  writer.Object("counts", manifest.counts);
  writer.Array("sidecars", manifest.sidecars);
  writer.Array("followers", manifest.followers);
  writer.Array("shards", manifest.shards);
  writer.Array("partitions", manifest.partitions);
  if (!manifest.facts.is_null()) writer.Member("facts", manifest.facts);
  if (!manifest.continues.is_null()) writer.Member("continues", manifest.continues);
  return writer.Finish(manifest.sealed);
}

Result<Manifest> ParseManifest(std::string_view text, std::string_view file) {
  constexpr std::string_view kRemedy =
      "; put back the file as it was, or let `pipe run FILE --force STAGE` make the artifact again";
  Result<Json> json = Json::Parse(text);
  if (!json.ok())
    return Status(
        Code::kDataLoss,
        StrCat(file, ": damaged: ", text.empty() ? "it is empty" : json.status().message(), kRemedy));
  Result<Manifest> manifest = ManifestFromJson(*json);
  if (manifest.ok()) return manifest;
  const Status& why = manifest.status();
  return Status(why.code(), StrCat(file, ": ", why.message(), why.code() == Code::kDataLoss ? kRemedy : ""));
}

Result<Manifest> ReadManifest(Store& store, std::string_view location, std::stop_token stop) {
  const Result<std::string> text = ReadObject(store, kManifestName, kMaxBytes, std::move(stop));
  if (!text.ok()) return Status(text.status()).Annotate(location);
  return ParseManifest(*text, StrCat(location, '/', kManifestName));
}

}  // namespace pipeline
