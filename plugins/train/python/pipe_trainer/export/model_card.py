"""README.md of an export: the model, the data that it learned from, its scores, its use."""

import json

from ..data.vocabulary import begin_of
from ..objectives import registry

ARCHITECTURES = {
    "llama": "Llama: RMSNorm, rotary positions, SwiGLU",
    "bert": "BERT: LayerNorm behind each half of a layer, learned positions, GELU",
    "t5": "T5 1.1: RMSNorm, a bias for each distance, GELU with a gate; as many layers in the decoder",
}
UNGATED = "T5: RMSNorm, a bias for each distance, ReLU; as many layers in the decoder"
# The use of an export with a loader of its own.
BY_TORCH = """    import sentencepiece, torch_model
    tokenizer, model = sentencepiece.SentencePieceProcessor("tokenizer.model"), torch_model.load(".")
    ids, = model.write([[model.config["eos_token_id"], *tokenizer.encode("...")]])
    print(tokenizer.decode([one for one in ids if one < tokenizer.vocab_size()]))

`torch_model.py` needs torch alone; transformers has no such model. `pipe predict` and `pipe eval` read it, too.
"""
LEAST_ZEROS = 0.001  # share that is told: a fresh weight is 0 by chance
NAMES = {"majority": "the most frequent label", "mean": "the mean", "uniform": "uniform", "unigram": "unigram, add-one",
         "bigram_kn": "bigram, Kneser-Ney"}


def text(config, tokenizer, facts):
    """Returns the page. Each of `facts` may be missing: `name`, `recipe`, `seed`, `steps`, `tokens`, `params`, `config`
    (resolved), `evaluation` (from evaluate.score), `baselines` (from baselines.compute), `lineage` (from the job),
    `weights` (whether only targets of weight 1 were trained on), `init_from` (the end of the path of the model that the
    training began with), `adapters` (of resume.adapters_of, with the number of their `params`), `samples` (with
    `prompt` and `text`), `rules` (of text.rules_of), `tokenizer_json` (whether the export has one),
    `zeros` (the share of leaner.zeros), `leaner` (rows of costs.measured, with `bytes_of_file`), `bytes_of_rows` (share
    of the ids that llama.cpp never makes of text)."""
    told = facts.get("config", {}).get("objective")
    learned = registry.OBJECTIVES[told["name"]] if told else registry.implied(config)
    parts = [head(learned, config, facts), shape(config, tokenizer, facts), measured(learned, facts),
             leaner(learned.answering, facts), use(learned, config, tokenizer, facts), lineage(facts)]
    return "\n".join(part for part in parts if part)


def head(learned, config, facts):
    library = "transformers" if "transformers" in config.exports else "pytorch"
    front = f"---\nlibrary_name: {library}\npipeline_tag: {learned.task}\ntags:\n- pipe\n---\n"
    return f"{front}# {facts.get('name', 'model')}\n\n{learned.said}, trained by `pipe` from raw text.\n"


def table(columns, rows):
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]) + "\n"


def number(value):
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"


def shape(config, tokenizer, facts):
    known = ARCHITECTURES[config.family] if config.gated else UNGATED
    rows = [("architecture", known + config.additions), ("layers", config.layers),
            ("width", config.d), ("heads", f"{config.heads}, {config.kv_heads} for keys and values"),
            ("feed-forward width", config.ff), *experts(config), ("sequence length", config.seq_len),
            ("vocabulary", f"{config.vocab:,} (layout {tokenizer.get('layout', '-')})"),
            ("tokenizer", f"XXH3-128 {tokenizer.get('model_digest', '-')}")]
    if facts.get("init_from"):
        rows.append(("began with", f"`{facts['init_from']}`"))
    if facts.get("adapters"):
        lora = facts["adapters"]["lora"]
        rows.append(("low-rank adapters", f"rank {lora['rank']}, alpha {lora['alpha']:g}, of {lora['targets']}: "
                                          f"{number(facts['adapters']['params'])} parameters were learned, and are "
                                          f"merged into the matrices"))
        rows.append(("frozen weights", f"their SHA-256 begins with {facts['adapters']['base']}"))
    if facts.get("zeros", 0) >= LEAST_ZEROS:
        rows.append(("zeros", f"{facts['zeros']:.2%} of the weights of the matrices of the layers"))
    rows += [(name, number(facts[key])) for key, name in (("params", "parameters"), ("steps", "steps"),
                                                          ("tokens", "tokens seen"), ("seed", "seed"))
             if facts.get(key) is not None]
    return "## The model\n\n" + table(("", ""), rows)


