// What a TFDS data set says about itself, held against its manifest. What lies on disk: formats/tfds.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dag/manifest.h"
#include "verify/findings.h"

namespace pipeline {

/// The manifest against itself: names, numbers and sums of its shards, and the objects that TFDS needs.
void VerifyTfdsManifest(const Manifest& manifest, Findings& findings);

/// The text of dataset_info.json.
void VerifyTfdsInfo(std::string_view text, const Manifest& manifest, Findings& findings);

/// The labels of the data set by number, as its manifest has them; empty where it has none.
std::vector<std::string> TfdsLabels(const Manifest& manifest);

/// The text of features.json, and of label.labels.txt.
void VerifyTfdsFeatures(std::string_view text, const Manifest& manifest, Findings& findings);
void VerifyTfdsLabels(std::string_view text, const Manifest& manifest, Findings& findings);

}  // namespace pipeline
