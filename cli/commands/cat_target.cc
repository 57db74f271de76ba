#include "cli/commands/cat_target.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "base/str.h"
#include "cli/workspace/artifact_location.h"
#include "dag/books/manifest.h"
#include "dag/books/quarantine.h"
#include "dag/books/run_log_line.h"
#include "dag/records/partition_output.h"
#include "formats/partition_file.h"
#include "formats/spill_file.h"
#include "stages/all/builtin.h"
#include "stages/verify/example_reader.h"
#include "stages/verify/text_lines.h"
#include "storage/local_file.h"
#include "storage/remote/open_store.h"
#include "storage/uri.h"
#include "text/encoding.h"

namespace pipeline {

namespace {

constexpr std::size_t kFrontBytes = 4096;
constexpr std::string_view kQuarantineFront = R"({"index":)";

std::string_view LastPart(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// Returns the stage that gave a quarantine's directory its name: "clean" for "clean-0123456789abcdef/...".
std::string StageOfDirectory(std::string_view path) {
  path.remove_suffix(LastPart(path).size());
  if (path.empty()) return {};
  path.remove_suffix(1);
  const std::string_view directory = LastPart(path);
  return std::string(directory.substr(0, directory.rfind('-')));
}

/// Returns the kind of an object by its name. Absent: it may be a shard or text.
std::optional<ObjectKind> KindBySuffix(std::string_view name) {
  if (name.ends_with(".part")) return ObjectKind::kPartition;
  if (name.ends_with(".spill")) return ObjectKind::kSpill;
  if (name.ends_with(".jsonl") && ParseOutputName(name)) return ObjectKind::kQuarantine;
  if (name.ends_with(".model")) return ObjectKind::kTokenizer;
  return std::nullopt;
}

bool BeginsWithQuarantine(std::string_view front) {
  if (!front.starts_with(kQuarantineFront)) return false;
  const std::size_t end = front.find('\n');  // npos: the first record is longer
  return end == std::string_view::npos || ParseQuarantineLine(front.substr(0, end));
}

/// Returns the kind of an object by its first bytes. Absent: it may be a shard or text.
std::optional<ObjectKind> KindByFront(std::string_view front) {
  if (front.starts_with(kPartitionKind.magic)) return ObjectKind::kPartition;
  if (front.starts_with(kSpillKind.magic)) return ObjectKind::kSpill;
  if (front.starts_with(kRunLogFront)) return ObjectKind::kRunLog;
  if (BeginsWithQuarantine(front)) return ObjectKind::kQuarantine;
  return std::nullopt;
}

Result<std::string> ReadFront(const ByteFile& file) {
  std::string front(std::min<std::uint64_t>(file.size(), kFrontBytes), '\0');
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file.Open(0, {}));
  if (!front.empty()) RETURN_IF_ERROR(ReadExactly(*reader, front));
  return front;
}

CatObject ObjectOf(std::string path, const std::shared_ptr<Store>& store, std::string name, ObjectKind kind) {
  CatObject object;
  object.kind = kind;
  object.path = std::move(path);
  object.name = name;
  object.open = [store, name = std::move(name)] { return store->Open(name); };
  if (kind == ObjectKind::kText)
    object.reader =
        std::make_shared<TextReader>(store != nullptr ? std::optional(Encoding::kUtf8) : std::nullopt);
  if (kind == ObjectKind::kQuarantine) {
    object.partition = ParseOutputName(LastPart(object.path));
    object.stage = StageOfDirectory(object.path);
  }
  return object;
}

/// A file that several readers share.
class SharedFile final : public ByteFile {
 public:
  explicit SharedFile(std::shared_ptr<const ByteFile> file) : file_(std::move(file)) {}
  std::uint64_t size() const override { return file_->size(); }
  Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token stop) const override {
    return file_->Open(offset, std::move(stop));
  }

