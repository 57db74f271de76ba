#include "base/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::size_t kMaxDepth = 64;  // deeper input is an attack on the stack, not a document

using Library = nlohmann::json;

/// Tells the Builder how far the library has read, because the library's events carry no position.
class Cursor {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char** farthest) : at_(at), farthest_(farthest) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    *farthest_ = ++at_;
    return *this;
  }
  Cursor operator++(int) {
    const Cursor before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Cursor& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  const char** farthest_;
};

/// Returns the reason in a message like "[json.exception.parse_error.101] parse error at line 1, column 2:
/// why", without the bytes that were read last: they may be a whole document.
std::string WithoutLibraryTalk(std::string_view message) {
  if (const std::size_t tag = message.find("] "); tag != std::string_view::npos)
    message.remove_prefix(tag + 2);
  constexpr std::string_view kWhere = "parse error at ";
  if (message.substr(0, kWhere.size()) == kWhere) message.remove_prefix(message.find(": ") + 2);
  const std::size_t last_read = message.find("; last read: ");
  if (last_read == std::string_view::npos) return std::string(message);
  const std::size_t expected = message.rfind("; expected ");
  const bool has_expected = expected != std::string_view::npos && expected > last_read;
  return StrCat(message.substr(0, last_read), has_expected ? message.substr(expected) : "");
}

/// Builds a Json from the library's events, so that no second tree is held.
class Builder final : public nlohmann::json_sax<Library> {
 public:
  Builder() = default;
  /// Keeps only the members of the root with these names; a container among them keeps only its kind.
  explicit Builder(std::span<const std::string> members) : members_(members), picks_(true) {}

  bool null() override { return Put(Json()); }
  bool boolean(bool value) override { return Put(Json(value)); }
  bool number_integer(std::int64_t value) override { return Put(Json(value)); }
  bool number_unsigned(std::uint64_t value) override {
    if (value > INT64_MAX) return Put(Json(static_cast<double>(value)));
    return Put(Json(value));
  }
  bool number_float(double value, const std::string&) override { return Put(Json(value)); }
  bool string(std::string& value) override { return Put(Json(std::move(value))); }
  bool binary(Library::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return Open(Json(Json::Object{})); }
  bool end_object() override { return Close(); }
  bool start_array(std::size_t) override { return Open(Json(Json::Array{})); }
  bool end_array() override { return Close(); }
  bool key(std::string& name) override {
    if (passed_over_ > 0) return true;
    keep_ = !picks_ || std::find(members_.begin(), members_.end(), name) != members_.end();
    if (!keep_) return true;
    if (open_.back().Has(name)) {
      error_ = StrCat("the key \"", name, "\" is there twice");
      return false;
    }
    keys_.back() = std::move(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Library::exception& error) override {
    error_ = WithoutLibraryTalk(error.what());
    return false;
  }

  Json root;
  std::string error_;

 private:
  bool Open(Json container) {
    if (open_.size() + passed_over_ >= kMaxDepth) {
      error_ = StrCat("nested deeper than ", kMaxDepth, " levels");
      return false;
    }
    if (picks_ && !open_.empty()) {
      Put(std::move(container));
      ++passed_over_;
      return true;
    }
    open_.push_back(std::move(container));
    keys_.emplace_back();
    return true;
  }
  bool Close() {
    if (passed_over_ > 0) return --passed_over_, true;
    Json done = std::move(open_.back());
    open_.pop_back();
    keys_.pop_back();
    keep_ = true;
    return Put(std::move(done));
  }
  bool Put(Json value) {
    if (passed_over_ > 0 || !keep_) return true;
    if (open_.empty()) {
      root = std::move(value);
    } else if (open_.back().is_object()) {
      open_.back()[keys_.back()] = std::move(value);
    } else if (!picks_) {
      open_.back().Append(std::move(value));
    }
    return true;
  }

  std::vector<Json> open_;
  std::vector<std::string> keys_;
  std::span<const std::string> members_;
  bool picks_ = false;
  bool keep_ = true;             // whether the next value is kept
  std::size_t passed_over_ = 0;  // number of open containers below the root that are not kept
};

Result<Json> ParseWith(std::string_view text, Builder builder) {
  const char* const begin = text.data();
  const char* farthest = begin;
  if (Library::sax_parse(Cursor(begin, &farthest), Cursor(begin + text.size(), &farthest), &builder)) {
    const std::size_t nul = text.find('\0');  // the library ends the text there
    if (nul == std::string_view::npos) return std::move(builder.root);
    farthest = begin + nul;
    builder.error_ = "a NUL byte";
  }
  const std::string_view before(begin, static_cast<std::size_t>(farthest - begin));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t column = before.size() - (before.rfind('\n') + 1);  // of the last byte that was read
  const bool one_line = text.find('\n') == std::string_view::npos;      // perhaps a line of a file
  return Status(Code::kInvalidArgument,
                StrCat(one_line ? "" : StrCat("line ", line, ", "), "column ", column, ": ", builder.error_));
}

void AppendNumber(std::string& out, double value) {
  if (!std::isfinite(value)) {  // JSON has no such numbers
    out += "null";
    return;
  }
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  const std::string_view digits(text.data(), static_cast<std::size_t>(end - text.data()));
  out += digits;
  // A reader then takes it for a double.
  if (digits.find_first_of(".e") == std::string_view::npos) out += ".0";
}

/// The T in `value`, else an empty one.
template <class T, class Variant>
const T& OrEmpty(const Variant& value) {
  static const T kEmpty;
  const T* const held = std::get_if<T>(&value);
  return held != nullptr ? *held : kEmpty;
}

}  // namespace

