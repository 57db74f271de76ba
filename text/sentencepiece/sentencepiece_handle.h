// SentencePiece encoder and trainer. Only sentencepiece_handle.cc uses libsentencepiece.
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
#include "text/sentencepiece/unigram_encoder.h"

namespace pipeline {

/// Version of the library at build time, e.g. "0.1.97".
std::string SentencePieceVersion();

/// Encodes lines as ids. Immutable and safe from any thread; each thread has its own Scratch.
class SentencePieceEncoder {
 public:
  /// Both engines give the same ids and ends. kOwn: UnigramEncoder for the lines that it can encode, the
  /// library for all others and for other types of models.
  enum class Engine : std::uint8_t { kOwn, kLibrary };

  /// Memory of one thread, reused from line to line; it never changes a result.
  class Scratch {
   public:
    Scratch();
    ~Scratch();
    Scratch(Scratch&&) noexcept;

   private:
    friend class SentencePieceEncoder;
    struct Pieces;
    std::unique_ptr<Pieces> pieces_;  // for the library
    UnigramEncoder::Scratch own_;
  };

  /// kDataLoss: `model` is no model, or the library refuses it.
  static Result<std::unique_ptr<const SentencePieceEncoder>> Load(std::string_view model,
                                                                  Engine engine = Engine::kOwn,
                                                                  SpaceMarks marks = SpaceMarks::kAreSpaces);
  ~SentencePieceEncoder();

  /// Appends the ids of `line`, and to `ends` for each id the offset of its end in `line`. Ends never
  /// decrease, and the last is line.size(). If several byte pieces form one character, the last one covers
  /// it, as in the library. A line that is empty after normalisation has no ids.
  Status Encode(std::string_view line, Scratch& scratch, std::vector<std::uint32_t>& ids,
                std::vector<std::uint32_t>& ends) const;
  Result<std::string> Decode(std::span<const std::uint32_t> ids) const;
  /// Whether U+2581 of a text comes back, as SpaceMarks::kBytes asks.
  bool keeps_marks() const { return !stand_in_.empty(); }
  /// Bytes beside those of the library.
  std::uint64_t own_memory() const { return own_ == nullptr ? 0 : own_->memory(); }

 private:
  struct Library;
  SentencePieceEncoder(std::unique_ptr<Library> library, std::unique_ptr<const UnigramEncoder> own);
  Status EncodeByLibrary(std::string_view line, Scratch& scratch, std::vector<std::uint32_t>& ids,
                         std::vector<std::uint32_t>& ends) const;
  Status EncodeWithMarks(std::string_view line, Scratch& scratch, std::vector<std::uint32_t>& ids,
                         std::vector<std::uint32_t>& ends) const;
  Status FindStandIn(const SentencePieceModel& model);

  std::unique_ptr<Library> library_;
  std::unique_ptr<const UnigramEncoder> own_;  // null: the library encodes all lines
  // The library knows U+2581 as a space alone. So it gets a character that no piece and no rule of the model
  // has, and that has as many bytes, and its ids are changed to those of U+2581.
  std::string stand_in_;  // empty: SpaceMarks::kAreSpaces
  std::vector<std::uint32_t> stand_in_ids_, mark_ids_;
};

/// Returns the replacements of a normalisation rule that the library brings along, such as "nmt_nfkc":
/// formats/sentencepiece_model.md. kInternal: the library has no such rule.
Result<std::string> LibraryCharsmap(std::string_view rule);

/// Trains a model with `options`, named as in the library, and returns its bytes. `next` sets the next
/// sentence; false: no more. The library cannot be stopped, and may end the process: call this in a process
/// of its own (TrainingChild). kFailedPrecondition has the message of the library.
Result<std::string> TrainSentencePiece(const std::map<std::string, std::string>& options,
                                       std::function<Result<bool>(std::string& sentence)> next);

}  // namespace pipeline
