// The marks in the articles of TFDS's wiki40b. Rules: formats/examples.md.
#pragma once

#include <string>
#include <string_view>

namespace pipeline {

/// Appends the lines of `article`, joined by LF: those of its paragraphs, and with `titles` those of articles
/// and sections. Nothing where it has no marks.
void AppendWiki40bLines(std::string_view article, bool titles, std::string& out);

}  // namespace pipeline
