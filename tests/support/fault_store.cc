#include "tests/support/fault_store.h"

#include <algorithm>
#include <optional>

namespace pipeline {

struct FaultStore::Faults {
  struct Planned {
    Call call;
    int at;  // number of the call
    enum class Kind : std::uint8_t { kFail, kLoseAnswer, kCutPower } kind;
    Status failure;
  };

  /// Counts a call of a writer or file made in `their_boot`; OK if it shall happen.
  Status Enter(Call call, int their_boot, bool* loses_answer = nullptr) {
    const std::scoped_lock lock(mutex);
    const int number = ++calls[call];
    for (const Planned& planned : plan) {
      if (planned.call != call || planned.at != number) continue;
      if (planned.kind == Planned::Kind::kFail) return planned.failure;
      if (planned.kind == Planned::Kind::kCutPower) has_power = false;
      if (planned.kind == Planned::Kind::kLoseAnswer && loses_answer != nullptr) *loses_answer = true;
    }
    if (has_power && their_boot == boot) return {};
    return Status(Code::kUnavailable, has_power ? "was open when the power went" : "there is no power");
  }
  Status Enter(Call call) { return Enter(call, CurrentBoot()); }

  void Plan(Call call, int n, Planned::Kind kind, Status failure) {
    const std::scoped_lock lock(mutex);
    plan.push_back({call, calls[call] + n, kind, std::move(failure)});
  }

  int CurrentBoot() {
    const std::scoped_lock lock(mutex);
    return boot;
  }

  /// How many of `wanted` bytes the disk still takes; they are taken.
  std::uint64_t TakeSpace(std::uint64_t wanted) {
    const std::scoped_lock lock(mutex);
    const std::uint64_t taken = std::min(wanted, space);
    if (space != kUnlimited) space -= taken;
    return taken;
  }

  static constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

  std::mutex mutex;  // for all that follows
  std::map<Call, int> calls;
  std::vector<Planned> plan;
  std::uint64_t space = kUnlimited;
  std::size_t max_read = std::numeric_limits<std::size_t>::max();
  bool has_power = true;
  int boot = 0;
};

class FaultStore::Reader final : public ByteReader {
 public:
  Reader(std::unique_ptr<ByteReader> inner, std::shared_ptr<Faults> faults, int boot)
      : inner_(std::move(inner)), faults_(std::move(faults)), boot_(boot) {}

  Result<std::size_t> Read(std::span<char> out) override {
    if (failed_.ok()) failed_ = faults_->Enter(Call::kRead, boot_);
    if (!failed_.ok()) return failed_;
    std::size_t max_read;
    {
      const std::scoped_lock lock(faults_->mutex);
      max_read = faults_->max_read;
    }
    return inner_->Read(out.first(std::min(out.size(), max_read)));
  }

 private:
  std::unique_ptr<ByteReader> inner_;
  std::shared_ptr<Faults> faults_;
  int boot_;
  Status failed_;
};

class FaultStore::File final : public ByteFile {
 public:
  File(std::unique_ptr<ByteFile> inner, std::shared_ptr<Faults> faults)
      : inner_(std::move(inner)), faults_(std::move(faults)), boot_(faults_->CurrentBoot()) {}

  std::uint64_t size() const override { return inner_->size(); }
  Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token stop) const override {
    ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> reader, inner_->Open(offset, std::move(stop)));
    return std::unique_ptr<ByteReader>(std::make_unique<Reader>(std::move(reader), faults_, boot_));
  }

 private:
  std::unique_ptr<ByteFile> inner_;
  std::shared_ptr<Faults> faults_;
  int boot_;
};

class FaultStore::Writer final : public ObjectWriter {
 public:
  Writer(std::unique_ptr<ObjectWriter> inner, std::shared_ptr<Faults> faults)
      : inner_(std::move(inner)), faults_(std::move(faults)), boot_(faults_->CurrentBoot()) {}

  Status Append(std::string_view bytes) override {
    if (failed_.ok()) failed_ = AppendWhatFits(bytes);
    return failed_;
  }

  Status AppendFile(const ByteFile& file, std::stop_token stop) override {
    if (failed_.ok()) failed_ = faults_->Enter(Call::kAppendFile, boot_);
    if (!failed_.ok()) return failed_;
    // Read here, so that the disk can fill up and reads can fail half-way.
    failed_ = ObjectWriter::AppendFile(file, std::move(stop));
    return failed_;
  }

  Result<ObjectInfo> Commit(std::stop_token stop) override {
    bool loses_answer = false;
    if (failed_.ok()) failed_ = faults_->Enter(Call::kCommit, boot_, &loses_answer);
    if (!failed_.ok()) return failed_;
    failed_ = Status(Code::kInternal, "Commit was called before");
    Result<ObjectInfo> info = inner_->Commit(std::move(stop));
    if (loses_answer && info.ok()) return Status(Code::kUnavailable, "the answer was lost");
    return info;
  }

