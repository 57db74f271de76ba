#!/usr/bin/env python3
"""No text in any encoding becomes another text with exit 0: 52 encodings, five sizes and three kinds of text.

    encoding_matrix.py PIPE [SCENARIO...]
    encoding_matrix.py --peers            the table PEERS anew, with the packages charset-normalizer and chardet

A first run over all files tells which of them are refused. A second run over the others must publish their text.
"""

import functools
import json
import random
import sys
import unicodedata
from collections import Counter

import replan_support as support
from replan_support import Sandbox, check

SIZES = (200, 1_000, 5_000, 50_000, 1_000_000)
KINDS = ("prose", "table", "headings")

# By language: sentences, then short names, then openings of headings. All are invented.
TEXTS = {
    "ja": ("昨日は友達と駅の近くの寺に行きました。|「雨が降りそうだね」と母が言った。|新しい図書館には子供の本がたくさんある。|"
           "データをコピーしたあと、パソコンの電源を切ってください。|祖父は毎朝五時に起きて、畑の様子を見に行く。",
           "佐藤 花子|高橋 健一|渡辺 誠|小林 久美子|仙台市青葉区|鯖江市|鴻巣市|宇都宮市|松本 翔太|斎藤 恵子",
           "第{}章 |{}月{}日 |問{} |【第{}回】"),
    "ko": ("어제 친구랑 영화를 봤는데 정말 재미있었어요.|비가 올 것 같다고 어머니가 말했다.|새로 생긴 도서관에는 어린이 책이 많다.|"
           "지하철이 늦어서 약속 시간에 늦었다.|할머니는 아침마다 마당에서 꽃에 물을 주신다.",
           "김민준|이서연|박도윤|최지우|서울특별시 강남구|부산광역시 해운대구|전주시|제주시|정은주|강성호", "제{}장 |{}월 {}일 |문제 {} "),
    "zh": ("昨天我和朋友去了车站附近的公园。|妈妈说今天可能会下雨。|新的图书馆里有很多孩子看的书。|老师让我们明天上午把作业交上来。",
           "王小明|李华|张伟|刘洋|北京市东城区|上海市静安区|成都市|陈静", "第{}章 |第{}节 |{}月{}日 "),
    "tw": ("昨天我和朋友去了車站附近的公園。|媽媽說今天可能會下雨。|新的圖書館裡有很多孩子看的書。|老師讓我們明天上午把作業交上來。",
           "王小明|李華|張偉|劉洋|臺北市中正區|高雄市鼓山區|臺南市|陳靜", "第{}章 |第{}節 |{}月{}日 "),
    "ru": ("Вчера мы с другом ходили в парк возле вокзала.|Мама сказала, что скоро пойдёт дождь.|В новой библиотеке много детских книг.|"
           "Дедушка каждое утро поливает цветы.", "Иванов|Смирнова|Кузнецов|Москва|Казань|Попова", "Глава {}. |Часть {} |Урок {} "),
    "uk": ("Учора ми з другом ходили до парку біля вокзалу.|Мама сказала, що скоро буде дощ.|У новій бібліотеці багато дитячих книжок.",
           "Шевченко|Коваленко|Київ|Львів|Мельник", "Розділ {}. |Частина {} "),
    "fr": ("L'été dernier, nous sommes allés à la plage.|Ma mère a dit qu'il allait pleuvoir bientôt.|La bibliothèque a reçu des livres très drôles.|"
           "Où as-tu laissé le gâteau de Noël ?", "Hélène|François|Orléans|Besançon|Zoé|Gérard", "Première leçon {} |Déjà vu {} "),
    "de": ("Gestern waren wir im Park in der Nähe des Bahnhofs.|Die Mutter sagte, es würde bald regnen.|Große Bücher stehen über der Tür.|"
           "Schöne Grüße aus Köln!", "Müller|Jürgen|Köln|Düsseldorf|Günther|Weiß", "Übung {} |Schlüssel {} "),
    "es": ("Ayer fuimos al parque que está cerca de la estación.|Mañana lloverá, dijo mi madre.|El niño leyó una canción en español.",
           "Muñoz|García|Córdoba|Málaga|Íñigo", "Lección {} |Capítulo {} "),
    "sv": ("Igår gick vi till parken nära stationen.|Mamma sa att det snart skulle börja regna på ön.|Det är många böcker för små barn där.",
           "Åsa|Björn|Malmö|Göteborg|Märta", "Övning {} |Två träd {} "),
    "pl": ("Wczoraj poszliśmy do parku koło stacji.|Mama powiedziała, że będzie padać deszcz.|W bibliotece jest dużo książek dla dzieci.|Żółta łódź płynie.",
           "Łukasz|Małgorzata|Kraków|Łódź|Gdańsk", "Rozdział {} |Część {} "),
    "cs": ("Včera jsme šli do parku u nádraží.|Maminka řekla, že bude pršet.|V nové knihovně je hodně dětských knížek.",
           "Dvořák|Jiří|Plzeň|Třebíč|Růžena", "Část {} |Příběh {} "),
    "hu": ("Tegnap elmentünk a parkba az állomás mellé.|Anya azt mondta, hogy esni fog az eső.|Az új könyvtárban sok gyerekkönyv van.",
           "Kovács|Győr|Szűcs|Pécs|Zsófia", "Első rész {} |Fejezetről {} "),
    "el": ("Χθες πήγαμε με τον φίλο μου στο πάρκο.|Η μητέρα είπε ότι θα βρέξει σε λίγο.|Η νέα βιβλιοθήκη έχει πολλά παιδικά βιβλία.",
           "Γιώργος|Μαρία|Αθήνα|Πάτρα", "Κεφάλαιο {} |Μέρος {} "),
    "tr": ("Dün arkadaşımla istasyonun yanındaki parka gittik.|Annem birazdan yağmur yağacağını söyledi.|Yeni kütüphanede çok çocuk kitabı var.",
           "Ayşe|Gökhan|İstanbul|Çağla|Şırnak", "Bölüm {} |Ünite {} Çalışma "),
    "he": ("אתמול הלכנו לפארק ליד התחנה.|אמא אמרה שעוד מעט ירד גשם.|בספרייה החדשה יש הרבה ספרי ילדים.", "דוד|שרה|חיפה|ירושלים", "פרק {} |חלק {} "),
    "ar": ("ذهبنا أمس إلى الحديقة قرب المحطة.|قالت أمي إن المطر سينزل قريبا.|في المكتبة الجديدة كتب كثيرة للأطفال.", "محمد|فاطمة|القاهرة|دمشق", "الفصل {} |الجزء {} "),
    "th": ("เมื่อวานเราไปสวนสาธารณะใกล้สถานี|แม่บอกว่าฝนกำลังจะตก|ห้องสมุดใหม่มีหนังสือเด็กมากมาย", "สมชาย|มาลี|เชียงใหม่|ภูเก็ต", "บทที่ {} |ตอนที่ {} "),
    "vi": ("Hôm qua chúng tôi đi công viên gần nhà ga.|Mẹ nói rằng trời sắp mưa.|Thư viện mới có nhiều sách.", "Nguyễn|Trần|Huế|Đà Nẵng", "Chương {} |Phần {} "),
    "lt": ("Vakar su draugu nuėjome į parką prie stoties.|Mama sakė, kad tuoj lis.|Naujoje bibliotekoje daug vaikiškų knygų.", "Jonas|Žukauskas|Šiauliai|Giedrė", "Skyrius {} ė |Užduotis {} "),
}

