// Checks the records of an export format: one class for each stage that publishes shards.
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
#include "dag/books/manifest.h"
#include "stages/tokenizer/tokenizer_facts.h"
#include "stages/verify/findings.h"
#include "stages/verify/verify_object.h"
#include "storage/store.h"
#include "text/sentencepiece/sentencepiece_handle.h"

namespace pipeline {

/// The artifact to check; it outlives its check.
struct ExportLocation {
  Store& store;
  const Manifest& manifest;
  std::stop_token stop;
  const LengthFilter* filter = nullptr;  // the filter to count for; null: the artifact's own
};

/// The constructor reads the description of the records; afterwards it is safe from any thread.
class ExportCheck {
 public:
  explicit ExportCheck(ExportLocation artifact) : artifact_(std::move(artifact)) {}
  virtual ~ExportCheck() = default;
  ExportCheck(const ExportCheck&) = delete;
  ExportCheck& operator=(const ExportCheck&) = delete;

  /// Checks the manifest: names and numbers of its shards, the objects that readers need, and everything
  /// that keeps records from being checked. So without a finding here all records are checked.
  virtual void VerifyManifest(Findings& findings) const = 0;
  /// Checks the bytes of a shard and every record in it. Fails like the functions of verify_object.h.
  virtual Status VerifyShard(const ByteFile& file, const ManifestShard& shard, Findings& findings,
                             ReadCounts& counts) const = 0;
  /// VerifyShard counts a line with more tokens than this as long; 0: it counts no lines.
  virtual std::size_t CountsAbove() const { return 0; }
  /// Checks the contents of an object beside the shards; the caller has checked its bytes. Fails if the
  /// object cannot be read.
  virtual Status VerifySidecar(const StoredObject&, Findings&) const { return {}; }

 protected:
  const Manifest& manifest() const { return artifact_.manifest; }
  const std::stop_token& stop() const { return artifact_.stop; }
  /// Configuration of the stage that made the artifact.
  const Json& config() const { return manifest().lineage.back().config; }
  /// Whether the stage took labels: its configuration names them, or a file among its sources does.
  bool TookLabels() const;
  const LengthFilter* filter() const { return artifact_.filter; }

  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) const { return artifact_.store.Open(name); }
  /// Returns the whole of an object beside the shards.
  Result<std::string> Read(std::string_view name) const;
  template <class Parsed>
  Result<Parsed> Read(std::string_view name, Result<Parsed> (*parse)(std::string_view)) const {
    const Result<std::string> text = Read(name);
    return text.ok() ? parse(*text) : text.status();
  }
  /// Loads a SentencePiece model that is such an object.
  Result<std::unique_ptr<const SentencePieceEncoder>> ReadTokenizer(std::string_view name) const;
  /// Returns the entry of an object beside the shards in the manifest; null: there is none.
  const StoredObject* Find(std::string_view name) const;

  // Helpers of VerifyManifest and VerifySidecar.

  /// Checks that shards are numbered without gaps, and that each has the name from `name`.
  using ShardName =
      std::function<std::string(std::string_view split, std::uint32_t number, std::uint32_t count)>;
  void VerifyShardNames(const ShardName& name, Findings& findings) const;
  /// Checks that the shards of each split have all its rows; `rows` is the number of rows by split. With
  /// the key `equal`, fewer rows than shards may be missing.
  using Rows = std::map<std::string, std::uint64_t, std::less<>>;
  void VerifySums(Findings& findings, const Rows& rows) const;
  /// For formats in which a record is a row.
  static Rows RecordsOf(const Manifest& manifest);
  void VerifyNames(std::initializer_list<std::string_view> needed, Findings& findings) const;
  /// `read`: whether the description by which records are checked could be read.
  static void VerifyDescription(std::string_view name, const Status& read, Findings& findings);
  /// Checks that the tokenizer beside the shards is the one that made their ids.
  void VerifyTokenizer(const TokenizerFacts& made_by, Findings& findings) const;

 private:
  const ExportLocation artifact_;
};

/// ExportFormat::verify of a format with this check.
template <class Check>
std::unique_ptr<const ExportCheck> NewCheck(const ExportLocation& artifact) {
  return std::make_unique<Check>(artifact);
}

}  // namespace pipeline