 private:
  Status AppendWhatFits(std::string_view bytes) {
    RETURN_IF_ERROR(faults_->Enter(Call::kAppend, boot_));
    const std::uint64_t fits = faults_->TakeSpace(bytes.size());
    RETURN_IF_ERROR(inner_->Append(bytes.substr(0, static_cast<std::size_t>(fits))));
    if (fits < bytes.size()) return Status(Code::kResourceExhausted, "no space left on this device");
    return {};
  }

  std::unique_ptr<ObjectWriter> inner_;
  std::shared_ptr<Faults> faults_;
  int boot_;
  Status failed_;
};

FaultStore::FaultStore(Store& inner) : inner_(inner), faults_(std::make_shared<Faults>()) {}
FaultStore::~FaultStore() = default;

void FaultStore::FailNth(Call call, int n, Status failure) {
  faults_->Plan(call, n, Faults::Planned::Kind::kFail, std::move(failure));
}

void FaultStore::LoseAnswerOfCommit(int n) {
  faults_->Plan(Call::kCommit, n, Faults::Planned::Kind::kLoseAnswer, {});
}

void FaultStore::FillDiskAfter(std::uint64_t bytes) {
  const std::scoped_lock lock(faults_->mutex);
  faults_->space = bytes;
}

void FaultStore::LimitReads(std::size_t bytes) {
  const std::scoped_lock lock(faults_->mutex);
  faults_->max_read = bytes;
}

void FaultStore::CutPowerAt(Call call, int n) {
  faults_->Plan(call, n, Faults::Planned::Kind::kCutPower, {});
}

void FaultStore::RestorePower() {
  const std::scoped_lock lock(faults_->mutex);
  ++faults_->boot;
  faults_->has_power = true;
  faults_->plan.clear();
  faults_->space = Faults::kUnlimited;
  faults_->max_read = std::numeric_limits<std::size_t>::max();
}

int FaultStore::calls(Call call) const {
  const std::scoped_lock lock(faults_->mutex);
  const auto found = faults_->calls.find(call);
  return found == faults_->calls.end() ? 0 : found->second;
}

Result<std::unique_ptr<ByteFile>> FaultStore::Open(std::string_view name) {
  RETURN_IF_ERROR(faults_->Enter(Call::kOpen));
  ASSIGN_OR_RETURN(std::unique_ptr<ByteFile> file, inner_.Open(name));
  return std::unique_ptr<ByteFile>(std::make_unique<File>(std::move(file), faults_));
}

Result<std::unique_ptr<ObjectWriter>> FaultStore::Create(std::string_view name, Condition condition) {
  RETURN_IF_ERROR(faults_->Enter(Call::kCreate));
  ASSIGN_OR_RETURN(std::unique_ptr<ObjectWriter> writer, inner_.Create(name, std::move(condition)));
  return std::unique_ptr<ObjectWriter>(std::make_unique<Writer>(std::move(writer), faults_));
}

Result<std::optional<ObjectInfo>> FaultStore::Stat(std::string_view name) {
  RETURN_IF_ERROR(faults_->Enter(Call::kStat));
  return inner_.Stat(name);
}

Result<std::vector<ObjectInfo>> FaultStore::List(std::string_view prefix) {
  RETURN_IF_ERROR(faults_->Enter(Call::kList));
  return inner_.List(prefix);
}

Status FaultStore::Remove(std::string_view name) {
  RETURN_IF_ERROR(faults_->Enter(Call::kRemove));
  return inner_.Remove(name);
}

Result<std::unique_ptr<ByteFile>> FaultStore::OpenKnown(const ObjectInfo& known) {
  RETURN_IF_ERROR(faults_->Enter(Call::kOpen));
  ASSIGN_OR_RETURN(std::unique_ptr<ByteFile> file, inner_.OpenKnown(known));
  return std::unique_ptr<ByteFile>(std::make_unique<File>(std::move(file), faults_));
}

Status FaultStore::RemoveAll(std::span<const ObjectInfo> objects, const std::function<bool()>& removed) {
  for (const ObjectInfo& object : objects) {
    RETURN_IF_ERROR(faults_->Enter(Call::kRemove));
    RETURN_IF_ERROR(RemoveKnown(inner_, object));
    if (!removed()) break;
  }
  return {};
}

Status FaultStore::Sweep(std::string_view prefix) {
  RETURN_IF_ERROR(faults_->Enter(Call::kSweep));
  return inner_.Sweep(prefix);
}

}  // namespace pipeline
