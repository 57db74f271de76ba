"""Text of a person's own, as the pages of the project mean it: Japanese and Korean documents, and tables with labels."""

import json
import lzma
import random
import struct

DOCUMENTS = 97

WHO = ["猫", "犬", "鳥", "子供", "先生", "友人", "老人", "医者", "漁師", "駅員", "祖母", "隣の人"]
WHERE = ["庭", "学校", "駅", "川", "町", "山", "海", "台所", "図書館", "橋の上", "神社", "畑"]
WHEN = ["朝", "昼", "夕方", "夜", "雨の日", "春", "冬の終わり", "昨日", "祭りの日"]
WHAT = ["歩いた", "眠った", "走った", "笑った", "話した", "待っていた", "歌った", "手紙を読んだ", "本を書いた", "雪を見た"]
KOREAN_WHO = ["고양이가", "강아지가", "아이가", "선생님이", "친구가", "할머니가", "이웃이", "배우가", "감독이"]
KOREAN_WHERE = ["마당에서", "학교에서", "역에서", "강가에서", "마을에서", "극장에서", "바다에서", "부엌에서"]
KOREAN_WHAT = ["걸었다", "잤다", "달렸다", "웃었다", "노래했다", "기다렸다", "책을 읽었다", "영화를 봤다"]
GOOD, BAD = ["정말 재미있다", "최고의 영화", "또 보고 싶다", "감동이다 ㅠㅠ"], ["너무 지루하다", "돈이 아깝다", "다시는 안 본다", "별로다 ㅋㅋ"]
FEELINGS = {"good": ["楽しい", "最高だ", "嬉しい"], "bad": ["悲しい", "最悪だ", "退屈だ"], "news": ["発表した", "始まる", "開かれる"]}


def japanese(chance):
    return f"{chance.choice(WHEN)}、{chance.choice(WHO)}は{chance.choice(WHERE)}で{chance.choice(WHAT)}。"


def korean(chance):
    return f"{chance.choice(KOREAN_WHO)} {chance.choice(KOREAN_WHERE)} {chance.choice(KOREAN_WHAT)}."


def documents(count, seed=3):
    """`count` documents, each a list of lines; every fifth is Korean."""
    chance = random.Random(seed)
    for number in range(count):
        sentence = korean if number % 5 == 4 else japanese
        yield ["".join(sentence(chance) for _ in range(chance.randrange(1, 4))) for _ in range(chance.randrange(2, 9))]


def plain(count, seed=3):
    """A line per paragraph, a blank line after each document."""
    return "".join("\n".join(lines) + "\n\n" for lines in documents(count, seed))


def without_blank_lines(size, seed=3):
    """At least `size` bytes in lines, as most programs write text."""
    made, lines = 0, []
    for document in documents(size, seed):
        lines += document
        made += sum(len(line.encode()) + 1 for line in document)
        if made >= size:
            break
    return "\n".join(lines) + "\n"


def articles(count, seed=3, first=1):
    """Rows of JSON Lines as README shows them; every seventh has an advertisement."""
    chance = random.Random(seed)
    for number, lines in enumerate(documents(count, seed)):
        text = lines + ["広告:お得な品物"] * (number % 7 == 0)
        yield {"id": first + number, "title": f"{chance.choice(WHO)}の話", "text": "\n".join(text)}


def json_lines(rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def reviews(count, seed):
    """A table as NSMC's: id, document, label."""
    chance = random.Random(seed)
    rows = (f"{1000 + number}\t{korean(chance)} {chance.choice(BAD if number % 2 else GOOD)}\t{1 - number % 2}\n"
            for number in range(count))
    return "id\tdocument\tlabel\n" + "".join(rows)


def tweets(count, seed=3):
    """A table of tweets with labels."""
    chance, labels = random.Random(seed), list(FEELINGS)
    rows = (f"{japanese(chance)}{chance.choice(FEELINGS[labels[number % 3]])}\t{labels[number % 3]}\n" for number in range(count))
    return "text\tlabel\n" + "".join(rows)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def field(tag, data):
    """A message of protocol buffers, or bytes, of less than 16 KiB in a field."""
    size = len(data)
    return bytes([tag << 3 | 2, *([size] if size < 128 else [size & 127 | 128, size >> 7])]) + data


def tfrecord(texts):
    """TFRecord with a tf.Example with the feature `text` for each text."""
    def masked(data):
        crc = crc32c(data)
        return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)

    made = b""
    for text in texts:
        entry = field(1, b"text") + field(2, field(1, field(1, text.encode())))
        record = field(1, field(1, entry))
        length = struct.pack("<Q", len(record))
        made += length + masked(length) + record + masked(record)
    return made


