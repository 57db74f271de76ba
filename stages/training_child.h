// SentencePiece training in a process of its own: it cannot be cancelled and may end the process.
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

/// The word that makes this program such a process: `pipe train-sentencepiece`. For nobody to type.
inline constexpr std::string_view kTrainingCommand = "train-sentencepiece";

/// Is that process: reads options and sentences from stdin, writes the model to stdout, and says on stderr
/// why it cannot. Gives the exit code.
int RunTrainingChild();

/// One training. One thread, which lives until Finish has returned.
///
/// On the pipe: the options as one line of JSON, then each sentence as its length (u32, little endian)
/// and its bytes, then the length 2^32-1. Without the last one nothing is trained.
class TrainingChild {
 public:
  /// `program` is the path of `pipe`.
  static Result<std::unique_ptr<TrainingChild>> Start(const std::string& program,
                                                      const std::map<std::string, std::string>& options,
                                                      std::stop_token stop);
  Status Add(std::string_view sentence);
  /// The model. kFailedPrecondition with the library's words where it refuses; kResourceExhausted where the
  /// system killed the process, which is what it does when memory is short; kCancelled.
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
