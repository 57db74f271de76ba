#include "text/mecab/connection_costs.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/str.h"

namespace pipeline {

Result<ConnectionCosts> ConnectionCosts::Read(const std::string& path, const ContextNumbers& numbers) {
  const std::size_t right_ids = numbers.right.size(), left_ids = numbers.left.size();
  std::array<std::uint16_t, 2> sizes{};
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(sizes.data()), sizeof(sizes));
  if (!file || error || size != sizeof(sizes) + sizeof(std::int16_t) * sizes[0] * std::uintmax_t{sizes[1]})
    return Status(Code::kFailedPrecondition, StrCat(path, ": is damaged, or no file of MeCab"));
  if (sizes[0] != right_ids || sizes[1] != left_ids)
    return Status(Code::kFailedPrecondition,
                  StrCat(path, ": has ", sizes[0], " by ", sizes[1], " ids, and sys.dic ", right_ids, " by ",
                         left_ids, ": they belong to two dictionaries"));
  ConnectionCosts read;
  read.right_ids_ = right_ids;
  read.costs_.resize(right_ids * left_ids);
  std::vector<std::int16_t> row(right_ids);
  for (const std::uint16_t left : numbers.left) {
    file.read(reinterpret_cast<char*>(row.data()), static_cast<std::streamsize>(right_ids * sizeof(row[0])));
    std::int16_t* const to = read.costs_.data() + left * right_ids;
    for (std::size_t right = 0; right < right_ids; ++right) to[numbers.right[right]] = row[right];
  }
  if (!file) return Status(Code::kFailedPrecondition, StrCat(path, ": cannot be read"));
  return read;
}

}  // namespace pipeline
