// Stages for the pipeline file of ToyPlace, and damage.
#pragma once

#include <string>

#include "tests/support/temp_dir.h"

namespace pipeline {

/// An output: shards of `docs`.
inline const std::string kToyText = "  text: { type: write_tfds, input: docs, name: toy, out: \"${out}\" }\n";
/// A Job: a model of `docs`.
inline const std::string kToyLearn = "  model: { type: learn, input: docs }\n";
/// Failures that are allowed: more than any of these runs has.
inline constexpr int kAllFailures = 100;

/// Changes the byte in the middle of a file.
inline void FlipByte(const std::string& path) {
  std::string bytes = ReadFile(path);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x20);
  WriteFile(path, bytes);
}

}  // namespace pipeline
