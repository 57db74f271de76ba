// What `pipe verify` finds in a directory, in words.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stages/all/builtin.h"
#include "stages/verify/verify_artifact.h"
#include "storage/local_store.h"

namespace pipeline {

inline VerifyReport Verify(const std::string& place, int threads = 2) {
  LocalStore store(place);
  const Result<Manifest> manifest = ReadManifest(store, place);
  EXPECT_TRUE(manifest.ok()) << manifest.status().message();
  if (!manifest.ok()) return {};
  Result<VerifyReport> report = VerifyArtifact(BuiltinTables(), store, *manifest, {threads}, {});
  EXPECT_TRUE(report.ok()) << report.status().message();
  return report.ok() ? std::move(report).value() : VerifyReport();
}

/// "OBJECT: line" of everything found.
inline std::vector<std::string> FoundIn(const std::string& place, int threads = 2) {
  std::vector<std::string> lines;
  const VerifyReport report = Verify(place, threads);
  for (const auto* const all : {&report.findings, &report.strays})
    for (const Findings& findings : *all)
      for (const std::string& line : findings.lines()) lines.push_back(findings.object() + ": " + line);
  return lines;
}

/// Whether a line has `words`.
inline bool Finds(const std::vector<std::string>& lines, std::string_view words) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(words) != std::string::npos; });
}

}  // namespace pipeline
