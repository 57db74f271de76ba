// What the records of a hand-off are held against: one class for each stage that publishes shards.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dag/manifest.h"
#include "stages/tokenizer_facts.h"
#include "storage/store.h"
#include "verify/findings.h"
#include "verify/verify_object.h"

namespace pipeline {

/// The artifact that is checked; outlives its check.
struct HandOffPlace {
  Store& store;
  const Manifest& manifest;
  std::stop_token stop;
  const LengthFilter* filter = nullptr;  // that somebody asks about; null: the artifact's own
};

/// Reads what describes the records when it is made, and is safe from any thread from then on.
class HandOffCheck {
 public:
  explicit HandOffCheck(HandOffPlace artifact) : artifact_(std::move(artifact)) {}
  virtual ~HandOffCheck() = default;
  HandOffCheck(const HandOffCheck&) = delete;
  HandOffCheck& operator=(const HandOffCheck&) = delete;

  /// The manifest against itself: names and numbers of its shards, and the objects that readers need; and
  /// whatever keeps records from being checked, so that where nothing is found here they all are.
  virtual void VerifyManifest(Findings& findings) const = 0;
  /// A shard: its bytes, and every record of it. Fails as the functions of verify_object.h.
  virtual Status VerifyShard(const ByteFile& file, const ManifestShard& shard, Findings& findings,
                             ReadCounts& counts) const = 0;
  /// Of how many tokens on VerifyShard counts a line as long; 0: it counts none.
  virtual std::size_t CountsAbove() const { return 0; }
  /// What an object beside the shards says; its bytes were measured by the caller. Fails where it cannot be
  /// read.
  virtual Status VerifySidecar(const StoredObject& object, Findings& findings) const = 0;

 protected:
  const Manifest& manifest() const { return artifact_.manifest; }
  const std::stop_token& stop() const { return artifact_.stop; }
  /// Of the stage that made the artifact.
  const Json& config() const { return manifest().lineage.back().config; }
  const LengthFilter* filter() const { return artifact_.filter; }

  /// The whole of an object beside the shards.
  Result<std::string> Read(std::string_view name) const;
  template <class Parsed>
  Result<Parsed> Read(std::string_view name, Result<Parsed> (*parse)(std::string_view)) const {
    const Result<std::string> text = Read(name);
    return text.ok() ? parse(*text) : text.status();
  }
  /// What the manifest says of an object beside the shards; null where it names none.
  const StoredObject* Find(std::string_view name) const;

  // Findings of VerifyManifest and VerifySidecar.

  /// Shards are numbered without gaps, and each is called what `name` says.
  using ShardName =
      std::function<std::string(std::string_view split, std::uint32_t number, std::uint32_t count)>;
  void VerifyShardNames(const ShardName& name, Findings& findings) const;
  /// The shards of each split have all its rows, of which `rows` is how many there are by split; `equal`
  /// leaves out fewer than it has shards.
  using Rows = std::map<std::string, std::uint64_t, std::less<>>;
  void VerifySums(Findings& findings, const Rows& rows) const;
  /// Where a record is a row.
  static Rows RecordsOf(const Manifest& manifest);
  void VerifyNames(std::initializer_list<std::string_view> needed, Findings& findings) const;
  /// `read`: whether what the records are checked by could be read.
  static void VerifyDescription(std::string_view name, const Status& read, Findings& findings);
  /// The tokenizer beside the shards is the one that made their ids.
  void VerifyTokenizer(const TokenizerFacts& made_by, Findings& findings) const;

 private:
  const HandOffPlace artifact_;
};

/// By the type of the stage that made the artifact. Of one that is not known bytes are checked, and where it
/// has shards that is a finding.
std::unique_ptr<const HandOffCheck> MakeHandOffCheck(const HandOffPlace& artifact);

// What lies on disk: formats/tfds.md, packed.md, jsonl.md, tfdata.md, bert.md.
std::unique_ptr<const HandOffCheck> MakeTfdsCheck(const HandOffPlace& artifact);
std::unique_ptr<const HandOffCheck> MakePackedCheck(const HandOffPlace& artifact);
std::unique_ptr<const HandOffCheck> MakeJsonlCheck(const HandOffPlace& artifact);
std::unique_ptr<const HandOffCheck> MakeTfdataCheck(const HandOffPlace& artifact);
std::unique_ptr<const HandOffCheck> MakeBertCheck(const HandOffPlace& artifact);

}  // namespace pipeline
