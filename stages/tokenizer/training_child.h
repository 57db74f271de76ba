// Trains SentencePiece in a child process, because training cannot be cancelled and may end its process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/child_process.h"
#include "base/result.h"

namespace pipeline {

/// The command that makes this program the child: `pipe train-sentencepiece`. Not for users.
inline constexpr std::string_view kTrainingCommand = "train-sentencepiece";

/// Runs the child: reads options and sentences from stdin and writes the model to stdout, or the error to
/// stderr. Returns the exit code.
int RunTrainingChild();

/// One training. One thread, which must live until Finish has returned.
///
/// Protocol: the options as one line of JSON, then each sentence as its length (u32, little endian) and its
/// bytes, then the length 2^32-1. Without that last length nothing is trained.
class TrainingChild {
 public:
  /// `program`: path of `pipe`.
  static Result<std::unique_ptr<TrainingChild>> Start(const std::string& program,
                                                      const std::map<std::string, std::string>& options,
                                                      std::stop_token stop);
  Status Add(std::string_view sentence);
  /// Returns the model. kFailedPrecondition with the library's message if it refuses; kResourceExhausted if
  /// the system killed the process, as it does when memory runs out; kCancelled.
  Result<std::string> Finish();

 private:
  TrainingChild(std::unique_ptr<ChildProcess> child, std::stop_token stop);
  Status Flush();
  Result<std::string> Collect();

  std::unique_ptr<ChildProcess> child_;
  std::stop_token stop_;
  std::string buffer_;
};

}  // namespace pipeline