 private:
  const std::shared_ptr<const ByteFile> file_;
};

/// Opens a path or a URI on any store.
Result<std::shared_ptr<const ByteFile>> OpenAnywhere(const std::string& what) {
  if (IsRemote(what)) {
    ASSIGN_OR_RETURN(RemoteFile file, OpenRemoteFile(what, {Patience::kPlan}, {}));
    return std::shared_ptr<const ByteFile>(std::move(file.bytes));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<LocalFile> file, LocalFile::Open(what));
  return std::shared_ptr<const ByteFile>(std::move(file));
}

/// Opens names in the directory of `path`, then in the one above. An address with a query has nothing beside
/// it, because no other name can be made of it.
OpenBeside BesideFile(const std::string& path) {
  return [path](std::string_view name) -> Result<std::unique_ptr<ByteFile>> {
    if (IsRemote(path) && ShownUrl(path) != path) return std::unique_ptr<ByteFile>();
    std::string_view directory = path;
    for (int up = 0; up < 2; ++up) {
      const std::size_t slash = directory.rfind('/');
      const std::size_t end = slash == std::string_view::npos ? 0 : slash + 1;
      Result<std::shared_ptr<const ByteFile>> file = OpenAnywhere(StrCat(directory.substr(0, end), name));
      if (file.ok()) return std::unique_ptr<ByteFile>(std::make_unique<SharedFile>(std::move(file).value()));
      if (end == 0) break;
      directory = directory.substr(0, slash);
    }
    return std::unique_ptr<ByteFile>();
  };
}

/// Opens the objects that the manifest names beside the shards.
OpenBeside BesideShards(const std::shared_ptr<Store>& store, const Manifest& manifest) {
  std::set<std::string, std::less<>> names;
  for (const auto* const objects : {&manifest.sidecars, &manifest.followers})
    for (const StoredObject& object : *objects) names.insert(object.name);
  return [store, names = std::move(names)](std::string_view name) -> Result<std::unique_ptr<ByteFile>> {
    if (!names.contains(name)) return std::unique_ptr<ByteFile>();
    return store->Open(name);
  };
}

Result<std::vector<CatObject>> ObjectOfFile(const std::string& path) {
  const std::string shown = IsRemote(path) ? ShownUrl(path) : path;
  ASSIGN_OR_RETURN(const std::shared_ptr<const ByteFile> file, OpenAnywhere(path));
  ASSIGN_OR_RETURN(const std::string front, ReadFront(*file));
  const std::string_view name = LastPart(shown);
  std::optional<ObjectKind> kind = KindByFront(front);
  if (!kind && !IsExampleFile(front, name)) kind = KindBySuffix(name);
  const OpenBeside beside = BesideFile(path);
  std::shared_ptr<const ExportReader> reader;
  if (!kind) reader = MakeFileReader(ExportFormats(), {*file, name, front, beside});
  if (reader != nullptr) kind = ObjectKind::kShard;
  if (!kind) {
    Status text = CheckTextFile(*file, name);
    if (text.code() == Code::kNotFound)
      return Status(Code::kInvalidArgument,
                    StrCat(shown, ": not an object of this program: ", text.message(),
                           "; name an artifact, a shard, a partition, a spill, a quarantine, a tokenizer, a "
                           "run.log or a text"));
    if (!text.ok()) return std::move(text).Annotate(shown);
    kind = ObjectKind::kText;
  }
  std::vector<CatObject> objects;
  CatObject& object = objects.emplace_back(ObjectOf(shown, nullptr, std::string(name), *kind));
  if (reader != nullptr) object.reader = std::move(reader);
  object.open = [file]() -> Result<std::unique_ptr<ByteFile>> {
    return std::unique_ptr<ByteFile>(std::make_unique<SharedFile>(file));
  };
  return objects;
}

std::vector<CatObject> ObjectsOfArtifact(const std::string& location, const std::shared_ptr<Store>& store,
                                         const Manifest& manifest) {
  std::vector<CatObject> objects;
  const auto add = [&](const std::string& name, ObjectKind kind) -> CatObject& {
    return objects.emplace_back(ObjectOf(StrCat(location, "/", name), store, name, kind));
  };
  std::shared_ptr<const ExportReader> reader;
  if (!manifest.shards.empty())
    reader = MakeExportReader(ExportFormats(), manifest.lineage.back().type, BesideShards(store, manifest));
  for (const ManifestShard& shard : manifest.shards) {
    CatObject& object = add(shard.object.name, ObjectKind::kShard);
    object.reader = reader;
    object.split = shard.split;
    object.shard = shard.number;
  }
  for (const PartitionOutput& output : manifest.partitions)
    for (const StoredObject& stored : output.committed.objects)
      if (KindBySuffix(stored.name) == ObjectKind::kPartition)
        add(stored.name, ObjectKind::kPartition).split_names = manifest.schema.splits;
  const std::string model(manifest.facts["model"].AsString());
  for (const StoredObject& stored : manifest.sidecars)
    if (stored.name == model)
      add(stored.name, model.ends_with(".txt") ? ObjectKind::kText : ObjectKind::kTokenizer);
  return objects;
}

/// Returns the objects of a directory without a manifest: partitions, spills or quarantine, by directory and
/// partition. Empty: it has other objects, too.
Result<std::vector<CatObject>> ObjectsOfOutputs(const std::string& location,
                                                const std::shared_ptr<Store>& store) {
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> listed, store->List(""));
  std::vector<std::tuple<std::string, PartitionId, std::string>> outputs;  // directory, id, name
  for (const ObjectInfo& info : listed) {
    const std::string_view last = LastPart(info.name);
    const std::optional<PartitionId> id = ParseOutputName(last);
    const std::optional<ObjectKind> kind = KindBySuffix(last);
    const bool nested = last.size() != info.name.size();
    if (!id || !kind || (nested && kind != ObjectKind::kQuarantine)) return std::vector<CatObject>();
    outputs.emplace_back(info.name.substr(0, info.name.size() - last.size()), *id, info.name);
  }
  std::sort(outputs.begin(), outputs.end());
  std::vector<CatObject> objects;
  for (const auto& [directory, id, name] : outputs)
    objects.push_back(ObjectOf(StrCat(location, "/", name), store, name, *KindBySuffix(LastPart(name))));
  return objects;
}

}  // namespace

