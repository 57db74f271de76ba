#include "stages/corpus_order.h"

#include <algorithm>
#include <utility>

#include "base/str.h"
#include "dag/piece.h"
#include "stages/measured_writer.h"

namespace pipeline {

namespace {

std::string ObjectOf(PartitionId id, std::string_view split) {
  return PieceName(id, StrCat('.', split, ".shard"));
}

class CorpusOrderSink : public Sink {
 public:
  CorpusOrderSink(Store& artifact, PartitionId id, std::vector<std::string> splits)
      : artifact_(artifact), id_(id), splits_(std::move(splits)), parts_(splits_.size()) {}

  Status Write(const Batch& batch) override {
    const std::size_t rows = batch.size();
    if (batch.payload.size() != rows || (!batch.split.empty() && batch.split.size() != rows))
      return Status(Code::kInternal, StrCat("shards: ", batch.payload.size(), " payloads and ",
                                            batch.split.size(), " splits for ", rows, " records"));
    // Rows of one split lie side by side: usually they are the whole batch.
    const std::string_view bytes = batch.payload.joined();
    std::size_t begin = 0;  // in bytes
    for (std::size_t row = 0; row < rows;) {
      const std::size_t split = batch.split.empty() ? 0 : batch.split[row];
      std::size_t last = batch.split.empty() ? rows : row + 1;
      while (last < rows && batch.split[last] == split) ++last;
      const std::size_t end = batch.payload.ends()[last - 1];
      RETURN_IF_ERROR(Append(split, bytes.substr(begin, end - begin), last - row));
      begin = end;
      row = last;
    }
    return {};
  }

  Result<PartitionOutput> Commit(const PartitionEnd&) override {
    PartitionOutput output;
    Hasher hasher;
    hasher.UpdateU64(id_.input).UpdateU64(id_.partition);
    for (std::size_t split = 0; split < parts_.size(); ++split) {
      if (!parts_[split].writer) continue;
      ASSIGN_OR_RETURN(StoredObject object, parts_[split].writer->Commit());
      hasher.UpdateField(splits_[split]).UpdateU64(parts_[split].records);
      hasher.UpdateU64(object.digest.high).UpdateU64(object.digest.low);
      output.objects.push_back(std::move(object));
    }
    output.digest = hasher.Finish();
    return output;
  }

 private:
  struct Part {
    std::unique_ptr<MeasuredWriter> writer;  // null until the split occurs
    std::uint64_t records = 0;
  };

  Status Append(std::size_t split, std::string_view bytes, std::size_t records) {
    if (split >= parts_.size())
      return Status(Code::kInternal, StrCat("shards: split ", split, " where there are ", parts_.size()));
    Part& part = parts_[split];
    if (!part.writer) {
      ASSIGN_OR_RETURN(part.writer, MeasuredWriter::Create(artifact_, ObjectOf(id_, splits_[split]),
                                                           Condition::ReplaceAny()));
    }
    part.records += records;
    return part.writer->Append(bytes);
  }

  Store& artifact_;
  const PartitionId id_;
  const std::vector<std::string> splits_;
  std::vector<Part> parts_;  // parallel
};

/// What a shard is a copy of; an empty shard is a copy of nothing.
struct Origin {
  std::optional<StoredObject> object;
  std::uint64_t records = 0;
};

class CorpusOrderPublication : public Publication {
 public:
  CorpusOrderPublication(const ShardRules& rules, Store& artifact, std::vector<Shard> shards,
                         std::vector<Origin> origins)
      : rules_(rules), artifact_(artifact), shards_(std::move(shards)), origins_(std::move(origins)) {}

  const std::vector<Shard>& shards() const override { return shards_; }

  std::vector<std::vector<std::size_t>> Groups(std::uint64_t) const override {
    std::vector<std::vector<std::size_t>> groups;
    for (std::size_t shard = 0; shard < shards_.size(); ++shard) groups.push_back({shard});
    return groups;
  }

