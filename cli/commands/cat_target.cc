#include "cli/commands/cat_target.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <tuple>
#include <utility>

#include "base/crc32c.h"
#include "base/str.h"
#include "cli/workspace/artifact_location.h"
#include "dag/books/manifest.h"
#include "dag/books/quarantine.h"
#include "dag/records/partition_output.h"
#include "formats/array_record.h"
#include "formats/coding.h"
#include "formats/compression.h"
#include "formats/tfrecord.h"
#include "stages/export/packed/packed.h"
#include "stages/export/tfdata/tfdata_info.h"
#include "storage/local_file.h"
#include "storage/remote/open_store.h"
#include "storage/uri.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr std::size_t kFrontBytes = 4096;
constexpr std::string_view kPartitionMagic = "PIPEPART";
constexpr std::string_view kSpillMagic = "PIPESPIL";
constexpr std::string_view kRunLogFront = "# pipe run log v";
constexpr std::string_view kQuarantineFront = R"({"index":)";
constexpr std::string_view kShardMark = ".tfrecord-";
constexpr std::array<std::string_view, 3> kPackedSuffixes = {".tfrecord", ".array_record", ".bin"};
constexpr std::string_view kRawSuffix = ".bin";  // of any program: only beside a packed.json
constexpr std::string_view kSnapshotSuffix = ".snapshot";
constexpr std::uint64_t kMaxInfoBytes = std::uint64_t{1} << 30;

