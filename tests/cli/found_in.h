// What `pipe verify` finds in an artifact, without the program around it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dag/manifest.h"
#include "storage/local_store.h"
#include "verify/verify_artifact.h"

namespace pipeline {

/// "OBJECT: line" of everything found.
inline std::vector<std::string> FoundIn(const std::string& place) {
  LocalStore store(place);
  const Result<Manifest> manifest = ReadManifest(store, place);
  EXPECT_TRUE(manifest.ok()) << manifest.status().message();
  if (!manifest.ok()) return {};
  const Result<VerifyReport> report = VerifyArtifact(store, *manifest, 2, {});
  EXPECT_TRUE(report.ok()) << report.status().message();
  std::vector<std::string> lines;
  if (!report.ok()) return lines;
  for (const Findings& findings : report->findings)
    for (const std::string& line : findings.lines()) lines.push_back(findings.object() + ": " + line);
  return lines;
}

}  // namespace pipeline
