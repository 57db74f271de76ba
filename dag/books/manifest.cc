#include "dag/books/manifest.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/json_fields.h"
#include "base/str.h"
#include "dag/books/unit_id.h"

namespace pipeline {

template <class Fields, Of<ArtifactTotals::Split> T>
void ListFields(Fields& fields, T& split) {
  fields.Required("records", split.records).Required("documents", split.documents);
  fields.Required("bytes", split.bytes);
}

template <class Fields, Of<StageCounts> T>
void ListFields(Fields& fields, T& counts) {
  fields.Required("records_in", counts.records_in).Required("records_out", counts.records_out);
  fields.Required("bytes_in", counts.bytes_in).Required("bytes_out", counts.bytes_out);
  fields.Required("reasons", counts.reasons);
}

template <class Fields, Of<StoredObject> T>
void ListFields(Fields& fields, T& object) {
  fields.Required("object", object.name).Required("bytes", object.bytes);
  fields.RequiredHex32("crc32c", object.crc32c).Required("digest", object.digest);
}

template <class Fields, Of<ManifestShard> T>
void ListFields(Fields& fields, T& shard) {
  fields.Required("split", shard.split).Required("number", shard.number).Required("count", shard.count);
  ListFields(fields.Required("records", shard.records), shard.object);
}

template <class Fields, Of<PartitionOutput> T>
void ListFields(Fields& fields, T& output) {
  std::string partition = PartitionName(output.id);
  fields.Required("partition", partition);
  if constexpr (!std::is_const_v<T>) {
    const std::optional<PartitionId> id = ParsePartitionName(partition);
    if (!id) fields.Fail("partition", "not of the form IIII-PPPPP");
    output.id = id.value_or(PartitionId{});
  }
  fields.Required("digest", output.committed.digest).Required("splits", output.splits);
  fields.Required("objects", output.committed.objects);
}

template <class Fields, Of<Schema> T>
void ListFields(Fields& fields, T& schema) {
  constexpr std::array<std::pair<std::string_view, ColumnType>, 3> kTypes = {
      {{"utf8", ColumnType::kUtf8}, {"u32[]", ColumnType::kU32List}, {"u8", ColumnType::kU8}}};
  std::map<std::string, std::string, std::less<>> columns;
  for (const auto& [column, type] : schema.columns)
    columns[column] =
        std::ranges::find(kTypes, type, &std::pair<std::string_view, ColumnType>::second)->first;
  fields.Required("columns", columns).Required("splits", schema.splits);
  fields.Optional("fields", schema.field_names);
  if constexpr (!std::is_const_v<T>)
    for (const auto& [column, name] : columns) {
      const auto type = std::ranges::find(kTypes, name, &std::pair<std::string_view, ColumnType>::first);
      if (type == kTypes.end())
        fields.Fail(StrCat("columns.", column), StrCat("no such type as ", name));
      else
        schema.columns[column] = type->second;
    }
}

template <class Fields, Of<Manifest> T>
void ListFields(Fields& fields, T& manifest) {
  fields.Required("schema", manifest.schema);
  fields.Required("splits", manifest.splits);
  fields.Required("counts", manifest.counts);
  fields.Required("sidecars", manifest.sidecars);
  fields.Required("followers", manifest.followers);
  fields.Required("shards", manifest.shards);
  fields.Required("partitions", manifest.partitions);
  fields.Optional("facts", manifest.facts);
  fields.Optional("continues", manifest.continues);
}

namespace {

constexpr std::string_view kVersionKey = "pipe_manifest";
constexpr std::string_view kSealKey = "seal";
/// All members of the manifests that earlier versions wrote without a seal.
constexpr std::array<std::string_view, 14> kUnsealedKeys = {
    kVersionKey, "stage",    "recipe",    "content", "lineage",    "schema", "splits",
    "counts",    "sidecars", "followers", "shards",  "partitions", "facts",  "continues"};
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;  // some 5 million entries

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

  // The parts of a list of fields.
  void Required(std::string_view key, const Schema& schema) { Member(key, JsonWriter::ValueOf(schema)); }
  template <class T>
  void Required(std::string_view key, const std::vector<T>& entries) {
    List(key, "[]", entries,
         [](const T& entry) { return std::pair(std::string(), JsonWriter::ValueOf(entry).Dump()); });
  }
  template <class T>
  void Required(std::string_view key, const std::map<std::string, T, std::less<>>& entries) {
    List(key, "{}", entries, [](const auto& entry) {
      std::string name;
      AppendJsonString(name, entry.first);
      return std::pair(std::move(name), JsonWriter::ValueOf(entry.second).Dump());
    });
  }
  void Optional(std::string_view key, const Json& value) {
    if (!value.is_null()) Member(key, value);
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
  ListFields(fields, manifest);
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
  ListFields(writer, manifest);
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
