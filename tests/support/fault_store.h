// A store that fails when a test says so, around one that does not.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "storage/store.h"

namespace pipeline {

/// Passes everything on until told otherwise. Safe from any thread; its writers and files may outlive
/// it, the inner store must outlive them.
class FaultStore final : public Store {
 public:
  enum class Call : std::uint8_t {
    kOpen,
    kRead,
    kCreate,
    kAppend,
    kAppendFile,
    kCommit,
    kStat,
    kList,
    kRemove,
    kSweep
  };

  explicit FaultStore(Store& inner);
  ~FaultStore() override;

  /// The `n`th call of this kind from now on (1 is the next) fails with `failure`, the others do not.
  void FailNth(Call call, int n, Status failure);
  /// The `n`th Commit from now on happens, but its caller is told that it failed: a lost answer.
  void LoseAnswerOfCommit(int n);
  /// Appends take `bytes` more, all writers together; what does not fit fails with
  /// kResourceExhausted after the part that fits was written.
  void FillDiskAfter(std::uint64_t bytes);
  /// Reads give at most so many bytes each.
  void LimitReads(std::size_t bytes);
  /// The power goes at the `n`th call of this kind from now on, before it has any effect: this and
  /// every later call fails with kUnavailable, and what is not committed then is lost.
  void CutPowerAt(Call call, int n);
  /// The machine is up again: calls work, but not those of writers and files from before. All faults
  /// that were asked for are forgotten.
  void RestorePower();
  /// Calls of this kind so far, failed ones included.
  int calls(Call call) const;

  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) override;
  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition condition) override;
  Result<std::optional<ObjectInfo>> Stat(std::string_view name) override;
  Result<std::vector<ObjectInfo>> List(std::string_view prefix) override;
  /// A call of kOpen.
  Result<std::unique_ptr<ByteFile>> OpenKnown(const ObjectInfo& known) override;
  Status Remove(std::string_view name) override;
  /// A call of kRemove for each of `objects`.
  Status RemoveAll(std::span<const ObjectInfo> objects, const std::function<bool()>& removed) override;
  Status Sweep(std::string_view prefix) override;

 private:
  struct Faults;
  class Reader;
  class File;
  class Writer;

  Store& inner_;
  std::shared_ptr<Faults> faults_;  // shared with writers and files
};

}  // namespace pipeline
