// SPDX-License-Identifier: Apache-2.0
// An ELF object in memory, with its sections and symbols.
#ifndef TILEWRIGHT_TOOLS_ASCENDC_ELF_IMAGE_H
#define TILEWRIGHT_TOOLS_ASCENDC_ELF_IMAGE_H

#include "files.h"

#include <cstring>
#include <elf.h>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace tilewright::ascendc {

struct Image {
  std::vector<char> bytes;
  std::vector<Elf64_Shdr> sections;
  size_t symbols = 0; ///< index of the symbol table; 0: none

  std::string load(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
    if (bytes.size() < sizeof(Elf64_Ehdr) || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0 ||
        bytes[EI_CLASS] != ELFCLASS64)
      return "'" + path + "' is no 64-bit ELF object";
    const auto& header = get<Elf64_Ehdr>(0);
    sections.resize(header.e_shnum);
    if (header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr) > bytes.size())
      return "'" + path + "' is cut off";
    std::memcpy(sections.data(), bytes.data() + header.e_shoff,
                header.e_shnum * sizeof(Elf64_Shdr));
    for (size_t i = 0; i < sections.size(); ++i)
      if (sections[i].sh_type == SHT_SYMTAB)
        symbols = i;
    return {};
  }
  template <class T> T& get(size_t offset) {
    return *reinterpret_cast<T*>(bytes.data() + offset);
  }
  size_t numSymbols() const {
    return symbols ? sections[symbols].sh_size / sizeof(Elf64_Sym) : 0;
  }
  Elf64_Sym& symbol(size_t i) {
    return get<Elf64_Sym>(sections[symbols].sh_offset + i * sizeof(Elf64_Sym));
  }
  const char* name(const Elf64_Sym& s) const {
    return bytes.data() + sections[sections[symbols].sh_link].sh_offset + s.st_name;
  }
  /// The table of names gets a place of its own at the end of the file, where it can grow.
  std::vector<char> takeNames() const {
    const Elf64_Shdr& strings = sections[sections[symbols].sh_link];
    auto first = bytes.begin() + static_cast<long>(strings.sh_offset);
    return {first, first + static_cast<long>(strings.sh_size)};
  }
  std::string store(const std::string& path, const std::vector<char>& names) {
    Elf64_Shdr& strings = sections[sections[symbols].sh_link];
    strings.sh_offset = bytes.size();
    strings.sh_size = names.size();
    bytes.insert(bytes.end(), names.begin(), names.end());
    std::memcpy(bytes.data() + get<Elf64_Ehdr>(0).e_shoff, sections.data(),
                sections.size() * sizeof(Elf64_Shdr));
    return storeFile(path, {bytes.begin(), bytes.end()}) ? "" : "cannot write '" + path + "'";
  }
  const char* sectionName(size_t i) {
    size_t names = sections[get<Elf64_Ehdr>(0).e_shstrndx].sh_offset;
    return bytes.data() + names + sections[i].sh_name;
  }
};

} // namespace tilewright::ascendc

#endif
