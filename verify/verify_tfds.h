// What a TFDS data set says about itself, held against its manifest. What lies on disk: formats/tfds.md.
#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "dag/manifest.h"
#include "formats/tfds.h"
#include "storage/store.h"
#include "text/sentencepiece_handle.h"
#include "verify/findings.h"
#include "verify/verify_object.h"

namespace pipeline {

/// The manifest against itself: names, numbers and sums of its shards, and the objects that TFDS needs.
void VerifyTfdsManifest(const Manifest& manifest, Findings& findings);

/// The text of dataset_info.json.
void VerifyTfdsInfo(std::string_view text, const Manifest& manifest, Findings& findings);

/// What features.json says; where it is not what was written, what the manifest and label.labels.txt let
/// expect.
TfdsFeatures FeaturesOf(const Result<std::string>& features_json, const Result<std::string>& labels_text,
                        const Manifest& manifest);

/// The text of features.json, and of label.labels.txt, which has a name for each of `labels`.
void VerifyTfdsFeatures(std::string_view text, const Manifest& manifest, Findings& findings);
void VerifyTfdsLabels(std::string_view text, const Manifest& manifest, std::size_t labels,
                      Findings& findings);

/// What each record of a shard is held against; made once and used by any thread.
struct TfdsShardCheck {
  TfdsFeatures features;
  std::shared_ptr<const SentencePieceEncoder> tokenizer;  // null where lines may have any length
  std::size_t max_tokens = 0;                             // with the end mark
};

/// The tokenizer that lies beside the shards where lines have a limit; null where they have none.
Result<std::shared_ptr<const SentencePieceEncoder>> TfdsTokenizer(Store& store, const Manifest& manifest,
                                                                  const std::stop_token& stop);
std::size_t TfdsMaxTokens(const Manifest& manifest);

/// A shard: as VerifyRecords, and each record is an Example with those features, clean texts of no more
/// tokens than there may be, and the number of a label that there is.
Status VerifyTfdsShard(const ByteFile& file, const ManifestShard& shard, const TfdsShardCheck& check,
                       const std::stop_token& stop, Findings& findings, ReadCounts& counts);

}  // namespace pipeline
