// tf.train.Example: named lists of values. Wire format and rules: formats/tf_example.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace pipeline {

using TfBytesList = std::vector<std::string_view>;
using TfFloatList = std::vector<float>;
using TfInt64List = std::vector<std::int64_t>;

/// The values of one feature; monostate: the writer set no kind.
using TfFeature = std::variant<std::monostate, TfBytesList, TfFloatList, TfInt64List>;

/// Features by name. Names and bytes refer to memory of the caller.
using TfExample = std::map<std::string_view, TfFeature>;

/// Appends `example` in the one form that all writers use.
void AppendTfExample(std::string& out, const TfExample& example);

/// Appends an example with one feature `name`, one UTF-8 text, without building a TfExample, because every
/// line of a corpus takes this path. The bytes are those of AppendTfExample.
void AppendTextExample(std::string& out, std::string_view name, std::string_view text);
/// Number of bytes that AppendTextExample appends.
std::size_t TextExampleSize(std::string_view name, std::string_view text);

/// kDataLoss names the offset where `bytes` are not an example. The result refers to `bytes`.
Result<TfExample> ParseTfExample(std::string_view bytes);

/// The features by name; a list with one text becomes that text. Bytes that are not text become
/// {"base64": ...}.
Json ToJson(const TfExample& example);

}  // namespace pipeline
