// A model that is read is written as the same bytes, and stays a model through every change that we make.
#include <string>
#include <string_view>

#include "formats/sentencepiece_model.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace pipeline;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto message = ProtoMessage::Parse(bytes);
  if (message.ok()) Require(message->Serialize() == bytes);

  auto model = SentencePieceModel::Parse(bytes);
  if (!model.ok()) {
    Require(model.status().code() == Code::kDataLoss);
    return 0;
  }
  Require(model->Serialize() == bytes);
  Require(model->special_ids().unk >= 0 && !model->Vocabulary().empty());

  SentencePiece sentinel{"<a piece that is new>", 0, PieceType::kUserDefined};
  for (const SentencePiece& piece : model->pieces())
    if (piece.text == sentinel.text) return 0;
  model->AppendPiece(sentinel);
  model->ScrubTrainer();
  model->RemoveCharsmap();
  model->SetSpacing(false, false);
  const auto back = SentencePieceModel::Parse(model->Serialize());
  Require(back.ok() && back->pieces() == model->pieces() && back->pieces().back() == sentinel);
  Require(back->model_type() == model->model_type() && !back->adds_dummy_prefix());
  return 0;
}
