#include "formats/tf_example.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/base64.h"
#include "base/str.h"

namespace pipeline {

namespace {

// Field numbers are those of tensorflow/core/example/{example,feature}.proto.
constexpr std::uint32_t kExampleFeatures = 1;
constexpr std::uint32_t kFeaturesEntry = 1;
constexpr std::uint32_t kEntryKey = 1;
constexpr std::uint32_t kEntryValue = 2;
constexpr std::uint32_t kFeatureBytes = 1;
constexpr std::uint32_t kFeatureFloats = 2;
constexpr std::uint32_t kFeatureInt64s = 3;
constexpr std::uint32_t kListValue = 1;

enum WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

constexpr std::size_t kMaxVarintBytes = 10;

// ---------------------------------------------------------------------------------------- writing

constexpr std::size_t VarintSize(std::uint64_t number) {
  return (static_cast<std::size_t>(std::bit_width(number | 1)) + 6) / 7;
}

/// Returns the size of a field with a length and with a number below 16, whose tag is one byte.
constexpr std::size_t SubSize(std::size_t bytes) { return 1 + VarintSize(bytes) + bytes; }

char* PutVarint(char* at, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) *at++ = static_cast<char>(number | 0x80);
  *at++ = static_cast<char>(number);
  return at;
}

char* PutSub(char* at, std::uint32_t field, std::size_t bytes) {
  *at++ = static_cast<char>(field << 3 | kBytes);
  return PutVarint(at, bytes);
}

void AppendVarint(std::string& out, std::uint64_t number) {
  std::array<char, kMaxVarintBytes> bytes;
  out.append(bytes.data(), PutVarint(bytes.data(), number));
}

void AppendSub(std::string& out, std::uint32_t field, std::size_t bytes) {
  std::array<char, 1 + kMaxVarintBytes> head;
  out.append(head.data(), PutSub(head.data(), field, bytes));
}

/// Returns the bytes of the values, without the messages around them.
struct ListSize {
  std::size_t operator()(std::monostate) const { return 0; }
  std::size_t operator()(const TfBytesList& list) const {
    std::size_t size = 0;
    for (const std::string_view value : list) size += SubSize(value.size());
    return size;
  }
  std::size_t operator()(const TfFloatList& list) const {
    return list.empty() ? 0 : SubSize(4 * list.size());
  }
  std::size_t operator()(const TfInt64List& list) const { return list.empty() ? 0 : SubSize(Packed(list)); }

  static std::size_t Packed(const TfInt64List& list) {
    std::size_t size = 0;
    for (const std::int64_t value : list) size += VarintSize(static_cast<std::uint64_t>(value));
    return size;
  }
};

struct ListWriter {
  std::string& out;
  std::size_t size;  // result of ListSize

  void operator()(std::monostate) const {}
  void operator()(const TfBytesList& list) const {
    AppendSub(out, kFeatureBytes, size);
    for (const std::string_view value : list) {
      AppendSub(out, kListValue, value.size());
      out.append(value);
    }
  }
  void operator()(const TfFloatList& list) const {
    AppendSub(out, kFeatureFloats, size);
    if (list.empty()) return;
    AppendSub(out, kListValue, 4 * list.size());
    for (const float value : list) {
      const auto bits = std::bit_cast<std::uint32_t>(value);
      for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(bits >> shift));
    }
  }
  void operator()(const TfInt64List& list) const {
    AppendSub(out, kFeatureInt64s, size);
    if (list.empty()) return;
    AppendSub(out, kListValue, ListSize::Packed(list));
    for (const std::int64_t value : list) AppendVarint(out, static_cast<std::uint64_t>(value));
  }
};

/// The lengths in one entry, from the innermost out.
struct EntrySize {
  EntrySize(std::string_view key, const TfFeature& value)
      : list(std::visit(ListSize(), value)),
        feature(std::holds_alternative<std::monostate>(value) ? 0 : SubSize(list)),
        entry(SubSize(key.size()) + SubSize(feature)) {}
  std::size_t list;
  std::size_t feature;
  std::size_t entry;
};

/// The lengths in an example of one feature with one value, from the innermost out.
struct TextSize {
  TextSize(std::string_view name, std::string_view text)
      : list(SubSize(text.size())),
        feature(SubSize(list)),
        entry(SubSize(name.size()) + SubSize(feature)),
        features(SubSize(entry)) {}
  std::size_t list;
  std::size_t feature;
  std::size_t entry;
  std::size_t features;
};

// ---------------------------------------------------------------------------------------- reading