def experts(config):
    """Returns the row about experts, if there are any."""
    said = (f"{config.experts} in every layer that {config.expert_every} divides, {config.expert_top} for a position; "
            f"an expert takes at most {config.expert_eval_capacity:g} / {config.experts} of the positions of a row")
    return [("experts", said)] if config.experts else []


def measured(learned, facts):
    answering = learned.answering
    evaluation = facts.get("evaluation")
    if not evaluation:
        return ""
    of_labels = labelled(answering, evaluation, facts.get("baselines", ())) if "documents" in evaluation else ""
    baselines = [item for item in facts.get("baselines", ()) if "nats_per_token" in item]
    if of_labels and not baselines:
        return f"## Measured\n{of_labels}"
    rows = [("**this model**", evaluation["loss"], evaluation)]
    rows += [(NAMES.get(item["name"], item["name"]), item["nats_per_token"], item) for item in baselines]
    cells = [(name, number(loss), number(item["bits_per_byte"]), number(item["bits_per_char"]))
             for name, loss, item in rows]
    if not evaluation["bytes"]:
        said = learned.said_beside(evaluation) or " The unigram and the bigram predict every id that may be hidden."
        return (f"## Measured\n\n{table(('', 'nats/hidden id'), [cell[:2] for cell in cells])}\n"
                f"{evaluation['targets']:,} hidden ids of held-out text.{said}\n{of_labels}")
    said = (f"{evaluation['targets']:,} targets, {evaluation['bytes']:,} bytes, {evaluation['chars']:,} "
            f"characters of held-out text. A line end counts as one byte and one character. Bits compare across "
            f"tokenizers, nats per token do not.")
    counted = next((item for item in baselines if item.get("train_targets_of")), None)
    if counted and counted["train_targets"] < counted["train_targets_of"]:
        said += (f" The unigram and the bigram were counted on {counted['train_targets']:,} of "
                 f"{counted['train_targets_of']:,} training targets.")
    if facts.get("weights"):
        said += " Its rows have loss weights: only targets of weight 1 were trained on, and only they are measured."
    if evaluation.get("unk_rate"):
        said += f" {evaluation['unk_rate']:.2%} of the targets are unknown ids, so that bits would mislead."
    return f"## Measured\n\n{table(('', 'nats/token', 'bits/byte', 'bits/character'), cells)}\n{said}\n{of_labels}"


def labelled(answering, evaluation, baselines):
    """Returns the scores of answers, and the confusion of classes."""
    rows = [("**this model**", evaluation)]
    rows += [(NAMES[item["name"]], item) for item in baselines if "documents" in item]
    said = table(("", *answering.metrics.values()),
                 [(name, *(number(item[key]) for key in answering.metrics)) for name, item in rows])
    by_label = ""
    if evaluation.get("confusion"):
        by_label = "\n" + table(("label, by answer", *evaluation["labels"], "F1"), [
            (name, *row, number(f1)) for name, row, f1 in
            zip(evaluation["labels"], evaluation["confusion"], evaluation["f1"])])
    return f"\n{said}{by_label}\n{evaluation['documents']:,} held-out documents with {answering.each}.\n"


def leaner(answering, facts):
    """Returns the prices of leaner weights: the rows of costs.measured, with `bytes_of_file`."""
    rows = facts.get("leaner")
    if not rows:
        return ""
    first = rows[0]
    metrics, loss = (answering.metrics, answering.unit) if "documents" in first else ({}, "nats/hidden id")
    scores = [("loss", "nats/token" if first["bytes"] else loss),
              *([("bits_per_byte", "bits/byte"), ("bits_per_char", "bits/character")] if first["bytes"] else []),
              *metrics.items()]
    cells = [(f"`{row['file']}`" if row["file"] else "as trained, in no file", row["weights"],
              number(row["bytes_of_file"]), *(number(row[key]) for key, _ in scores)) for row in rows]
    said = f"Each file was evaluated on the same {first['targets']:,} targets, with the weights that its reader has."
    if not first["file"]:
        said += " All files have the zeros, which take as much space as other weights until a compressor packs them."
    if any(row["file"] == "int8.safetensors" for row in rows):
        said += (" In `int8.safetensors`, a tensor `NAME` of type I8 stands for the matrix `NAME` times the scales "
                 "`NAME.scale`, one for each of its rows; all other tensors are as in `model.safetensors`.")
    if any(str(row["file"]).endswith(".gguf") for row in rows):
        said += " The `.gguf` files are for llama.cpp: `llama-completion -m FILE -p \"...\"`."
        if facts.get("rules"):
            said += f" Bring a prompt to the form of the corpus first ({form_of(facts)}): llama.cpp does not."
        if facts.get("bytes_of_rows") is not None:
            said += (f" Where a character has no piece, llama.cpp reads the unknown id, and training saw the bytes of "
                     f"the character: {facts['bytes_of_rows']:.2%} of the ids of the validation rows are such bytes.")
    return f"## Leaner forms\n\n{table(('file', 'weights', 'bytes', *(name for _, name in scores)), cells)}\n{said}\n"


