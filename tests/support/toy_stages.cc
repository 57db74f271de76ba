#include "tests/support/toy_stages.h"

#include <algorithm>
#include <utility>

#include "base/crc32c.h"
#include "base/str.h"
#include "dag/records/barrier_stage.h"
#include "dag/records/partition_output.h"
#include "dag/records/sink.h"
#include "dag/records/transform.h"
#include "stages/export/tfds/tfds_export.h"
#include "stages/lines/line_stages.h"
#include "stages/lines/split.h"
#include "stages/sources/source_stages.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kLargest = 16 << 20;

Result<StoredObject> Commit(Store& store, std::string_view name, std::string_view bytes,
                            const Condition& condition) {
  RETURN_IF_ERROR(WriteObject(store, name, bytes, condition).status());
  return StoredObject{std::string(name), bytes.size(), Crc32c(bytes), DigestOf(bytes)};
}

class LearnJob final : public JobStage {
 public:
  LearnJob(ToyHand& hand, const StageContext& context) : hand_(hand), config_(context.config) {}
  Result<std::uint64_t> Memory(const ArtifactTotals& input) const override {
    std::uint64_t bytes = 0;
    for (const auto& [split, totals] : input.splits) bytes += totals.bytes;
    return bytes + static_cast<std::uint64_t>(config_["needs"].AsInt());
  }
  Result<JobOutput> Run(const JobRequest& request) const override {
    ++hand_.learnt;
    if (hand_.in_learn) RETURN_IF_ERROR(hand_.in_learn(request));
    std::string model = StrCat(config_["salt"].AsString(), "\n");
    std::int64_t records = 0;
    ASSIGN_OR_RETURN(const std::unique_ptr<Source> source, request.open_records());
    Batch batch;
    while (true) {
      Result<bool> more = source->Next(batch);
      if (!more.ok()) return std::move(more).status().Annotate("learning");
      if (!*more) break;
      for (std::size_t row = 0; row < batch.size(); ++row) model += StrCat(batch.text[row], "\n"), ++records;
      request.progress(model.size(), 0);
    }
    JobOutput output;
    ASSIGN_OR_RETURN(StoredObject stored, Commit(*request.out, "model", model, request.condition("model")));
    output.objects.push_back(std::move(stored));
    output.facts["records"] = records;
    return output;
  }

 private:
  ToyHand& hand_;
  const Json config_;
};

class Look final : public JobStage {
 public:
  explicit Look(const StageContext& context) : input_(context.artifacts.at("input")) {}
  Result<std::uint64_t> Memory(const ArtifactTotals&) const override { return 0; }
  Result<JobOutput> Run(const JobRequest& request) const override {
    ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, input_.directory->List(""));
    std::string names;
    for (const ObjectInfo& object : objects) names += object.name + "\n";
    ASSIGN_OR_RETURN(StoredObject stored, Commit(*request.out, "seen", names, request.condition("seen")));
    return JobOutput{{std::move(stored)}, Json()};
  }

 private:
  const ArtifactInput input_;
};

class MarkWorker final : public Worker {
 public:
  explicit MarkWorker(const std::string& mark) : mark_(mark) {}
  Status Apply(Batch& batch, std::uint32_t, StageCounts& counts) override {
    BytesColumn marked;
    for (std::size_t row = 0; row < batch.size(); ++row) {
      marked.Append(StrCat(mark_, " ", batch.text[row]));
      if (batch.text[row].size() > 8) counts.Add("long");
    }
    batch.text.Swap(marked);
    return {};
  }

 private:
  const std::string& mark_;
};

class Mark final : public Transform {
 public:
  explicit Mark(std::string mark) : mark_(std::move(mark)) {}
  std::uint64_t memory() const override { return std::uint64_t{32} << 20; }
  Result<std::unique_ptr<Worker>> NewWorker() const override {
    return std::unique_ptr<Worker>(std::make_unique<MarkWorker>(mark_));
  }

 private:
  const std::string mark_;
};

Result<std::unique_ptr<Transform>> MakeMark(const StageContext& context) {
  const ArtifactInput& model = context.artifacts.at("model");
  ASSIGN_OR_RETURN(const std::string text,
                   ReadObject(*model.directory, model.file.empty() ? "model" : model.file, kLargest));
  return std::unique_ptr<Transform>(std::make_unique<Mark>(text.substr(0, text.find('\n'))));
}

class PickSink final : public Sink {
 public:
  PickSink(Store& store, PartitionId id) : store_(store), name_(OutputName(id, ".pick")) {}
  Status Write(const Batch& batch) override {
    for (std::size_t row = 0; row < batch.size(); ++row) text_ += StrCat(batch.text[row], "\n");
    return {};
  }
  Result<CommittedPartition> Commit(const PartitionEnd&, std::stop_token) override {
    ASSIGN_OR_RETURN(StoredObject stored, pipeline::Commit(store_, name_, text_, Condition::ReplaceAny()));
    return CommittedPartition{DigestOf(text_), {std::move(stored)}};
  }

 private:
  Store& store_;
  const std::string name_;
  std::string text_;
};

class PickSource final : public Source {
 public:
  PickSource(std::vector<std::string> lines, std::size_t per, std::function<bool(std::uint32_t)> wanted)
      : lines_(std::move(lines)), per_(per), wanted_(std::move(wanted)) {}
  Result<bool> Next(Batch& batch) override {
    while (next_ < lines_.size()) {
      const auto partition = static_cast<std::uint32_t>(next_ / per_);
      const std::size_t end = std::min(lines_.size(), next_ + per_);
      const std::size_t begin = std::exchange(next_, end);
      if (!wanted_(partition)) continue;
      batch.partition = {0, partition};
      for (std::size_t at = begin; at < end; ++at) {
        batch.heads.push_back({at - begin, 0, at, 0});
        batch.text.Append(lines_[at]);
        batch.split.push_back(0);
        ++batch.counts[0].records_in, ++batch.counts[0].records_out;
      }
      batch.closes = true;
      batch.end = {end, end};
      return true;
    }
    return false;
  }
  std::optional<InputEnd> End() const override {
    return InputEnd{
        static_cast<std::uint32_t>((lines_.size() + per_ - 1) / per_), lines_.size(), lines_.size(), {}};
  }

