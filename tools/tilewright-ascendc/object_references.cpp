// SPDX-License-Identifier: Apache-2.0
#include "object_references.h"
#include "elf_image.h"
#include "kernel_table.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>

namespace tilewright::ascendc {

/// With what each section has, for sources of hundreds of kernels.
struct IndexedImage : Image {
  std::vector<std::vector<size_t>> relocations; ///< of each section: sections that list them
  std::vector<std::vector<size_t>> functions;   ///< of each section: symbols
  std::multimap<std::string, size_t> named;     ///< functions

  std::string load(const std::string& path) {
    if (std::string error = Image::load(path); !error.empty())
      return error;
    relocations.resize(sections.size());
    functions.resize(sections.size());
    for (size_t i = 0; i < sections.size(); ++i)
      if (sections[i].sh_type == SHT_RELA && sections[i].sh_info < sections.size())
        relocations[sections[i].sh_info].push_back(i);
    for (size_t i = 1; i < numSymbols(); ++i) {
      const Elf64_Sym& s = symbol(i);
      if (ELF64_ST_TYPE(s.st_info) != STT_FUNC)
        continue;
      named.emplace(name(s), i);
      if (s.st_shndx < sections.size())
        functions[s.st_shndx].push_back(i);
    }
    return {};
  }
};

namespace {

/// Follows relocations, from functions to functions and, where each variable has a section of its own, to variables.
class References {
public:
  explicit References(IndexedImage& image) : image(image) {}

  void addFunction(const std::string& name) {
    for (auto [at, end] = image.named.equal_range(name); at != end; ++at)
      add(at->second);
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

  Named named;
  std::set<size_t> variables; ///< the section of each

private:
  void add(size_t symbol) {
    if (seen.insert(symbol).second)
      toLook.push_back(symbol);
  }
  void addRelocations(size_t section, uint64_t first, uint64_t size) {
    if (section >= image.sections.size())
      return; // of an undefined or absolute symbol
    for (size_t index : image.relocations[section]) {
      const Elf64_Shdr& list = image.sections[index];
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
      named.undefined.insert(image.name(target));
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
    } else if (std::string mark = markIn(target.st_shndx); !mark.empty()) {
      named.kinds.insert(mark);
    } else if (section.sh_flags & SHF_WRITE) {
      // Constants may hold addresses of variables; they are writable until the linker has filled them in.
      if (variables.insert(target.st_shndx).second)
        addRelocations(target.st_shndx, 0, section.sh_size);
    }
  }
  /// The mark of a kind that has this section for itself (-fdata-sections); empty: none.
  std::string markIn(size_t section) {
    std::string name = image.sectionName(section);
    size_t at = name.find("_ZZ");
    return at != std::string::npos && isMarkOfKind(name.substr(at)) ? name.substr(at) : "";
  }
  /// The function at a place of a section, if one is there.
  void addFunctionAt(size_t section, uint64_t offset) {
    for (size_t i : image.functions[section])
      if (const Elf64_Sym& s = image.symbol(i); offset - s.st_value < s.st_size)
        add(i);
  }

  IndexedImage& image;
  std::vector<size_t> toLook;
  std::set<size_t> seen;
};

/// The lines that a program prints.
std::vector<std::string> answerOf(const std::vector<std::string>& command) {
  std::string quoted;
  for (const std::string& word : command) {
    quoted += '\'';
    for (char c : word)
      quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    quoted += "' ";
  }
  std::vector<std::string> lines;
  // NOLINTNEXTLINE(bugprone-command-processor): each word is quoted
  std::unique_ptr<FILE, int (*)(FILE*)> answer(popen((quoted + "2>/dev/null").c_str(), "r"),
                                               pclose);
  char* line = nullptr;
  size_t room = 0;
  while (answer && getline(&line, &room, answer.get()) > 0)
    lines.emplace_back(line).pop_back(); // its end
  free(line);
  return lines;
}

/// What code that runs when a program starts names: Clang makes a function for each initialiser, GCC one for all of
/// them, in which each has the line of its variable.
struct Initialiser {
  bool isFunction = false;
  std::string place; ///< of a function, where its code begins; at or behind the variable
  std::set<std::string> names;

