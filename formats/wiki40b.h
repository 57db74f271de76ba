// The markup in articles of TFDS's wiki40b. Rules: formats/examples.md.
#pragma once

#include <string>
#include <string_view>

namespace pipeline {

/// Appends the lines of `article`, joined by LF: its paragraphs, and with `titles` also the titles of
/// articles and sections. Appends nothing if the article has no markup.
void AppendWiki40bLines(std::string_view article, bool titles, std::string& out);

}  // namespace pipeline