# Languages and Python's codecs. The first are read: UTF-8, Japanese and Korean.
READ = [("ja", "utf-8"), ("ko", "utf-8"), ("fr", "utf-8"), ("ru", "utf-8"), ("zh", "utf-8-sig"), ("ja", "cp932"), ("ja", "shift_jis"),
        ("ja", "euc_jp"), ("ja", "iso2022_jp"), ("ja", "iso2022_jp_1"), ("ko", "euc_kr"), ("ko", "cp949"), ("ko", "johab"),
        ("ko", "iso2022_kr"), ("ja", "utf-16"), ("ja", "utf-16-le"), ("ko", "utf-16-be")]
OTHERS = [("zh", "gbk"), ("zh", "gb2312"), ("zh", "gb18030"), ("zh", "hz"), ("tw", "big5"), ("tw", "cp950"), ("tw", "big5hkscs"),
          ("ru", "koi8_r"), ("uk", "koi8_u"), ("ru", "cp1251"), ("ru", "iso8859_5"), ("ru", "cp866"), ("ru", "mac_cyrillic"),
          ("fr", "latin_1"), ("de", "cp1252"), ("es", "iso8859_15"), ("fr", "mac_roman"), ("sv", "cp850"), ("de", "cp437"),
          ("pl", "cp1250"), ("cs", "iso8859_2"), ("hu", "cp852"), ("el", "cp1253"), ("el", "iso8859_7"), ("tr", "cp1254"),
          ("he", "cp1255"), ("he", "iso8859_8"), ("ar", "cp1256"), ("ar", "iso8859_6"), ("lt", "cp1257"), ("vi", "cp1258"),
          ("th", "tis_620"), ("ru", "utf-7"), ("de", "cp037"), ("zh", "utf-32-le")]

READINGS = str.maketrans(dict(zip("アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲンャュョッー゙゚",
                                  "ｱｲｳｴｵｶｷｸｹｺｻｼｽｾｿﾀﾁﾂﾃﾄﾅﾆﾇﾈﾉﾊﾋﾌﾍﾎﾏﾐﾑﾒﾓﾔﾕﾖﾗﾘﾙﾚﾛﾜｦﾝｬｭｮｯｰﾞﾟ")))
KANA = "サトウ ハナコ|タカハシ ケンイチ|ワタナベ マコト|コバヤシ クミコ|センダイシアオバク|サバエシ|コウノスシ|ウツノミヤシ|マツモト ショウタ|サイトウ ケイコ"