std::string_view LastPart(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// The stage that a quarantine's directory is named after: "clean" of "clean-0123456789abcdef/...".
std::string StageOfDirectory(std::string_view path) {
  path.remove_suffix(LastPart(path).size());
  if (path.empty()) return {};
  path.remove_suffix(1);
  const std::string_view directory = LastPart(path);
  return std::string(directory.substr(0, directory.rfind('-')));
}

bool NamedAsRows(std::string_view name) {
  return std::any_of(kPackedSuffixes.begin(), kPackedSuffixes.end(),
                     [name](std::string_view suffix) { return name.ends_with(suffix); });
}

/// Split and number out of DATASET-SPLIT.tfrecord-NNNNN-of-NNNNN or SPLIT-NNNNN-of-NNNNN.tfrecord, where it
/// is such a name.
void TakeShardName(std::string_view name, CatObject& object) {
  const auto take = [&object](std::string_view split, std::string_view number) {
    std::uint32_t shard = 0;
    if (std::from_chars(number.data(), number.data() + number.size(), shard).ec != std::errc()) return;
    object.split = std::string(split);
    object.shard = shard;
  };
  if (const std::size_t mark = name.find(kShardMark); mark != std::string_view::npos) {
    const std::string_view front = name.substr(0, mark);
    return take(front.substr(front.rfind('-') + 1), name.substr(mark + kShardMark.size()));
  }
  const std::size_t of = name.rfind("-of-");
  const std::size_t dash = of == std::string_view::npos ? of : name.substr(0, of).rfind('-');
  if (NamedAsRows(name) && dash != std::string_view::npos)
    take(name.substr(0, dash), name.substr(dash + 1, of - dash - 1));
}

std::optional<ObjectKind> KindBySuffix(std::string_view name) {
  if (name.find(kShardMark) != std::string_view::npos || (NamedAsRows(name) && !name.ends_with(kRawSuffix)))
    return ObjectKind::kShard;
  if (name.ends_with(kSnapshotSuffix)) return ObjectKind::kTokenIds;
  if (name.ends_with(".part")) return ObjectKind::kPartition;
  if (name.ends_with(".spill")) return ObjectKind::kSpill;
  if (name.ends_with(".jsonl") && ParseOutputName(name)) return ObjectKind::kQuarantine;
  if (name.ends_with(".model")) return ObjectKind::kTokenizer;
  return std::nullopt;
}

bool BeginsWithFrame(std::string_view front) {
  Decoder header(front);
  const std::uint64_t length = header.U64();
  const std::uint32_t crc = header.U32();
  return header.ok() && length <= std::uint64_t{1} << 40 && crc == MaskCrc32c(Crc32c(front.substr(0, 8)));
}

bool BeginsWithQuarantine(std::string_view front) {
  if (!front.starts_with(kQuarantineFront)) return false;
  const std::size_t end = front.find('\n');  // absent where the first record is long
  return end == std::string_view::npos || ParseQuarantineLine(front.substr(0, end));
}

std::string LooksLike(std::string_view front, std::string_view name) {
  if (front.empty()) return "it is empty";
  const Result<Compression> compression = DetectCompression(front.substr(0, kMagicBytes), name);
  if (!compression.ok()) return std::string(compression.status().message());
  if (*compression != Compression::kPlain) return StrCat("it looks like ", CompressionName(*compression));
  // The last character may be cut by the end of what was read.
  if (CleanUtf8Prefix(front) + 4 > front.size()) return "it looks like plain text";
  return "its first bytes are those of no format that is known here";
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
  object.open = [store, name = std::move(name)] { return store->Open(name); };
  if (kind == ObjectKind::kShard) TakeShardName(LastPart(object.path), object);
  if (kind == ObjectKind::kQuarantine) {
    object.partition = ParseOutputName(LastPart(object.path));
    object.stage = StageOfDirectory(object.path);
  }
  return object;
}

/// Whether it is text once it is decoded. A character may be cut by the end of what is looked at.
bool IsText(const ByteFile& file, std::string_view front, std::string_view name) {
  const Result<Compression> compression = DetectCompression(front.substr(0, kMagicBytes), name);
  Result<std::unique_ptr<ByteReader>> reader = file.Open(0, {});
  if (!compression.ok() || !reader.ok() || front.empty()) return false;
  Result<std::unique_ptr<ByteReader>> decoder = NewDecoder(*compression, std::move(reader).value());
  const Result<std::string> text =
      decoder.ok() ? ReadFront(**decoder, kFrontBytes) : Result<std::string>(decoder.status());
  return text.ok() && text->find('\0') == std::string::npos && CleanUtf8Prefix(*text) + 4 > text->size();
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

/// By a path or URI, on whatever store.
Result<std::shared_ptr<const ByteFile>> OpenAnywhere(const std::string& what) {
  if (IsRemote(what)) {
    ASSIGN_OR_RETURN(RemoteFile file, OpenRemoteFile(what, {Patience::kPlan}, {}));
    return std::shared_ptr<const ByteFile>(std::move(file.bytes));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<LocalFile> file, LocalFile::Open(what));
  return std::shared_ptr<const ByteFile>(std::move(file));
}

std::shared_ptr<const PackedInfo> InfoOf(Store& store) {
  const Result<std::string> text = ReadObject(store, kPackedInfoFile, kMaxInfoBytes);
  if (!text.ok()) return nullptr;
  Result<PackedInfo> info = ParsePackedInfo(*text);
  return info.ok() ? std::make_shared<const PackedInfo>(std::move(info).value()) : nullptr;
}

/// The id behind each document or line of a data set of write_tfdata; absent where there is none.
std::optional<std::uint32_t> EndOf(Store& store) {
  const Result<std::string> text = ReadObject(store, kTfdataInfoFile, kMaxInfoBytes);
  const Result<TfdataInfo> info = text.ok() ? ParseTfdataInfo(*text) : Result<TfdataInfo>(text.status());
  if (!info.ok() || info->eos == "none" || info->tokenizer.eos_id < 0) return std::nullopt;
  return static_cast<std::uint32_t>(info->tokenizer.eos_id);
}

/// packed.json in the directory of the shard at `path`, or in the one above: null where there is none.
std::shared_ptr<const PackedInfo> InfoBeside(std::string_view path) {
  for (int up = 0; up < 2; ++up) {
    const std::size_t slash = path.rfind('/');
    const std::string directory(slash == std::string_view::npos ? "" : path.substr(0, slash));
    Result<std::shared_ptr<const ByteFile>> file =
        OpenAnywhere(StrCat(directory, slash == std::string_view::npos ? "" : "/", kPackedInfoFile));
    if (file.ok() && (*file)->size() <= kMaxInfoBytes) {
      std::string text((*file)->size(), '\0');
      const Result<std::unique_ptr<ByteReader>> reader = (*file)->Open(0, {});
      if (!reader.ok() || !ReadExactly(**reader, text).ok()) return nullptr;
      Result<PackedInfo> info = ParsePackedInfo(text);
      return info.ok() ? std::make_shared<const PackedInfo>(std::move(info).value()) : nullptr;
    }
    if (slash == std::string_view::npos) return nullptr;
    path = path.substr(0, slash);
  }
  return nullptr;
}

/// The index beside `object` with what rows count; empty where there is none.
std::string CountsOf(std::string_view object, const std::shared_ptr<const PackedInfo>& info) {
  const PackedEncoding encoding = info ? info->encoding : PackedEncoding::kExample;
  return encoding == PackedEncoding::kMmap ? std::string() : PackedIndexOf(object, encoding);
}

Result<std::vector<CatObject>> ObjectOfFile(const std::string& path) {
  const std::string shown = IsRemote(path) ? ShownUrl(path) : path;
  ASSIGN_OR_RETURN(const std::shared_ptr<const ByteFile> file, OpenAnywhere(path));
  ASSIGN_OR_RETURN(const std::string front, ReadFront(*file));
  // A query is part of no name that could be told from another.
  const std::string_view named = shown == path ? std::string_view(path) : "";
  const std::shared_ptr<const PackedInfo> rows = NamedAsRows(named) ? InfoBeside(named) : nullptr;
  Result<ObjectKind> kind = KindOf(front, LastPart(shown));
  if (rows && !HasExamples(rows->encoding) && named.ends_with(kRawSuffix)) kind = ObjectKind::kShard;
  if (!kind.ok() && IsText(*file, front, LastPart(shown))) kind = ObjectKind::kText;
  if (!kind.ok()) return std::move(kind).status().Annotate(shown);
  CatObject object = ObjectOf(shown, nullptr, {}, *kind);
  const auto opener = [](std::shared_ptr<const ByteFile> opened) {
    return [opened = std::move(opened)]() -> Result<std::unique_ptr<ByteFile>> {
      return std::unique_ptr<ByteFile>(std::make_unique<SharedFile>(opened));
    };
  };
  object.open = opener(file);
  object.rows = rows;
  if (const std::string index = CountsOf(named, rows); !index.empty())
    if (Result<std::shared_ptr<const ByteFile>> opened = OpenAnywhere(index); opened.ok())
      object.open_index = opener(std::move(opened).value());
  std::vector<CatObject> objects;
  objects.push_back(std::move(object));
  return objects;
}

std::vector<CatObject> ObjectsOfArtifact(const std::string& location, const std::shared_ptr<Store>& store,
                                         const Manifest& manifest) {
  std::vector<CatObject> objects;
  const auto add = [&](const std::string& name, ObjectKind kind) -> CatObject& {
    return objects.emplace_back(ObjectOf(StrCat(location, "/", name), store, name, kind));
  };
  std::set<std::string_view> sidecars;
  for (const StoredObject& sidecar : manifest.sidecars) sidecars.insert(sidecar.name);
  const std::shared_ptr<const PackedInfo> rows =
      sidecars.contains(kPackedInfoFile) ? InfoOf(*store) : nullptr;
  const std::string& type = manifest.lineage.back().type;
  const ObjectKind shards = type == "write_jsonl"    ? ObjectKind::kText
                            : type == "write_tfdata" ? ObjectKind::kTokenIds
                                                     : ObjectKind::kShard;
  const std::optional<std::uint32_t> end_id = shards == ObjectKind::kTokenIds ? EndOf(*store) : std::nullopt;
  for (const ManifestShard& shard : manifest.shards) {
    CatObject& object = add(shard.object.name, shards);
    object.rows = rows;
    object.end_id = end_id;
    object.split = shard.split;
    object.shard = shard.number;
    const std::string index = CountsOf(shard.object.name, rows);
    if (sidecars.contains(index)) object.open_index = [store, index] { return store->Open(index); };
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

/// Of a directory without a manifest: partitions, spills or quarantine, each directory's by partition. Empty
/// where anything else lies there.
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

Result<ObjectKind> KindOf(std::string_view front, std::string_view name) {
  if (front.starts_with(kPartitionMagic)) return ObjectKind::kPartition;
  if (front.starts_with(kSpillMagic)) return ObjectKind::kSpill;
  if (front.starts_with(kRunLogFront)) return ObjectKind::kRunLog;
  if (BeginsWithQuarantine(front)) return ObjectKind::kQuarantine;
  if (BeginsWithFrame(front) || BeginsLikeArrayRecord(front))
    return name.ends_with(kSnapshotSuffix) ? ObjectKind::kTokenIds : ObjectKind::kShard;
  if (const std::optional<ObjectKind> kind = KindBySuffix(name)) return *kind;
  return Status(
      Code::kInvalidArgument,
      StrCat("not an object of this program: ", LooksLike(front, name),
             "; name an artifact, a shard, a partition, a spill, a quarantine, a tokenizer or a run.log"));
}

Result<std::vector<CatObject>> FindCatObjects(const std::string& what) {
  if (IsRemote(what) && what.back() != '/') {
    Result<std::vector<CatObject>> object = ObjectOfFile(what);
    // Else it may be the directory of an artifact; a web server shows people a page of it.
    if (object.ok() ||
        (object.status().code() != Code::kNotFound && object.status().code() != Code::kFailedPrecondition))
      return object;
  }
  Result<ArtifactLocation> opened = OpenArtifactLocation(what);
  if (!opened.ok()) {
    const Result<Uri> uri = Uri::Parse(what);
    const bool file =
        opened.status().code() == Code::kInvalidArgument && uri.ok() && uri->scheme == Uri::Scheme::kFile;
    return file ? ObjectOfFile(uri->path) : std::move(opened).status();
  }
  ArtifactLocation location = std::move(opened).value();
  Result<Manifest> manifest = ReadManifestOf(location, {});
  const std::shared_ptr<Store> store = std::move(location.store);
  if (manifest.ok()) return ObjectsOfArtifact(location.name, store, *manifest);
  if (manifest.status().code() != Code::kNotFound) return std::move(manifest).status();
  ASSIGN_OR_RETURN(std::vector<CatObject> outputs, ObjectsOfOutputs(location.name, store));
  if (outputs.empty()) return std::move(manifest).status();
  return outputs;
}

}  // namespace pipeline
