#include "formats/wiki40b.h"

#include <algorithm>

#include "base/words.h"

namespace pipeline {

namespace {

constexpr std::string_view kArticle = "_START_ARTICLE_";
constexpr std::string_view kSection = "_START_SECTION_";
constexpr std::string_view kParagraph = "_START_PARAGRAPH_";
constexpr std::string_view kNewLine = "_NEWLINE_";

}  // namespace

void AppendWiki40bLines(std::string_view article, bool titles, std::string& out) {
  const std::size_t begin = out.size();
  bool wanted = false;
  while (!article.empty()) {
    std::string_view line = TakeUntil(article, '\n');
    if (line == kParagraph) {
      wanted = true;
    } else if (line == kArticle || line == kSection) {
      wanted = titles;
    } else if (wanted) {
      while (true) {
        if (out.size() > begin) out.push_back('\n');
        const std::size_t cut = line.find(kNewLine);
        out.append(line.substr(0, cut));
        if (cut == std::string_view::npos) break;
        line.remove_prefix(cut + kNewLine.size());
      }
    }
  }
}

}  // namespace pipeline