def reading(name):
    """The half-width katakana of a name, as the postal service's table has it beside the kanji."""
    return unicodedata.normalize("NFD", KANA.split("|")[TEXTS["ja"][1].split("|").index(name)]).translate(READINGS)


@functools.cache
def text_of(language, kind, size):
    """Lines of about `size` bytes of UTF-8."""
    rng = random.Random(f"{language} {kind} {size}")
    sentences, names, openings = (part.split("|") for part in TEXTS[language])
    lines, got = [], 0
    while got < size:
        if kind == "prose":
            line = "".join(rng.sample(sentences, 2)) if language in ("ja", "zh", "tw", "th") else " ".join(rng.sample(sentences, 2))
        elif kind == "table":
            name = rng.choice(names)
            line = f"{rng.randrange(10000)},{name},{reading(name) if language == 'ja' else rng.choice(names)}"
        else:
            opening = rng.choice(openings)
            line = opening.format(*(rng.randrange(1, 40) for _ in range(opening.count("{}")))).rstrip()
        lines.append(line)
        got += len(line.encode()) + 1
    return lines


def encoded(lines, codec):
    """The lines without characters that `codec` lacks, and their bytes."""
    lacks = set()
    for c in set("".join(lines)):
        try:
            c.encode(codec)
        except UnicodeError:
            lacks.add(ord(c))
    kept = [line.translate(dict.fromkeys(lacks)) for line in lines] if lacks else lines
    return kept, ("\n".join(kept) + "\n").encode(codec)


def cells(read_only=False):
    """Of each cell: its name, encoding, kind, size, lines and bytes."""
    for language, codec in READ if read_only else READ + OTHERS:
        for kind in KINDS:
            for size in SIZES:
                lines, data = encoded(text_of(language, kind, size), codec)
                yield f"{codec}.{language}.{kind}.{size}", (language, codec), kind, size, lines, data


# Cells of READ that others name rightly, by size: they found an encoding in which the bytes are the text.
PEERS = {
    "charset-normalizer 3.5.3": {200: 49, 1_000: 50, 5_000: 48, 50_000: 49, 1_000_000: 49},
    "chardet 7.7.0": {200: 47, 1_000: 47, 5_000: 47, 50_000: 47, 1_000_000: 47},
}


class Files(Sandbox):
    """A pipeline that publishes the lines of files in their order."""

    def __init__(self):
        super().__init__()
        self.stages = {
            "source": {"type": "download", "url": []},
            "lines": {"type": "decompress", "input": "source", "documents": "line"},
            "jsonl": {"type": "write_jsonl", "input": "lines", "unit": "document", "shuffle": "none", "out": str(self.out)},
        }

    def add(self, name, data):
        (self.root / name).write_bytes(data)

    def read(self, names, *args):
        self.stages["source"]["url"] = [str(self.root / name) for name in names]
        return self.run("-j2", *args, timeout=400)

    def published(self):
        return [json.loads(line)["text"] for path in sorted(self.out.glob("train*"))
                for line in path.read_text(encoding="utf-8").split("\n") if line]


def no_text_becomes_another():
    wants, right = {}, Counter()
    with Files() as sandbox:
        for name, encoding, _, size, lines, data in cells():
            sandbox.add(name, data)
            wants[name] = (encoding, size, [line for line in lines if line])
        run = sandbox.read(wants, "-k", str(len(wants)))
        check(run.code == 1, f"exit {run.code}\n{run.err[-2000:]}")
        refused = {name for name in wants if f"{name}: " in run.err}
        rest = [name for name in wants if name not in refused]
        run = sandbox.read(rest)
        check(run.code == 0, f"exit {run.code}\n{run.err[-2000:]}")
        published = sandbox.published()
    for name in rest:
        encoding, size, want = wants[name]
        check(published[:len(want)] == want, f"{name}: another text: {published[:3]}")
        del published[:len(want)]
        right[size] += encoding in READ
    check(not published, f"more text: {published[:3]}")
    for peer, counts in PEERS.items():
        for size in SIZES:
            check(right[size] >= counts[size], f"{size} bytes: {right[size]} are right; {peer}: {counts[size]}")
    return f"{len(wants)} texts, {len(refused)} refused, {len(rest)} right; of {len(READ) * len(KINDS)} that are read {dict(right)}"


def print_peers():
    import chardet
    import charset_normalizer
    found = {f"charset-normalizer {charset_normalizer.__version__}": lambda data: getattr(
        charset_normalizer.from_bytes(data).best(), "encoding", None), f"chardet {chardet.__version__}": lambda data: chardet.detect(data)["encoding"]}
    for peer, guess in found.items():
        counts = dict.fromkeys(SIZES, 0)
        for _, _, _, size, lines, data in cells(read_only=True):
            try:
                counts[size] += data.decode(guess(data) or "ascii").lstrip("\ufeff") == "\n".join(lines) + "\n"
            except (LookupError, UnicodeError):
                pass
        print(f'    "{peer}": {counts},')


SCENARIOS = [no_text_becomes_another]

if __name__ == "__main__":
    if sys.argv[1:] == ["--peers"]:
        print_peers()
    else:
        sys.exit(support.main(SCENARIOS))