struct WireField {
  std::uint32_t number = 0;
  std::uint32_t type = 0;
  std::uint64_t scalar = 0;  // kVarint, kFixed64, kFixed32
  std::string_view bytes;    // kBytes

  bool Is(std::uint32_t n, WireType t) const { return number == n && type == t; }
};

/// Reads the fields of one message. The first error stays. Offsets in error messages count from the beginning
/// of `whole`.
class MessageReader {
 public:
  MessageReader(std::string_view whole, std::string_view message) : whole_(whole), left_(message) {}

  /// False: the end of the message, or an error, which is then in status().
  bool Next(WireField& field) {
    if (left_.empty()) return false;
    std::uint64_t tag = 0;
    if (!Varint(tag)) return false;
    field.type = static_cast<std::uint32_t>(tag & 7);
    if (tag >> 32 != 0 || tag >> 3 == 0) return Fail("no field has such a number");
    field.number = static_cast<std::uint32_t>(tag >> 3);
    switch (field.type) {
      case kVarint: return Varint(field.scalar);
      case kFixed64: return Fixed(8, field.scalar);
      case kFixed32: return Fixed(4, field.scalar);
      case kBytes: {
        std::uint64_t length = 0;
        if (!Varint(length)) return false;
        if (length > left_.size()) return Fail("a length reaches beyond its message");
        field.bytes = Take(static_cast<std::size_t>(length));
        return true;
      }
      default: return Fail("unknown wire type");
    }
  }

  /// Both read packed fields. False as in Next.
  bool NextVarint(std::uint64_t& number) { return !left_.empty() && Varint(number); }
  bool NextFixed32(std::uint64_t& number) { return !left_.empty() && Fixed(4, number); }

  const Status& status() const { return status_; }

 private:
  bool Varint(std::uint64_t& number) {
    number = 0;
    for (std::size_t i = 0; i < left_.size() && i < kMaxVarintBytes; ++i) {
      const auto byte = static_cast<unsigned char>(left_[i]);
      if (i == kMaxVarintBytes - 1 && byte > 1) break;
      number |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
      if (byte < 0x80) {
        left_.remove_prefix(i + 1);
        return true;
      }
    }
    return Fail(left_.size() < kMaxVarintBytes ? "a number is cut off" : "a number has more than 64 bits");
  }

  bool Fixed(std::size_t size, std::uint64_t& number) {
    if (left_.size() < size) return Fail("a number is cut off");
    number = 0;
    for (std::size_t i = 0; i < size; ++i)
      number |= static_cast<std::uint64_t>(static_cast<unsigned char>(left_[i])) << (8 * i);
    left_.remove_prefix(size);
    return true;
  }

  std::string_view Take(std::size_t size) {
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }

  bool Fail(std::string_view why) {
    const auto offset = left_.data() - whole_.data();
    status_ = Status(Code::kDataLoss, StrCat("not a tf.train.Example: offset ", offset, ": ", why));
    return false;
  }

  std::string_view whole_;
  std::string_view left_;
  Status status_;
};

/// Returns the list of kind List in `feature`; replaces a list of another kind by an empty one.
template <class List>
List& ListOf(TfFeature& feature) {
  if (List* list = std::get_if<List>(&feature)) return *list;
  return feature.emplace<List>();
}

float ToFloat(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }

Status ReadBytesList(std::string_view whole, std::string_view message, TfBytesList& list) {
  MessageReader reader(whole, message);
  for (WireField field; reader.Next(field);)
    if (field.Is(kListValue, kBytes)) list.push_back(field.bytes);
  return reader.status();
}

Status ReadFloatList(std::string_view whole, std::string_view message, TfFloatList& list) {
  MessageReader reader(whole, message);
  for (WireField field; reader.Next(field);) {
    if (field.Is(kListValue, kFixed32)) list.push_back(ToFloat(field.scalar));
    if (!field.Is(kListValue, kBytes)) continue;
    MessageReader packed(whole, field.bytes);
    for (std::uint64_t bits = 0; packed.NextFixed32(bits);) list.push_back(ToFloat(bits));
    RETURN_IF_ERROR(packed.status());
  }
  return reader.status();
}

Status ReadInt64List(std::string_view whole, std::string_view message, TfInt64List& list) {
  MessageReader reader(whole, message);
  for (WireField field; reader.Next(field);) {
    if (field.Is(kListValue, kVarint)) list.push_back(static_cast<std::int64_t>(field.scalar));
    if (!field.Is(kListValue, kBytes)) continue;
    MessageReader packed(whole, field.bytes);
    for (std::uint64_t value = 0; packed.NextVarint(value);) list.push_back(static_cast<std::int64_t>(value));
    RETURN_IF_ERROR(packed.status());
  }
  return reader.status();
}