  Status Run(const std::vector<std::size_t>& group, const std::function<bool(std::size_t shard)>& wanted,
             const std::function<Condition(const std::string& object)>& condition, Store& out,
             const std::function<Status(std::size_t shard, const ShardOutput&)>& committed, std::uint64_t,
             std::stop_token stop) const override {
    for (const std::size_t shard : group) {
      if (stop.stop_requested()) return Status(Code::kCancelled, "shards: stopped");
      if (!wanted(shard)) continue;
      const std::string& object = shards_[shard].object;
      ASSIGN_OR_RETURN(const ShardOutput output, Publish(shard, condition(object), out, stop));
      RETURN_IF_ERROR(committed(shard, output));
    }
    return {};
  }

  Result<Sidecars> Describe(const std::vector<ShardOutput>& outputs) const override {
    return rules_.describe(shards_, outputs);
  }

 private:
  Result<ShardOutput> Publish(std::size_t shard, const Condition& condition, Store& out,
                              std::stop_token stop) const {
    const Origin& origin = origins_[shard];
    ShardOutput output;
    output.records = origin.records;
    output.object.digest = DigestOf({});
    if (origin.object) output.object = *origin.object;
    output.object.name = shards_[shard].object;
    ASSIGN_OR_RETURN(const std::unique_ptr<ObjectWriter> writer, out.Create(output.object.name, condition));
    if (origin.object) {
      const std::string& name = origin.object->name;
      Result<std::unique_ptr<ByteFile>> file = artifact_.Open(name);
      if (!file.ok()) return PieceError(name, std::move(file).status());
      if ((*file)->size() != origin.object->bytes)
        return PieceError(name, Status(Code::kDataLoss, StrCat("has ", (*file)->size(), " bytes where ",
                                                               origin.object->bytes, " were written")));
      RETURN_IF_ERROR(writer->AppendFile(**file, std::move(stop)));
    }
    ASSIGN_OR_RETURN(const ObjectInfo info, writer->Commit());
    if (origin.object && info.crc32c && *info.crc32c != origin.object->crc32c)
      return PieceError(origin.object->name,
                        Status(Code::kDataLoss, "its checksum differs from that of what was written"));
    return output;
  }

  const ShardRules rules_;
  Store& artifact_;
  const std::vector<Shard> shards_;
  const std::vector<Origin> origins_;  // parallel
};

}  // namespace

std::unique_ptr<Sink> NewCorpusOrderSink(Store& artifact, PartitionId id, std::vector<std::string> splits) {
  return std::make_unique<CorpusOrderSink>(artifact, id, std::move(splits));
}

Result<std::unique_ptr<Publication>> PlanCorpusOrder(const ShardRules& rules, Store& artifact,
                                                     std::vector<Piece> pieces) {
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.id < b.id; });
  std::vector<Shard> shards;
  std::vector<Origin> origins;
  for (const std::string& split : rules.splits) {
    const std::size_t first = shards.size();
    for (const Piece& piece : pieces) {
      for (const StoredObject& object : piece.output.objects) {
        if (object.name != ObjectOf(piece.id, split)) continue;
        const auto totals = piece.splits.find(split);
        if (totals == piece.splits.end())
          return PieceError(object.name, Status(Code::kDataLoss, "its log line has no totals of this split"));
        shards.push_back({split, 0, 0, {}, piece.output.digest});
        origins.push_back({object, totals->second.records});
      }
    }
    if (shards.size() == first) {
      shards.push_back({split, 0, 0, {}, {}});
      origins.push_back({});
    }
    const auto count = static_cast<std::uint32_t>(shards.size() - first);
    for (std::uint32_t number = 0; number < count; ++number) {
      Shard& shard = shards[first + number];
      shard.number = number;
      shard.count = count;
      shard.object = rules.object_name(split, number, count);
      Hasher hasher;
      hasher.UpdateField(split).UpdateU64(number).UpdateU64(count);
      hasher.UpdateU64(shard.pieces.high).UpdateU64(shard.pieces.low);
      shard.pieces = hasher.Finish();
    }
  }
  return std::unique_ptr<Publication>(
      std::make_unique<CorpusOrderPublication>(rules, artifact, std::move(shards), std::move(origins)));
}

}  // namespace pipeline