Result<std::vector<CatObject>> FindCatObjects(const std::string& what) {
  if (IsRemote(what) && what.back() != '/') {
    Result<std::vector<CatObject>> object = ObjectOfFile(what);
    // Otherwise it may be the directory of an artifact, which a web server shows as a page for people.
    if (object.ok() ||
        (object.status().code() != Code::kNotFound && object.status().code() != Code::kFailedPrecondition))
      return object;
  }
  Result<ArtifactLocation> opened = OpenArtifactLocation(what);
  if (!opened.ok()) {
    const Result<Uri> uri = Uri::Parse(what);
    const bool file = opened.status().code() == Code::kInvalidArgument && uri.ok() && uri->is_local();
    return file ? ObjectOfFile(uri->path) : std::move(opened).status();
  }
  ArtifactLocation location = std::move(opened).value();
  Result<Manifest> manifest = ReadManifestOf(location, {});
  const std::shared_ptr<Store> store = std::move(location.store);
  if (manifest.ok()) return ObjectsOfArtifact(location.name, store, *manifest);
  if (const Code why = manifest.status().code(); why != Code::kNotFound && why != Code::kFailedPrecondition)
    return std::move(manifest).status();
  ASSIGN_OR_RETURN(std::vector<CatObject> outputs, ObjectsOfOutputs(location.name, store));
  if (outputs.empty()) return std::move(manifest).status();
  return outputs;
}

}  // namespace pipeline