def wiki40b(count, seed=3):
    """Articles with the marks of wiki40b."""
    return tfrecord("\n_START_ARTICLE_\n猫\n_START_PARAGRAPH_\n" + "_NEWLINE_".join(lines) for lines in documents(count, seed))


def put_bert(directory, hidden=32, layers=1, positions=128, seed=3):
    """A BERT as transformers saves it, of random weights, whose pieces are the characters of Korean reviews."""
    chance, text = random.Random(seed), reviews(400, seed)
    letters = sorted(set(text) - set(" \t\n"))
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    shapes = {"embeddings.word_embeddings.weight": (len(pieces), hidden),
              "embeddings.position_embeddings.weight": (positions, hidden),
              "embeddings.token_type_embeddings.weight": (2, hidden)}
    for layer in range(layers):
        at = f"encoder.layer.{layer}"
        shapes |= {f"{at}.{part}.weight": shape for part, shape in {
            **{f"attention.{name}": (hidden, hidden) for name in ("self.query", "self.key", "self.value", "output.dense")},
            "intermediate.dense": (4 * hidden, hidden), "output.dense": (hidden, 4 * hidden)}.items()}
    shapes["transform"] = (hidden, hidden)
    tensors = {f"bert.{name}" if name != "transform" else "cls.predictions.transform.dense.weight":
               (shape, [chance.gauss(0, 0.02) for _ in range(shape[0] * shape[1])]) for name, shape in shapes.items()}
    for name, (shape, _) in list(tensors.items()):
        if not name.startswith("bert.embeddings"):
            tensors[f"{name.removesuffix('weight')}bias"] = ((shape[0],), [0.0] * shape[0])
    norms = ["bert.embeddings", "cls.predictions.transform",
             *(f"bert.encoder.layer.{layer}.{part}" for layer in range(layers) for part in ("attention.output", "output"))]
    for norm in norms:
        tensors[f"{norm}.LayerNorm.weight"] = ((hidden,), [1.0] * hidden)
        tensors[f"{norm}.LayerNorm.bias"] = ((hidden,), [0.0] * hidden)
    tensors["cls.predictions.bias"] = ((len(pieces),), [0.0] * len(pieces))
    head, data = {}, b""
    for name, (shape, values) in tensors.items():
        packed = struct.pack(f"<{len(values)}f", *values)
        head[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    front = json.dumps(head).encode()
    directory.mkdir()
    (directory / "model.safetensors").write_bytes(struct.pack("<Q", len(front)) + front + data)
    (directory / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    (directory / "config.json").write_text(json.dumps({
        "model_type": "bert", "architectures": ["BertForMaskedLM"], "vocab_size": len(pieces), "hidden_size": hidden,
        "num_hidden_layers": layers, "num_attention_heads": 2, "intermediate_size": 4 * hidden, "hidden_act": "gelu",
        "max_position_embeddings": positions, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "pad_token_id": 0}))


def put_files(home, count=DOCUMENTS):
    """Writes the files that the pages take for a person's own."""
    packed = lzma.compress(plain(count).encode())
    for name in ("novels.txt.xz", "ja.txt.xz"):
        (home / name).write_bytes(packed)
    chance = random.Random(5)
    for name, text in {
            "ratings_train.txt": reviews(4 * count, 3), "ratings_test.txt": reviews(count, 4),
            "tweets.tsv": tweets(4 * count), "tweets.txt": "".join(japanese(chance) + "\n" for _ in range(5)),
            "reviews.txt": "".join(korean(chance) + "\n" for _ in range(5))}.items():
        (home / name).write_text(text, encoding="utf-8")
