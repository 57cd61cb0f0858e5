// SPDX-License-Identifier: Apache-2.0
#include "object_references.h"
#include "elf_image.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>

namespace tilewright::ascendc {

namespace {

bool isFunction(const Elf64_Sym& s) {
  return ELF64_ST_TYPE(s.st_info) == STT_FUNC;
}

/// Follows relocations, from functions to functions and, where each variable has a section of its own, to variables.
class References {
public:
  explicit References(Image& image) : image(image) {}

  void addFunction(const std::string& name) {
    for (size_t i = 1; i < image.numSymbols(); ++i)
      if (const Elf64_Sym& s = image.symbol(i); isFunction(s) && image.name(s) == name)
        add(i);
  }
  /// The functions that run when a program starts.
  void addStart() {
    for (size_t i = 1; i < image.sections.size(); ++i) {
      std::string name = image.sectionName(i);
      if (name.starts_with(".init_array") || name.starts_with(".ctors"))
        addRelocations(i, 0, image.sections[i].sh_size);
    }
  }
  void followAll() {
    while (!toLook.empty()) {
      Elf64_Sym from = image.symbol(toLook.back());
      toLook.pop_back();
      addRelocations(from.st_shndx, from.st_value, from.st_size);
    }
  }

  std::set<std::string> undefined;
  std::set<size_t> variables; ///< the section of each

private:
  void add(size_t symbol) {
    if (seen.insert(symbol).second)
      toLook.push_back(symbol);
  }
  void addRelocations(size_t section, uint64_t first, uint64_t size) {
    for (const Elf64_Shdr& list : image.sections) {
      if (list.sh_type != SHT_RELA || list.sh_info != section)
        continue;
      for (size_t at = 0; at < list.sh_size; at += sizeof(Elf64_Rela)) {
        const auto& relocation = image.get<Elf64_Rela>(list.sh_offset + at);
        if (relocation.r_offset - first < size)
          addTarget(relocation, section);
      }
    }
  }
  void addTarget(const Elf64_Rela& relocation, size_t from) {
    const Elf64_Sym& target = image.symbol(ELF64_R_SYM(relocation.r_info));
    if (target.st_shndx == SHN_UNDEF) {
      undefined.insert(image.name(target));
      return;
    }
    if (target.st_shndx >= image.sections.size())
      return;
    const Elf64_Shdr& section = image.sections[target.st_shndx];
    if (section.sh_flags & SHF_EXECINSTR) {
      constexpr int64_t lengthOfField = 4; // a distance counts from behind it
      bool isAddress = !(image.sections[from].sh_flags & SHF_EXECINSTR);
      bool isSection = ELF64_ST_TYPE(target.st_info) == STT_SECTION;
      int64_t distance = isSection ? relocation.r_addend + (isAddress ? 0 : lengthOfField) : 0;
      addFunctionAt(target.st_shndx, target.st_value + static_cast<uint64_t>(distance));
    } else if (section.sh_flags & SHF_WRITE) {
      // Constants may hold addresses of variables; they are writable until the linker has filled them in.
      if (variables.insert(target.st_shndx).second)
        addRelocations(target.st_shndx, 0, section.sh_size);
    }
  }
  /// The function at a place of a section, if one is there.
  void addFunctionAt(size_t section, uint64_t offset) {
    for (size_t i = 1; i < image.numSymbols(); ++i)
      if (const Elf64_Sym& s = image.symbol(i);
          isFunction(s) && s.st_shndx == section && offset - s.st_value < s.st_size)
        add(i);
  }

  Image& image;
  std::vector<size_t> toLook;
  std::set<size_t> seen;
};

/// The variable that has this section for itself.
std::string variableOf(Image& image, size_t section) {
  for (size_t i = 1; i < image.numSymbols(); ++i)
    if (const Elf64_Sym& s = image.symbol(i);
        s.st_shndx == section && ELF64_ST_TYPE(s.st_info) == STT_OBJECT)
      return image.name(s);
  return {};
}

} // namespace

std::set<std::string> calledFrom(const std::string& path, const std::string& function) {
  Image image;
  if (!image.load(path).empty())
    return {};
  References references(image);
  references.addFunction(function);
  references.followAll();
  return references.undefined;
}

std::vector<LateVariable> lateVariables(const std::string& path,
                                        const std::vector<std::string>& kernels) {
  Image image;
  if (!image.load(path).empty())
    return {};
  References start(image);
  start.addStart();
  start.followAll();
  std::vector<LateVariable> late;
  std::set<size_t> told;
  for (const std::string& kernel : kernels) {
    References references(image);
    references.addFunction(kernel);
    references.followAll();
    for (size_t section : references.variables) {
      bool isZero = image.sections[section].sh_type == SHT_NOBITS;
      if (isZero && start.variables.count(section) && told.insert(section).second)
        late.push_back({variableOf(image, section), kernel});
    }
  }
  return late;
}

std::map<std::string, std::string> placesOfVariables(const std::string& path) {
  std::string quoted;
  for (char c : path)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  std::map<std::string, std::string> places;
  std::unique_ptr<FILE, int (*)(FILE*)> answer(
      popen(("nm -l '" + quoted + "' 2>/dev/null").c_str(), "r"), pclose);
  char* line = nullptr;
  size_t room = 0;
  while (answer && getline(&line, &room, answer.get()) > 0) {
    std::stringstream words(line); // address, type, symbol, place
    std::string address, type, symbol, place;
    words >> address >> type >> symbol;
    if (std::getline(words >> std::ws, place))
      places[symbol] = place;
  }
  free(line);
  return places;
}

} // namespace tilewright::ascendc