Status ReadFeature(std::string_view whole, std::string_view message, TfFeature& feature) {
  MessageReader reader(whole, message);
  for (WireField field; reader.Next(field);) {
    if (field.Is(kFeatureBytes, kBytes))
      RETURN_IF_ERROR(ReadBytesList(whole, field.bytes, ListOf<TfBytesList>(feature)));
    if (field.Is(kFeatureFloats, kBytes))
      RETURN_IF_ERROR(ReadFloatList(whole, field.bytes, ListOf<TfFloatList>(feature)));
    if (field.Is(kFeatureInt64s, kBytes))
      RETURN_IF_ERROR(ReadInt64List(whole, field.bytes, ListOf<TfInt64List>(feature)));
  }
  return reader.status();
}

Status ReadEntry(std::string_view whole, std::string_view message, TfExample& example) {
  MessageReader reader(whole, message);
  std::string_view key;
  TfFeature feature;
  for (WireField field; reader.Next(field);) {
    if (field.Is(kEntryKey, kBytes)) key = field.bytes;
    if (field.Is(kEntryValue, kBytes)) RETURN_IF_ERROR(ReadFeature(whole, field.bytes, feature));
  }
  RETURN_IF_ERROR(reader.status());
  example.insert_or_assign(key, std::move(feature));
  return {};
}

// ------------------------------------------------------------------------------------------- JSON

struct ListToJson {
  Json operator()(std::monostate) const { return {}; }
  Json operator()(const TfBytesList& values) const {
    if (values.size() == 1) return TextOrBase64(values.front());
    Json::Array array;
    for (const std::string_view value : values) array.push_back(TextOrBase64(value));
    return array;
  }
  Json operator()(const TfFloatList& values) const {
    Json::Array array;
    for (const float value : values) array.emplace_back(static_cast<double>(value));
    return array;
  }
  Json operator()(const TfInt64List& values) const { return Json::Array(values.begin(), values.end()); }
};

}  // namespace

void AppendTfExample(std::string& out, const TfExample& example) {
  std::vector<EntrySize> sizes;
  sizes.reserve(example.size());
  std::size_t features = 0;
  for (const auto& [key, value] : example) features += SubSize(sizes.emplace_back(key, value).entry);

  AppendSub(out, kExampleFeatures, features);
  auto size = sizes.begin();
  for (const auto& [key, value] : example) {
    AppendSub(out, kFeaturesEntry, size->entry);
    AppendSub(out, kEntryKey, key.size());
    out.append(key);
    AppendSub(out, kEntryValue, size->feature);
    std::visit(ListWriter{out, size->list}, value);
    ++size;
  }
}

void AppendTextExample(std::string& out, std::string_view name, std::string_view text) {
  const TextSize size(name, text);
  const std::size_t begin = out.size();
  out.resize(begin + SubSize(size.features));
  char* at = out.data() + begin;
  at = PutSub(at, kExampleFeatures, size.features);
  at = PutSub(at, kFeaturesEntry, size.entry);
  at = PutSub(at, kEntryKey, name.size());
  at = std::copy(name.begin(), name.end(), at);
  at = PutSub(at, kEntryValue, size.feature);
  at = PutSub(at, kFeatureBytes, size.list);
  at = PutSub(at, kListValue, text.size());
  std::copy(text.begin(), text.end(), at);
}

std::size_t TextExampleSize(std::string_view name, std::string_view text) {
  return SubSize(TextSize(name, text).features);
}

Result<TfExample> ParseTfExample(std::string_view bytes) {
  TfExample example;
  MessageReader reader(bytes, bytes);
  for (WireField field; reader.Next(field);) {
    if (!field.Is(kExampleFeatures, kBytes)) continue;
    MessageReader features(bytes, field.bytes);
    for (WireField entry; features.Next(entry);)
      if (entry.Is(kFeaturesEntry, kBytes)) RETURN_IF_ERROR(ReadEntry(bytes, entry.bytes, example));
    RETURN_IF_ERROR(features.status());
  }
  RETURN_IF_ERROR(reader.status());
  return example;
}

Json ToJson(const TfExample& example) {
  Json json = Json::Object{};
  for (const auto& [name, feature] : example) json[name] = std::visit(ListToJson{}, feature);
  return json;
}

}  // namespace pipeline
