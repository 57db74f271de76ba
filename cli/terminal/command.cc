#include "cli/terminal/command.h"

#include <iterator>

namespace pipeline {

std::vector<Word> Joined(std::vector<Word> words, std::vector<Word> more) {
  words.insert(words.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return words;
}

}  // namespace pipeline
