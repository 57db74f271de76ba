#include "text/mecab/connection_costs.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string_view>
#include <system_error>

#include "base/str.h"

namespace pipeline {

namespace {

// Everyday sentences. Frequent words are frequent in any text of a language; with a dictionary of another
// language the ids keep their order, and only the speed differs.
constexpr std::string_view kSample =
    "昨日は朝から雨が降っていたので、どこにも行かずに家で本を読んでいました。"
    "その町には古い橋があって、川の向こうに小さな学校が見える。"
    "「もう帰らなければならない」と彼は言ったが、まだ誰も立ち上がろうとしなかった。"
    "新しい駅ができてから、このあたりに住む人は二十年前の三倍ほどになったそうだ。"
    "私たちが子どものころ、夏になると母がよく作ってくれた料理を、今でも忘れることができません。"
    "調査の結果によると、利用者の約65%が「使いやすくなった」と答えている。"
    "もしよかったら、来週の土曜日に一緒に映画でも見に行きませんか？"
    "彼女は何も知らされないまま、長い間そこで待たされていたらしい。"
    "この問題について考えるためには、まず次の二つのことを区別しておく必要があるだろう。"
    "データを保存するときは、ファイルの名前を確かめてからボタンを押してください。"
    "어제는 하루 종일 비가 와서 아무 데도 가지 않고 집에서 책을 읽었습니다. "
    "그 마을에는 오래된 다리가 있는데, 강 건너에 작은 학교가 보인다. "
    "영화가 생각보다 재미있었지만 마지막 장면은 조금 아쉬웠어요. "
    "새 역이 생긴 뒤로 이 근처에 사는 사람들이 세 배쯤 늘었다고 한다. "
    "배우들의 연기는 정말 좋은데 이야기가 너무 뻔해서 지루했다. "
    "이 문제를 생각하기 위해서는 먼저 다음 두 가지를 나누어 보아야 할 것이다. "
    "우리가 어렸을 때 어머니께서 자주 만들어 주시던 음식을 지금도 잊을 수가 없네요. "
    "혹시 괜찮으시면 다음 주 토요일에 같이 보러 가실래요?";

/// Numbers ids by their uses, the most frequent first; ids with the same number of uses keep their order.
std::vector<std::uint16_t> NumbersOf(const std::vector<std::uint32_t>& uses) {
  std::vector<std::uint16_t> ids(uses.size());
  std::iota(ids.begin(), ids.end(), std::uint16_t{0});
  std::stable_sort(ids.begin(), ids.end(),
                   [&](std::uint16_t a, std::uint16_t b) { return uses[a] > uses[b]; });
  std::vector<std::uint16_t> numbers(ids.size());
  for (std::size_t at = 0; at < ids.size(); ++at) numbers[ids[at]] = static_cast<std::uint16_t>(at);
  return numbers;
}

}  // namespace

ContextNumbers NumbersByUse(const DictionaryFile& file) {
  std::vector<std::uint32_t> left(file.header.left_ids), right(file.header.right_ids);
  for (std::size_t begin = 0; begin < kSample.size(); ++begin) {
    for (const DictionaryFile::Run run : file.RunsAt(kSample.substr(begin))) {
      for (std::uint32_t at = 0; at < run.count; ++at) {
        ++left[file.words[run.first + at].left];
        ++right[file.words[run.first + at].right];
      }
    }
  }
  return {NumbersOf(left), NumbersOf(right)};
}

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
