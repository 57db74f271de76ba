"""A SentencePiece model of the type unigram as a tokenizer of Hugging Face's `tokenizers`."""

import sentencepiece
from tokenizers import Tokenizer, models, normalizers


def of_model(path):
    """With NFKC, and spaces as U+2581, as the models of `bench/packed.yaml` have them."""
    model = sentencepiece.SentencePieceProcessor(model_file=path)
    pieces = [(model.id_to_piece(number), model.get_score(number)) for number in range(len(model))]
    made = Tokenizer(models.Unigram(pieces, model.unk_id(), byte_fallback=True))
    made.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(" ", "\u2581")])
    return made