  /// It only notes the destructor for the program's end. The default constructor of std::vector leaves zeros, although it
  /// isn't constexpr in C++17.
  bool leavesZeros() const {
    constexpr size_t namesOfEnd = 4; // the variable, its destructor and these two
    const auto constructors =
        std::count_if(names.begin(), names.end(), [](const std::string& name) {
          return name.starts_with("_ZNSt6vectorI") &&
                 (name.ends_with("C1Ev") || name.ends_with("C2Ev"));
        });
    return names.count("__cxa_atexit") && names.count("__dso_handle") &&
           names.size() == namesOfEnd + (constructors == 1);
  }
  /// The symbol of its variable; of several on one line those that it names.
  std::vector<std::string> variables(const std::map<std::string, std::string>& places) const {
    auto fileOf = [](const std::string& at) { return at.substr(0, at.rfind(':')); };
    auto lineOf = [](const std::string& at) {
      return std::strtol(at.c_str() + at.rfind(':') + 1, nullptr, 10);
    };
    std::vector<std::string> nearest;
    long line = 0;
    for (const std::string& name : names)
      if (auto at = places.find(name);
          at != places.end() && fileOf(at->second) == fileOf(place) && lineOf(at->second) >= line &&
          (isFunction ? lineOf(at->second) <= lineOf(place) : at->second == place)) {
        if (lineOf(at->second) > line)
          nearest.clear();
        nearest.push_back(name);
        line = lineOf(at->second);
      }
    return nearest;
  }
};

/// From the lines of objdump -dlr.
void readInitialisers(const std::vector<std::string>& lines, std::vector<Initialiser>& found) {
  bool isFunction = false, isNamed = false;
  for (const std::string& line : lines) {
    if (line.ends_with(">:")) {
      isFunction = line.find("<__cxx_global_var_init") != std::string::npos;
      isNamed = isFunction;
      if (isFunction)
        found.push_back({true, {}, {}});
    } else if (size_t type = line.find(": R_"); type != std::string::npos && isNamed) {
      std::string target = line.substr(line.find_last_of("\t ") + 1);
      target.resize(std::min(target.size(), target.find_first_of("+-")));
      for (const char* section : {".bss.", ".data."}) // stand for static variables
        if (target.starts_with(section))
          target.erase(0, std::string(section).size());
      found.back().names.insert(target);
    } else if (line.starts_with('/') && isFunction) {
      if (found.back().place.empty())
        found.back().place = line;
    } else if (line.starts_with('/')) {
      std::string place = line.substr(0, line.find(" (discriminator"));
      auto same = std::find_if(found.begin(), found.end(),
                               [&](const Initialiser& i) { return i.place == place; });
      if (same == found.end())
        found.push_back({false, place, {}});
      else
        std::rotate(same, same + 1, found.end());
      isNamed = true;
    }
  }
}

/// The variable that has this section for itself.
std::string variableOf(Image& image, size_t section) {
  for (size_t i = 1; i < image.numSymbols(); ++i)
    if (const Elf64_Sym& s = image.symbol(i);
        s.st_shndx == section && ELF64_ST_TYPE(s.st_info) == STT_OBJECT)
      return image.name(s);
  return {};
}

} // namespace

ObjectReferences::ObjectReferences(std::string path) : path(std::move(path)) {}
ObjectReferences::~ObjectReferences() = default;

Named ObjectReferences::namedFrom(const std::string& function) {
  if (!image) {
    image = std::make_unique<IndexedImage>();
    if (!image->load(path).empty())
      *image = {};
  }
  References references(*image);
  references.addFunction(function);
  references.followAll();
  return references.named;
}

std::vector<LateVariable> lateVariables(const std::string& path,
                                        const std::vector<std::string>& kernels) {
  IndexedImage image;
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

Places placesOfVariables(const std::string& path) {
  Places places;
  std::string startOfAll; // the one function in which GCC puts all initialisers
  for (const std::string& line : answerOf({"nm", "-l", path})) {
    std::stringstream words(line); // address, type, symbol, place
    std::string address, type, symbol, place;
    words >> address >> type >> symbol;
    if (symbol.starts_with("_Z41__static_initialization_and_destruction_0"))
      startOfAll = symbol;
    if (std::getline(words >> std::ws, place))
      places.ofVariable[symbol] = place;
  }
  std::vector<Initialiser> found;
  readInitialisers(answerOf({"objdump", "-dlr", "-j", ".text.startup", path}), found);
  if (!startOfAll.empty())
    readInitialisers(answerOf({"objdump", "-lr", "--disassemble=" + startOfAll, path}), found);
  for (const Initialiser& initialiser : found)
    if (!initialiser.leavesZeros())
      for (const std::string& variable : initialiser.variables(places.ofVariable))
        places.initialised.insert(variable);
  return places;
}

} // namespace tilewright::ascendc
