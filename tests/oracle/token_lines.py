"""The head of a pipeline: from a text to the ids of its documents, in small partitions, with a tokenizer of its own."""

FILE = """\
pipe: 1
name: packed
vars: { out: "", corpus: "" }
limits: { memory: 1GiB }
stages:
  source: { type: download, url: "${corpus}" }
  lines: { type: decompress, input: source, partition: 48KiB, max_record_bytes: 16KiB }
  clean: { type: normalize, input: lines, form: nfkc }
  docs: { type: split, input: clean, splits: { train: rest, validation: 0.1 } }
  pick: { type: sample, input: docs, split: train, bytes: 100KB }
  tokenizer: { type: train_tokenizer, input: pick, vocab_size: 1000, character_coverage: 0.98, byte_fallback: true,
               out: "${out}/tokenizer" }
  tokens: { type: encode, input: docs, tokenizer: tokenizer }
"""
