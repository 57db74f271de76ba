// The one place that talks to libsentencepiece.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pipeline {

/// Version of the library that this program was built with, e.g. "0.1.97".
std::string SentencePieceVersion();

/// Cuts lines into pieces. Immutable and safe from any thread, each with a Scratch of its own.
class SentencePieceEncoder {
 public:
  /// Memory of one thread, kept from line to line; it never changes a result.
  class Scratch {
   public:
    Scratch();
    ~Scratch();
    Scratch(Scratch&&) noexcept;

   private:
    friend class SentencePieceEncoder;
    struct Pieces;
    std::unique_ptr<Pieces> pieces_;
  };

  /// `model` is one that SentencePieceModel::Parse took. kDataLoss where the library refuses it.
  static Result<std::unique_ptr<const SentencePieceEncoder>> Load(std::string_view model);
  ~SentencePieceEncoder();

  /// Appends the ids of `line`, and for each the byte of `line` behind it: never less than for the one
  /// before, and line.size() for the last. Of the pieces that stand for the bytes of one character the last
  /// one holds it, as in the library. A line that is empty for the normaliser has no ids.
  Status Encode(std::string_view line, Scratch& scratch, std::vector<std::uint32_t>& ids,
                std::vector<std::uint32_t>& ends) const;
  Result<std::string> Decode(std::span<const std::uint32_t> ids) const;

 private:
  struct Library;
  explicit SentencePieceEncoder(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

/// Trains with `options`, by the library's own names. `next` puts the next sentence into its argument; false
/// at the end. Gives the bytes of a model. The library may end the process instead, and cannot be stopped:
/// for a process of its own (TrainingChild). kFailedPrecondition with the library's words.
Result<std::string> TrainSentencePiece(const std::map<std::string, std::string>& options,
                                       std::function<Result<bool>(std::string& sentence)> next);

}  // namespace pipeline