def normalised(tokenizer, facts):
    """Returns the sentences about bringing a prompt to the form of the corpus."""
    if "tokenizer_json" not in facts:
        return ""
    if facts.get("rules", ()) is None:
        return (" The corpora of the mixture had different rules of `normalize`: bring a prompt to the form of its own "
                "corpus first.")
    form = form_of(facts)
    if "morphemes" in tokenizer:
        first = f" Bring a text to the form of the corpus first ({form})." if form else ""
        return (f"{first} Its words are morphemes: `BertJapaneseTokenizer` of transformers cuts them with MeCab, and "
                f"wants the dictionary of the stage `segment_words` below as `mecab_kwargs`.")
    if begin_of(tokenizer) is not None:
        first = f" brings a text to the form of the corpus ({form}), and then" if form else ""
        other = f" Who takes `{tokenizer['model']}` instead brings the text to that form first." if form else ""
        return (f" `tokenizer.json`{first} makes the ids that training saw, but where a text spells a piece such as "
                f"`[SEP]`.{other}")
    if not facts["tokenizer_json"]:
        first = f" Bring a prompt to the form of the corpus first ({form}): nothing here does." if form else ""
        return f"{first} transformers does not know this kind of tokenizer: make ids with `sentencepiece`."
    first = f" brings a prompt to the form of the corpus ({form}), and then" if form else ""
    other = " Who takes `tokenizer.model` instead brings the text to that form first." if form else ""
    return (f" `tokenizer.json`{first} makes the ids that training saw, but where two ways to cut a text are equally "
            f"likely, and where a text has the character `▁`.{other}")


def form_of(facts):
    """Returns the rules of the corpus in words; "" where there are none."""
    return "; then ".join(rule.said() for rule in facts.get("rules") or ())


def use(learned, config, tokenizer, facts):
    said = ("A text stands between the pieces `[CLS]` and `[SEP]`, which the tokenizer puts there."
            if begin_of(tokenizer) is not None else
            "A document begins with the end mark `</s>`, which the tokenizer settings put before a prompt.")
    if tokenizer.get("newline_id", -1) >= 0:
        said += " Lines end with an id of their own."
    shown = learned.use if "transformers" in config.exports else BY_TORCH + learned.behind_use
    return f"## Use\n\n{said}{normalised(tokenizer, facts)}\n\n{shown}"


def lineage(facts):
    parts = []
    if facts.get("recipe"):
        parts.append(f"Recipe of the training: `{facts['recipe']}`.\n")
    for port, title in (("data", "Rows"), ("tokenizer", "Tokenizer"), ("init_from", "Initial model")):
        made = (facts.get("lineage") or {}).get(port)
        if made:
            digests = f"Recipe `{made.get('recipe', '-')}`, content `{made.get('content', '-')}`."
            parts.append(f"### {title}\n\n{digests}\n")
            parts.append(stages(made.get("lineage", ())))
    if facts.get("config"):
        resolved = json.dumps(facts["config"], indent=1, ensure_ascii=False)
        parts.append(f"### Training\n\n```json\n{resolved}\n```\n")
    for sample in facts.get("samples", ()):
        parts.append(f"### A sample\n\n> **{line(sample['prompt'])}**{line(sample['text'])}\n")
    return "## Lineage\n\n" + "\n".join(parts) if parts else ""


def line(value):
    return str(value).replace("\n", "  \n> ")


def stages(entries):
    rows = []
    for stage in entries:
        settings = ", ".join(f"{key}: {json.dumps(value, ensure_ascii=False)}"
                             for key, value in stage.get("config", {}).items())
        sources = ", ".join(f"{source['name']} `{source['digest']}`" for source in stage.get("sources", ()))
        rows.append((stage.get("stage", "-"), f"{stage.get('type', '-')} {stage.get('version', '')}",
                     (settings or "-").replace("|", "\\|"), (sources or "-").replace("|", "\\|")))
    return table(("stage", "type", "settings", "sources, by digest"), rows) if rows else ""