 private:
  const std::vector<std::string> lines_;
  const std::size_t per_;
  const std::function<bool(std::uint32_t)> wanted_;
  std::size_t next_ = 0;
};

class Pick final : public BarrierStage {
 public:
  explicit Pick(const Json& config)
      : count_(static_cast<std::size_t>(config["count"].AsInt())),
        per_(static_cast<std::size_t>(config["per"].AsInt())) {}
  Result<std::unique_ptr<Sink>> OpenPartition(Store& artifact, PartitionId id) const override {
    return std::unique_ptr<Sink>(std::make_unique<PickSink>(artifact, id));
  }
  std::uint64_t partition_memory(std::uint64_t text_bytes) const override { return text_bytes; }
  Result<std::unique_ptr<Source>> Open(BarrierRequest request) const override {
    std::vector<std::string> lines;
    for (const PartitionOutput& output : request.outputs) {
      const std::string name = OutputName(output.id, ".pick");
      Result<std::string> text = ReadObject(*request.artifact, name, kLargest);
      if (!text.ok()) return OutputError(name, std::move(text).status());
      if (DigestOf(*text) != output.committed.digest)
        return OutputError(name, Status(Code::kDataLoss, "other bytes than were written"));
      for (std::size_t at = 0; at < text->size(); at = text->find('\n', at) + 1)
        lines.push_back(text->substr(at, text->find('\n', at) - at));
    }
    std::sort(lines.begin(), lines.end());
    if (lines.size() > count_) lines.resize(count_);
    return std::unique_ptr<Source>(
        std::make_unique<PickSource>(std::move(lines), per_, std::move(request.wanted)));
  }

 private:
  const std::size_t count_;
  const std::size_t per_;
};

StageType LearnType(ToyHand& hand) {
  StageType type;
  type.name = "learn";
  type.help = "Learns.";
  type.keys = {{"salt", ValueType::kString, "salt", "What it begins with."},
               {"rounds", ValueType::kInteger, "1", "How long.", Effect::kContinue},
               {"needs", ValueType::kBytes, "0", "How much memory.", Effect::kNone}};
  type.gives = Flow::kArtifact;
  type.reads = {"text"};
  type.kind = JobKind{.make = [&hand](const StageContext& context) -> Result<std::unique_ptr<JobStage>> {
                        return std::unique_ptr<JobStage>(std::make_unique<LearnJob>(hand, context));
                      },
                      .out_optional = true,
                      .withdraws = hand.learn_withdraws};
  return type;
}

StageType LookType() {
  StageType type;
  type.name = "look";
  type.help = "Looks.";
  type.takes = Flow::kArtifact;
  type.gives = Flow::kArtifact;
  type.kind = JobKind{.make = [](const StageContext& context) -> Result<std::unique_ptr<JobStage>> {
    return std::unique_ptr<JobStage>(std::make_unique<Look>(context));
  }};
  return type;
}

StageType MarkType(ToyHand& hand) {
  StageType type;
  type.name = "mark";
  type.help = "Marks.";
  type.reads = {"text"};
  type.named_inputs = {{"model", true, true, "What was learnt."}};
  type.files = [&hand](const Json&) -> Result<std::vector<StageFile>> {
    if (hand.list_path.empty()) return std::vector<StageFile>();
    return std::vector<StageFile>{{"list words", hand.list_path, true}};
  };
  type.reasons = {{"long", "It is long."}};
  type.metrics = {{"long_rate", "Long records.", [](const StageCounts& counts) {
                     const auto found = counts.reasons.find("long");
                     const auto number = found == counts.reasons.end() ? 0 : found->second;
                     return static_cast<double>(number) / static_cast<double>(counts.records_in);
                   }}};
  type.kind = TransformKind{.make = MakeMark};
  return type;
}

StageType PickType() {
  StageType type;
  type.name = "pick";
  type.help = "Picks.";
  type.keys = {{"count", ValueType::kInteger, "", "How many."},
               {"per", ValueType::kInteger, "3", "How many in a partition."}};
  type.reads = {"text"};
  type.kind = BarrierKind{.make = [](const StageContext& context) -> Result<std::unique_ptr<BarrierStage>> {
    return std::unique_ptr<BarrierStage>(std::make_unique<Pick>(context.config));
  }};
  return type;
}

StageType ShelveType() {
  StageType type = WriteTfdsType();
  type.name = "shelve";
  type.gives = Flow::kArtifact;
  type.named_inputs = {{"model", false, true, "What was learnt.", true}};
  StageFactory<SinkStage>& make = std::get<SinkKind>(type.kind).make;
  make = [write = make](const StageContext& context) -> Result<std::unique_ptr<SinkStage>> {
    const auto model = context.artifacts.find("model");
    if (model == context.artifacts.end() || model->second.facts["records"].AsInt() == 0)
      return Status(Code::kInternal, "no model, or one without facts");
    return write(context);
  };
  return type;
}

}  // namespace

Registry ToyRegistry(ToyHand& hand) {
  return Registry({DownloadType(), DecompressType(), SplitType(), ExecType(), WriteTfdsType(),
                   LearnType(hand), LookType(), MarkType(hand), PickType(), ShelveType()});
}

}  // namespace pipeline
