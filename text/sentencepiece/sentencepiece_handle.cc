#include "text/sentencepiece/sentencepiece_handle.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "base/str.h"
#include "formats/sentencepiece_model.h"
#include "text/tokenizer_corpus.h"
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
                                                                               Engine engine,
                                                                               SpaceMarks marks) {
  // The library does not check bounds, so this comes first.
  ASSIGN_OR_RETURN(const SentencePieceModel parsed, SentencePieceModel::Parse(model));
  auto library = std::make_unique<Library>();
  const sp::util::Status status = library->processor.LoadFromSerializedProto(model);
  if (!status.ok())
    return Status(Code::kDataLoss, StrCat("SentencePiece refuses the model: ", status.error_message()));
  auto own = engine == Engine::kOwn ? UnigramEncoder::Make(parsed, marks) : nullptr;
  std::unique_ptr<SentencePieceEncoder> encoder(new SentencePieceEncoder(std::move(library), std::move(own)));
  if (marks == SpaceMarks::kBytes && parsed.byte_fallback()) RETURN_IF_ERROR(encoder->FindStandIn(parsed));
  return std::unique_ptr<const SentencePieceEncoder>(std::move(encoder));
}

Status SentencePieceEncoder::FindStandIn(const SentencePieceModel& model) {
  constexpr char32_t kFirst = 0xE000, kLast = 0xF8FF;  // characters for private use
  std::array<std::uint32_t, 256> byte_ids{};
  for (std::size_t id = 0; id < model.pieces().size(); ++id)
    if (const SentencePiece& piece = model.pieces()[id]; piece.type == PieceType::kByte)
      byte_ids[static_cast<std::size_t>(ByteOfPiece(piece.text))] = static_cast<std::uint32_t>(id);
  const auto ids_of = [&byte_ids](std::string_view text) {
    std::vector<std::uint32_t> ids;
    for (const char byte : text) ids.push_back(byte_ids[static_cast<unsigned char>(byte)]);
    return ids;
  };
  Scratch scratch;
  std::vector<std::uint32_t> ids, ends;
  std::array<char, 4> bytes{};
  for (char32_t code = kFirst; code <= kLast; ++code) {
    const std::string_view text = EncodeCharacter(code, bytes);
    const auto has_it = [text](const SentencePiece& piece) {
      return piece.text.find(text) != std::string_view::npos;
    };
    if (std::any_of(model.pieces().begin(), model.pieces().end(), has_it)) continue;
    ids.clear(), ends.clear();
    RETURN_IF_ERROR(EncodeByLibrary(text, scratch, ids, ends));
    stand_in_ids_ = ids_of(text);
    if (std::search(ids.begin(), ids.end(), stand_in_ids_.begin(), stand_in_ids_.end()) == ids.end())
      continue;
    stand_in_ = text;
    mark_ids_ = ids_of(kSpaceMark);
    return {};
  }
  return Status(Code::kInvalidArgument, "the model has a piece or a rule for each character for private use");
}

Status SentencePieceEncoder::Encode(std::string_view line, Scratch& scratch, std::vector<std::uint32_t>& ids,
                                    std::vector<std::uint32_t>& ends) const {
  if (own_ == nullptr || !IsCleanUtf8(line))
    return keeps_marks() && line.find(kSpaceMark) != std::string_view::npos
               ? EncodeWithMarks(line, scratch, ids, ends)
               : EncodeByLibrary(line, scratch, ids, ends);
  own_->Encode(line, scratch.own_, ids, ends);
  return {};
}

Status SentencePieceEncoder::EncodeWithMarks(std::string_view line, Scratch& scratch,
                                             std::vector<std::uint32_t>& ids,
                                             std::vector<std::uint32_t>& ends) const {
  std::string text;
  std::vector<bool> is_mark;  // by the stand-ins of `text`, some of which may be those of the line
  while (!line.empty()) {
    const bool mark = line.starts_with(kSpaceMark);
    if (mark || line.starts_with(stand_in_)) is_mark.push_back(mark);
    const std::size_t bytes = mark ? kSpaceMark.size() : 1;
    text += mark ? std::string_view(stand_in_) : line.substr(0, 1);
    line.remove_prefix(bytes);
  }
  auto from = static_cast<std::ptrdiff_t>(ids.size());
  RETURN_IF_ERROR(EncodeByLibrary(text, scratch, ids, ends));
  for (const bool mark : is_mark) {
    const auto found = std::search(ids.begin() + from, ids.end(), stand_in_ids_.begin(), stand_in_ids_.end());
    if (found == ids.end()) return Status(Code::kInternal, "U+2581 has no ids [this is a bug]");
    if (mark) std::copy(mark_ids_.begin(), mark_ids_.end(), found);
    from = found - ids.begin() + static_cast<std::ptrdiff_t>(mark_ids_.size());
  }
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