Json::Json() = default;
Json::Json(bool value) : value_(value) {}
Json::Json(double value) : value_(value) {}
Json::Json(std::int64_t value) : value_(value) {}
Json::Json(std::string value) : value_(std::move(value)) {}
Json::Json(std::string_view value) : value_(std::string(value)) {}
Json::Json(const char* value) : value_(std::string(value)) {}
Json::Json(Array value) : value_(std::move(value)) {}
Json::Json(Object value) : value_(std::move(value)) {}
Json::Json(const Json&) = default;
Json& Json::operator=(const Json&) = default;
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;

// Not defaulted: clang 14 ends with a fault on that.
bool Json::operator==(const Json& other) const { return value_ == other.value_; }

bool Json::AsBool(bool fallback) const {
  const bool* value = std::get_if<bool>(&value_);
  return value ? *value : fallback;
}

std::int64_t Json::AsInt(std::int64_t fallback) const {
  const std::int64_t* value = std::get_if<std::int64_t>(&value_);
  return value ? *value : fallback;
}

double Json::AsDouble(double fallback) const {
  if (is_int()) return static_cast<double>(AsInt());
  const double* value = std::get_if<double>(&value_);
  return value ? *value : fallback;
}

std::string_view Json::AsString(std::string_view fallback) const {
  const std::string* value = std::get_if<std::string>(&value_);
  return value ? std::string_view(*value) : fallback;
}

const Json::Array& Json::AsArray() const { return OrEmpty<Array>(value_); }

const Json::Object& Json::AsObject() const { return OrEmpty<Object>(value_); }

const Json& Json::operator[](std::string_view key) const {
  static const Json kNull;
  const Object& object = AsObject();
  const auto found = object.find(key);
  return found == object.end() ? kNull : found->second;
}

Json& Json::operator[](std::string_view key) {
  if (!is_object()) value_ = Object{};
  Object& object = std::get<Object>(value_);
  const auto found = object.find(key);
  return found == object.end() ? object[std::string(key)] : found->second;
}

void Json::Remove(std::string_view key) {
  if (!is_object()) return;
  Object& object = std::get<Object>(value_);
  if (const auto found = object.find(key); found != object.end()) object.erase(found);
}

void Json::Append(Json element) {
  if (!is_array()) value_ = Array{};
  std::get<Array>(value_).push_back(std::move(element));
}

std::string Json::Dump() const {
  std::string out;
  DumpTo(out, 0, 0);
  return out;
}

std::string Json::DumpPretty() const {
  std::string out;
  DumpTo(out, 2, 0);
  out.push_back('\n');
  return out;
}

void Json::DumpTo(std::string& out, int indent, int depth) const {
  const auto line = [&](int level) {
    if (indent == 0) return;
    out.push_back('\n');
    out.append(static_cast<std::size_t>(indent * level), ' ');
  };
  if (is_null()) {
    out += "null";
  } else if (is_bool()) {
    out += AsBool() ? "true" : "false";
  } else if (is_int()) {
    out += std::to_string(AsInt());
  } else if (is_number()) {
    AppendNumber(out, AsDouble());
  } else if (is_string()) {
    AppendJsonString(out, AsString());
  } else if (is_array()) {
    out.push_back('[');
    bool first = true;
    for (const Json& element : AsArray()) {
      if (!std::exchange(first, false)) out.push_back(',');
      line(depth + 1);
      element.DumpTo(out, indent, depth + 1);
    }
    if (!first) line(depth);
    out.push_back(']');
  } else {
    out.push_back('{');
    bool first = true;
    for (const auto& [key, value] : AsObject()) {
      if (!std::exchange(first, false)) out.push_back(',');
      line(depth + 1);
      AppendJsonString(out, key);
      out += indent == 0 ? ":" : ": ";
      value.DumpTo(out, indent, depth + 1);
    }
    if (!first) line(depth);
    out.push_back('}');
  }
}

Result<Json> Json::Parse(std::string_view text) { return ParseWith(text, Builder()); }

Result<Json> Json::ParseMembers(std::string_view text, std::span<const std::string> names) {
  ASSIGN_OR_RETURN(Json json, ParseWith(text, Builder(names)));
  if (!json.is_object()) return Status(Code::kInvalidArgument, "no object");
  return json;
}

// The library copies a string twice, with six bytes for some: a text may have a GiB, so it gets parts of it.
void AppendJsonString(std::string& out, std::string_view text) {
  constexpr std::size_t kPart = 64 << 10;
  out.push_back('"');
  do {
    std::size_t size = std::min(text.size(), kPart);
    // A part ends between two characters; bytes that are none become U+FFFD wherever it ends.
    if (size < text.size())
      for (int tail = 0; tail < 3 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80; ++tail) --size;
    const std::string part =
        Library(text.substr(0, size)).dump(-1, ' ', false, Library::error_handler_t::replace);
    out.append(part, 1, part.size() - 2);
    text.remove_prefix(size);
  } while (!text.empty());
  out.push_back('"');
}

}  // namespace pipeline
