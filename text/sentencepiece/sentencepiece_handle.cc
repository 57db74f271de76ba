#include "text/sentencepiece/sentencepiece_handle.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/str.h"
#include "formats/sentencepiece_model.h"
#include "text/utf8.h"

namespace pipeline {

namespace sp = ::sentencepiece;

std::string SentencePieceVersion() { return PIPE_SENTENCEPIECE_VERSION; }

struct SentencePieceEncoder::Library {
  sp::SentencePieceProcessor processor;
};

// The library's Encode to ids makes such an object for each line; one object for all lines takes two thirds
// of the time.
struct SentencePieceEncoder::Scratch::Pieces {
  sp::ImmutableSentencePieceText text;
  sp::SentencePieceText* mutable_text = text.mutable_proto();
};

SentencePieceEncoder::Scratch::Scratch() : pieces_(std::make_unique<Pieces>()) {}
SentencePieceEncoder::Scratch::~Scratch() = default;
SentencePieceEncoder::Scratch::Scratch(Scratch&&) noexcept = default;

SentencePieceEncoder::SentencePieceEncoder(std::unique_ptr<Library> library,
                                           std::unique_ptr<const UnigramEncoder> own)
    : library_(std::move(library)), own_(std::move(own)) {}
SentencePieceEncoder::~SentencePieceEncoder() = default;

Result<std::unique_ptr<const SentencePieceEncoder>> SentencePieceEncoder::Load(std::string_view model,
                                                                               Engine engine) {
  // The library does not check bounds, so this comes first.
  ASSIGN_OR_RETURN(const SentencePieceModel parsed, SentencePieceModel::Parse(model));
  auto library = std::make_unique<Library>();
  const sp::util::Status status = library->processor.LoadFromSerializedProto(model);
  if (!status.ok())
    return Status(Code::kDataLoss, StrCat("SentencePiece refuses the model: ", status.error_message()));
  auto own = engine == Engine::kOwn ? UnigramEncoder::Make(parsed) : nullptr;
  return std::unique_ptr<const SentencePieceEncoder>(
      new SentencePieceEncoder(std::move(library), std::move(own)));
}

Status SentencePieceEncoder::Encode(std::string_view line, Scratch& scratch, std::vector<std::uint32_t>& ids,
                                    std::vector<std::uint32_t>& ends) const {
  if (own_ == nullptr || !IsCleanUtf8(line)) return EncodeByLibrary(line, scratch, ids, ends);
  own_->Encode(line, scratch.own_, ids, ends);
  return {};
}

Status SentencePieceEncoder::EncodeByLibrary(std::string_view line, Scratch& scratch,
                                             std::vector<std::uint32_t>& ids,
                                             std::vector<std::uint32_t>& ends) const {
  const sp::util::Status status = library_->processor.Encode(line, scratch.pieces_->mutable_text);
  if (!status.ok())
    return Status(Code::kInternal, StrCat("SentencePiece cannot encode a line: ", status.error_message()));
  const sp::ImmutableSentencePieceText& text = scratch.pieces_->text;
  const int pieces = static_cast<int>(text.pieces_size());
  for (int at = 0; at < pieces; ++at) {
    const auto piece = text.pieces(at);
    ids.push_back(piece.id());
    ends.push_back(piece.end());
  }
  if (pieces > 0)
    ends.back() = static_cast<std::uint32_t>(line.size());  // the library removed white space at the end
  return {};
}

Result<std::string> SentencePieceEncoder::Decode(std::span<const std::uint32_t> ids) const {
  std::vector<int> numbers(ids.size());
  std::transform(ids.begin(), ids.end(), numbers.begin(),
                 [](std::uint32_t id) { return static_cast<int>(id); });
  std::string text;
  const sp::util::Status status = library_->processor.Decode(numbers, &text);
  if (!status.ok()) return Status(Code::kInvalidArgument, StrCat("cannot decode: ", status.error_message()));
  return text;
}

namespace {

/// Gets one sentence at a time, so that only the library holds all of them.
class Sentences final : public sp::SentenceIterator {
 public:
  explicit Sentences(std::function<Result<bool>(std::string& sentence)> next) : next_(std::move(next)) {
    Next();
  }

  bool done() const override { return done_; }
  void Next() override {
    const Result<bool> more = next_(value_);
    done_ = !more.ok() || !*more;
    if (!more.ok())
      status_ = sp::util::Status(sp::util::StatusCode::kDataLoss, std::string(more.status().message()));
  }
  const std::string& value() const override { return value_; }
  sp::util::Status status() const override { return status_; }

 private:
  std::function<Result<bool>(std::string& sentence)> next_;
  std::string value_;
  bool done_ = false;
  sp::util::Status status_;
};

}  // namespace

Result<std::string> TrainSentencePiece(const std::map<std::string, std::string>& options,
                                       std::function<Result<bool>(std::string& sentence)> next) {
  Sentences sentences(std::move(next));
  const std::unordered_map<std::string, std::string> arguments(options.begin(), options.end());
  std::string model;
  const sp::util::Status status = sp::SentencePieceTrainer::Train(arguments, &sentences, &model);
  if (!status.ok()) return Status(Code::kFailedPrecondition, status.error_message());
  return model;
}

// The library shows its rules in no header, but it writes them into each model. A model of one character
// costs a millisecond, and no text of a user is involved that could end the process.
Result<std::string> LibraryCharsmap(std::string_view rule) {
  bool given = false;
  const Result<std::string> bytes = TrainSentencePiece({{"model_type", "char"},
                                                        {"vocab_size", "8"},
                                                        {"hard_vocab_limit", "false"},
                                                        {"num_threads", "1"},
                                                        {"minloglevel", "1"},
                                                        {"normalization_rule_name", std::string(rule)}},
                                                       [&given](std::string& sentence) -> Result<bool> {
                                                         sentence = "a";
                                                         return !std::exchange(given, true);
                                                       });
  if (!bytes.ok()) return Status(Code::kInternal, StrCat("SentencePiece: ", bytes.status().message()));
  ASSIGN_OR_RETURN(const SentencePieceModel model, SentencePieceModel::Parse(*bytes));
  return std::string(model.charsmap());
}

}  // namespace pipeline
