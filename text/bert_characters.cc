// budget: flat table
#include "text/bert_characters.h"

#include <cstddef>
#include <vector>

namespace pipeline {

namespace {

struct Run {
  std::uint32_t first, last;
  BertCharacter kind;
};
using C = BertCharacter;

// `tokenizers` 0.23.3, which transformers uses, made this table: each code point was put between two letters,
// and went through BertNormalizer without lower case and accents, then through BertPreTokenizer. All other
// code points are kPlain.
constexpr Run kRuns[] = {
    {0x0, 0x8, C::kRemoved},         {0x9, 0xa, C::kSpace},           {0xb, 0xc, C::kRemoved},
    {0xd, 0xd, C::kSpace},           {0xe, 0x1f, C::kRemoved},        {0x20, 0x20, C::kSpace},
    {0x21, 0x2f, C::kAlone},         {0x3a, 0x40, C::kAlone},         {0x5b, 0x60, C::kAlone},
    {0x7b, 0x7e, C::kAlone},         {0x7f, 0x9f, C::kRemoved},       {0xa0, 0xa0, C::kSpace},
    {0xa1, 0xa1, C::kAlone},         {0xa7, 0xa7, C::kAlone},         {0xab, 0xab, C::kAlone},
    {0xad, 0xad, C::kRemoved},       {0xb6, 0xb7, C::kAlone},         {0xbb, 0xbb, C::kAlone},
    {0xbf, 0xbf, C::kAlone},         {0x37e, 0x37e, C::kAlone},       {0x387, 0x387, C::kAlone},
    {0x55a, 0x55f, C::kAlone},       {0x589, 0x58a, C::kAlone},       {0x5be, 0x5be, C::kAlone},
    {0x5c0, 0x5c0, C::kAlone},       {0x5c3, 0x5c3, C::kAlone},       {0x5c6, 0x5c6, C::kAlone},
    {0x5f3, 0x5f4, C::kAlone},       {0x600, 0x605, C::kRemoved},     {0x609, 0x60a, C::kAlone},
    {0x60c, 0x60d, C::kAlone},       {0x61b, 0x61b, C::kAlone},       {0x61c, 0x61c, C::kRemoved},
    {0x61e, 0x61f, C::kAlone},       {0x66a, 0x66d, C::kAlone},       {0x6d4, 0x6d4, C::kAlone},
    {0x6dd, 0x6dd, C::kRemoved},     {0x700, 0x70d, C::kAlone},       {0x70f, 0x70f, C::kRemoved},
    {0x7f7, 0x7f9, C::kAlone},       {0x830, 0x83e, C::kAlone},       {0x85e, 0x85e, C::kAlone},
    {0x964, 0x965, C::kAlone},       {0x970, 0x970, C::kAlone},       {0xaf0, 0xaf0, C::kAlone},
    {0xdf4, 0xdf4, C::kAlone},       {0xe4f, 0xe4f, C::kAlone},       {0xe5a, 0xe5b, C::kAlone},
    {0xf04, 0xf12, C::kAlone},       {0xf14, 0xf14, C::kAlone},       {0xf3a, 0xf3d, C::kAlone},
    {0xf85, 0xf85, C::kAlone},       {0xfd0, 0xfd4, C::kAlone},       {0xfd9, 0xfda, C::kAlone},
    {0x104a, 0x104f, C::kAlone},     {0x10fb, 0x10fb, C::kAlone},     {0x1360, 0x1368, C::kAlone},
    {0x1400, 0x1400, C::kAlone},     {0x166d, 0x166e, C::kAlone},     {0x1680, 0x1680, C::kSpace},
    {0x169b, 0x169c, C::kAlone},     {0x16eb, 0x16ed, C::kAlone},     {0x1735, 0x1736, C::kAlone},
    {0x17d4, 0x17d6, C::kAlone},     {0x17d8, 0x17da, C::kAlone},     {0x1800, 0x180a, C::kAlone},
    {0x180e, 0x180e, C::kRemoved},   {0x1944, 0x1945, C::kAlone},     {0x1a1e, 0x1a1f, C::kAlone},
    {0x1aa0, 0x1aa6, C::kAlone},     {0x1aa8, 0x1aad, C::kAlone},     {0x1b5a, 0x1b60, C::kAlone},
    {0x1bfc, 0x1bff, C::kAlone},     {0x1c3b, 0x1c3f, C::kAlone},     {0x1c7e, 0x1c7f, C::kAlone},
    {0x1cc0, 0x1cc7, C::kAlone},     {0x1cd3, 0x1cd3, C::kAlone},     {0x2000, 0x200a, C::kSpace},
    {0x200b, 0x200f, C::kRemoved},   {0x2010, 0x2027, C::kAlone},     {0x2028, 0x2029, C::kSpace},
    {0x202a, 0x202e, C::kRemoved},   {0x202f, 0x202f, C::kSpace},     {0x2030, 0x2043, C::kAlone},
    {0x2045, 0x2051, C::kAlone},     {0x2053, 0x205e, C::kAlone},     {0x205f, 0x205f, C::kSpace},
    {0x2060, 0x2064, C::kRemoved},   {0x2066, 0x206f, C::kRemoved},   {0x207d, 0x207e, C::kAlone},
    {0x208d, 0x208e, C::kAlone},     {0x2308, 0x230b, C::kAlone},     {0x2329, 0x232a, C::kAlone},
    {0x2768, 0x2775, C::kAlone},     {0x27c5, 0x27c6, C::kAlone},     {0x27e6, 0x27ef, C::kAlone},
    {0x2983, 0x2998, C::kAlone},     {0x29d8, 0x29db, C::kAlone},     {0x29fc, 0x29fd, C::kAlone},
    {0x2cf9, 0x2cfc, C::kAlone},     {0x2cfe, 0x2cff, C::kAlone},     {0x2d70, 0x2d70, C::kAlone},
    {0x2e00, 0x2e2e, C::kAlone},     {0x2e30, 0x2e42, C::kAlone},     {0x3000, 0x3000, C::kSpace},
    {0x3001, 0x3003, C::kAlone},     {0x3008, 0x3011, C::kAlone},     {0x3014, 0x301f, C::kAlone},
    {0x3030, 0x3030, C::kAlone},     {0x303d, 0x303d, C::kAlone},     {0x30a0, 0x30a0, C::kAlone},
    {0x30fb, 0x30fb, C::kAlone},     {0x3400, 0x4dbf, C::kAlone},     {0x4e00, 0x9fff, C::kAlone},
    {0xa4fe, 0xa4ff, C::kAlone},     {0xa60d, 0xa60f, C::kAlone},     {0xa673, 0xa673, C::kAlone},
    {0xa67e, 0xa67e, C::kAlone},     {0xa6f2, 0xa6f7, C::kAlone},     {0xa874, 0xa877, C::kAlone},
    {0xa8ce, 0xa8cf, C::kAlone},     {0xa8f8, 0xa8fa, C::kAlone},     {0xa8fc, 0xa8fc, C::kAlone},
    {0xa92e, 0xa92f, C::kAlone},     {0xa95f, 0xa95f, C::kAlone},     {0xa9c1, 0xa9cd, C::kAlone},
    {0xa9de, 0xa9df, C::kAlone},     {0xaa5c, 0xaa5f, C::kAlone},     {0xaade, 0xaadf, C::kAlone},
    {0xaaf0, 0xaaf1, C::kAlone},     {0xabeb, 0xabeb, C::kAlone},     {0xe000, 0xf8ff, C::kRemoved},
    {0xf900, 0xfaff, C::kAlone},     {0xfd3e, 0xfd3f, C::kAlone},     {0xfe10, 0xfe19, C::kAlone},
    {0xfe30, 0xfe52, C::kAlone},     {0xfe54, 0xfe61, C::kAlone},     {0xfe63, 0xfe63, C::kAlone},
    {0xfe68, 0xfe68, C::kAlone},     {0xfe6a, 0xfe6b, C::kAlone},     {0xfeff, 0xfeff, C::kRemoved},
    {0xff01, 0xff03, C::kAlone},     {0xff05, 0xff0a, C::kAlone},     {0xff0c, 0xff0f, C::kAlone},
    {0xff1a, 0xff1b, C::kAlone},     {0xff1f, 0xff20, C::kAlone},     {0xff3b, 0xff3d, C::kAlone},
    {0xff3f, 0xff3f, C::kAlone},     {0xff5b, 0xff5b, C::kAlone},     {0xff5d, 0xff5d, C::kAlone},
    {0xff5f, 0xff65, C::kAlone},     {0xfff9, 0xfffb, C::kRemoved},   {0xfffd, 0xfffd, C::kRemoved},
    {0x10100, 0x10102, C::kAlone},   {0x1039f, 0x1039f, C::kAlone},   {0x103d0, 0x103d0, C::kAlone},
    {0x1056f, 0x1056f, C::kAlone},   {0x10857, 0x10857, C::kAlone},   {0x1091f, 0x1091f, C::kAlone},
    {0x1093f, 0x1093f, C::kAlone},   {0x10a50, 0x10a58, C::kAlone},   {0x10a7f, 0x10a7f, C::kAlone},
    {0x10af0, 0x10af6, C::kAlone},   {0x10b39, 0x10b3f, C::kAlone},   {0x10b99, 0x10b9c, C::kAlone},
    {0x11047, 0x1104d, C::kAlone},   {0x110bb, 0x110bc, C::kAlone},   {0x110bd, 0x110bd, C::kRemoved},
    {0x110be, 0x110c1, C::kAlone},   {0x11140, 0x11143, C::kAlone},   {0x11174, 0x11175, C::kAlone},
    {0x111c5, 0x111c9, C::kAlone},   {0x111cd, 0x111cd, C::kAlone},   {0x111db, 0x111db, C::kAlone},
    {0x111dd, 0x111df, C::kAlone},   {0x11238, 0x1123d, C::kAlone},   {0x112a9, 0x112a9, C::kAlone},
    {0x114c6, 0x114c6, C::kAlone},   {0x115c1, 0x115d7, C::kAlone},   {0x11641, 0x11643, C::kAlone},
    {0x1173c, 0x1173e, C::kAlone},   {0x12470, 0x12474, C::kAlone},   {0x16a6e, 0x16a6f, C::kAlone},
    {0x16af5, 0x16af5, C::kAlone},   {0x16b37, 0x16b3b, C::kAlone},   {0x16b44, 0x16b44, C::kAlone},
    {0x1bc9f, 0x1bc9f, C::kAlone},   {0x1bca0, 0x1bca3, C::kRemoved}, {0x1d173, 0x1d17a, C::kRemoved},
    {0x1da87, 0x1da8b, C::kAlone},   {0x20000, 0x2a6df, C::kAlone},   {0x2a700, 0x2b81f, C::kAlone},
    {0x2b920, 0x2ceaf, C::kAlone},   {0x2f800, 0x2fa1f, C::kAlone},   {0xe0001, 0xe0001, C::kRemoved},
    {0xe0020, 0xe007f, C::kRemoved}, {0xf0000, 0xffffd, C::kRemoved}, {0x100000, 0x10fffd, C::kRemoved},
};

constexpr std::size_t kBertBlock = 256;

/// Characters by block of code points; equal blocks are stored once.
struct Table {
  std::vector<std::uint16_t> block_of = std::vector<std::uint16_t>(0x110000 / kBertBlock);
  std::vector<BertCharacter> blocks;
};

Table MakeTable() {
  std::vector<BertCharacter> all(0x110000, BertCharacter::kPlain);
  for (const Run& run : kRuns)
    for (std::uint32_t c = run.first; c <= run.last; ++c) all[c] = run.kind;
  Table table;
  for (std::size_t block = 0; block < table.block_of.size(); ++block) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(block * kBertBlock);
    std::size_t known = 0;
    for (; known * kBertBlock < table.blocks.size(); ++known)
      if (std::equal(begin, begin + kBertBlock,
                     table.blocks.begin() + static_cast<std::ptrdiff_t>(known * kBertBlock)))
        break;
    if (known * kBertBlock == table.blocks.size())
      table.blocks.insert(table.blocks.end(), begin, begin + kBertBlock);
    table.block_of[block] = static_cast<std::uint16_t>(known);
  }
  return table;
}

}  // namespace

BertCharacter BertCharacterOf(char32_t code_point) {
  static const Table table = MakeTable();
  return table.blocks[table.block_of[code_point / kBertBlock] * kBertBlock + code_point % kBertBlock];
}

}  // namespace pipeline
