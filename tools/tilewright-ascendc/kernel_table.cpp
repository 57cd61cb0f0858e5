// SPDX-License-Identifier: Apache-2.0
#include "kernel_table.h"
#include "files.h"
#include "instantiations.h"

#include "simulator/launch.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <map>
#include <tuple>

namespace tilewright::ascendc {

namespace {

using ascend::Kernel;

void appendText(std::vector<char>& bytes, const std::string& text) {
  bytes.insert(bytes.end(), text.begin(), text.end());
  bytes.push_back('\0');
}
template <class T> void append(std::vector<char>& bytes, const T* first, size_t count) {
  const auto* from = reinterpret_cast<const char*>(first);
  bytes.insert(bytes.end(), from, from + count * sizeof(T));
}

/// The sections of the object. Names of sections and of symbols share one table.
class TableObject {
public:
  TableObject(const Elf64_Ehdr& like, uint32_t relocation) : header(like), relocation(relocation) {}

  void addRows(const std::string& symbol, const std::vector<TableRow>& rows) {
    names.push_back('\0');
    symbols.resize(2); // none, and the section of the rows
    symbols[1].st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION);
    symbols[1].st_shndx = rowSection;
    addBound(symbol + "_first", 0);
    addBound(symbol + "_last", rows.size() * sizeof(Kernel));
    data.resize(rows.size() * sizeof(Kernel));
    for (size_t i = 0; i < rows.size(); ++i)
      addRow(rows[i], i * sizeof(Kernel));
  }

  std::vector<char> bytes() {
    std::vector<char> out(sizeof(Elf64_Ehdr));
    Elf64_Shdr sections[numSections] = {};
    auto add = [&](Section section, const char* name, Elf64_Word type, size_t align) {
      out.resize((out.size() + align - 1) / align * align);
      Elf64_Shdr& s = sections[section];
      s.sh_name = static_cast<Elf64_Word>(names.size());
      appendText(names, name);
      s.sh_type = type;
      s.sh_addralign = align;
      s.sh_offset = out.size();
      return &s;
    };
    auto end = [&](Elf64_Shdr* s) { s->sh_size = out.size() - s->sh_offset; };

    Elf64_Shdr* rows = add(rowSection, ".data.rel.ro", SHT_PROGBITS, 8);
    rows->sh_flags = SHF_ALLOC | SHF_WRITE;
    append(out, data.data(), data.size());
    end(rows);
    Elf64_Shdr* addresses = add(relocationSection, ".rela.data.rel.ro", SHT_RELA, 8);
    addresses->sh_link = symbolSection;
    addresses->sh_info = rowSection;
    addresses->sh_entsize = sizeof(Elf64_Rela);
    append(out, relocations.data(), relocations.size());
    end(addresses);
    Elf64_Shdr* table = add(symbolSection, ".symtab", SHT_SYMTAB, 8);
    table->sh_link = nameSection;
    table->sh_info = 2; // the first that isn't local
    table->sh_entsize = sizeof(Elf64_Sym);
    append(out, symbols.data(), symbols.size());
    end(table);
    end(add(stackSection, ".note.GNU-stack", SHT_PROGBITS, 1)); // the stack need not be executable
    Elf64_Shdr* strings = add(nameSection, ".strtab", SHT_STRTAB, 1);
    append(out, names.data(), names.size());
    end(strings);

    out.resize((out.size() + 7) / 8 * 8);
    header.e_type = ET_REL;
    header.e_shoff = out.size();
    header.e_shnum = numSections;
    header.e_shstrndx = nameSection;
    std::memcpy(out.data(), &header, sizeof header);
    append(out, sections, numSections);
    return out;
  }

private:
  enum Section {
    noSection,
    rowSection,
    relocationSection,
    symbolSection,
    stackSection,
    nameSection,
    numSections
  };

  void addBound(const std::string& name, size_t at) {
    Elf64_Sym s = {};
    s.st_name = static_cast<Elf64_Word>(names.size());
    appendText(names, name);
    s.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
    s.st_other = STV_HIDDEN;
    s.st_shndx = rowSection;
    s.st_value = at;
    symbols.push_back(s);
  }
  void addAddress(size_t at, size_t symbol, size_t addend) {
    relocations.push_back(
        {at, ELF64_R_INFO(symbol, relocation), static_cast<Elf64_Sxword>(addend)});
  }
  void addFunction(size_t at, const std::string& name) {
    if (name.empty())
      return;
    auto [known, isNew] = functions.try_emplace(name, symbols.size());
    if (isNew) {
      Elf64_Sym s = {};
      s.st_name = static_cast<Elf64_Word>(names.size());
      appendText(names, name);
      s.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE);
      symbols.push_back(s);
    }
    addAddress(at, known->second, 0);
  }
  void addRow(const TableRow& row, size_t at) {
    addFunction(at + offsetof(Kernel, host), row.host);
    addFunction(at + offsetof(Kernel, aic), row.aic);
    addFunction(at + offsetof(Kernel, aiv), row.aiv);
    addAddress(at + offsetof(Kernel, name), rowSection, data.size());
    Kernel kernel = {};
    kernel.type = static_cast<ascend::KernelType>(row.kind);
    kernel.isKeyed = row.isKeyed;
    kernel.tilingKey = row.key;
    std::memcpy(data.data() + at, &kernel, sizeof kernel);
    appendText(data, row.name);
  }

  Elf64_Ehdr header;
  const uint32_t relocation;
  std::vector<char> data, names;
  std::vector<Elf64_Sym> symbols;
  std::vector<Elf64_Rela> relocations;
  std::map<std::string, size_t> functions; ///< numbers of their symbols
};

} // namespace

std::vector<TableRow> rowsOfKinds(const TableRow& row, std::vector<KindMark> marks,
                                  uint64_t inferred, std::string& error) {
  // A compiler may write them in any order, and each kind of core has them.
  auto isBefore = [](const KindMark& a, const KindMark& b) {
    return std::tie(a.file, a.line, a.kind) < std::tie(b.file, b.line, b.kind);
  };
  std::sort(marks.begin(), marks.end(), isBefore);
  auto isSame = [&](const KindMark& a, const KindMark& b) {
    return !isBefore(a, b) && !isBefore(b, a);
  };
  marks.erase(std::unique(marks.begin(), marks.end(), isSame), marks.end());
  std::vector<KindMark> kept;
  for (const KindMark& mark : marks) {
    auto same = std::find_if(kept.begin(), kept.end(), [&](const KindMark& m) {
      return m.isKeyed == mark.isKeyed && m.key == mark.key;
    });
    if (same == kept.end())
      kept.push_back(mark);
    else if (same->kind != mark.kind)
      error += mark.file + ":" + std::to_string(mark.line) + ": error: kernel '" +
               plainName(row.name.substr(0, row.name.find('$'))) + "' has another kind at " +
               (same->file == mark.file ? "line " : same->file + ":") + std::to_string(same->line) +
               (mark.isOfCalled ? "; say one in its own body\n"
                                : "; KERNEL_TASK_TYPE gives kinds to its tiling keys\n");
  }
  std::vector<TableRow> rows;
  auto add = [&](uint64_t kind, bool isKeyed, uint64_t key) {
    TableRow made = row;
    made.kind = kind;
    made.isKeyed = isKeyed;
    made.key = key;
    rows.push_back(made);
  };
  auto isDefault = [](const KindMark& m) { return !m.isKeyed; };
  auto chosen = std::find_if(kept.begin(), kept.end(), isDefault);
  bool isOneKind = !kept.empty() && std::all_of(kept.begin(), kept.end(), [&](const KindMark& m) {
    return m.kind == kept[0].kind;
  });
  add(chosen != kept.end() ? chosen->kind : isOneKind ? kept[0].kind : inferred, false, 0);
  for (const KindMark& m : kept)
    if (m.isKeyed)
      add(m.kind, true, m.key);
  return rows;
}

std::string writeTable(const std::string& path, const std::string& like, const std::string& symbol,
                       const std::vector<TableRow>& rows) {
  Elf64_Ehdr header = {};
  std::ifstream(like, std::ios::binary).read(reinterpret_cast<char*>(&header), sizeof header);
  uint32_t relocation = header.e_machine == EM_X86_64    ? R_X86_64_64
                        : header.e_machine == EM_AARCH64 ? R_AARCH64_ABS64
                                                         : 0;
  if (!relocation)
    return "'" + like + "' is neither for x86-64 nor for AArch64";
  TableObject object(header, relocation);
  object.addRows(symbol, rows);
  std::vector<char> bytes = object.bytes();
  return storeFile(path, {bytes.begin(), bytes.end()}) ? "" : "cannot write '" + path + "'";
}

std::string startText(const std::string& symbol, const std::string& runDefaults) {
  std::string bounds = "extern \"C\" __attribute__((visibility(\"hidden\"))) const char " + symbol +
                       "_first[], " + symbol + "_last[];\n";
  std::string calls =
      "  ::tilewright::ascend::checkInterface(::tilewright::ascend::interfaceDigest());\n"
      "  tilewrightRegister(" +
      symbol + "_first, " + symbol + "_last);\n";
  std::string functions =
      "void tilewrightRegister(const void*, const void*)\n"
      "  __asm__(\"_ZN10tilewright6ascend15registerKernelsEPKNS0_6KernelES3_\");\n";
  if (!runDefaults.empty()) {
    functions += "void tilewrightSetDefaults(const char*) "
                 "__asm__(\"_ZN10tilewright6ascend17setLaunchDefaultsEPKc\");\n";
    calls += "  tilewrightSetDefaults(\"" + runDefaults + "\");\n";
  }
  return "\n#line 1 \"made by tilewright-ascendc\"\nnamespace tilewright::start {\n" + functions +
         bounds + "__attribute__((constructor(101))) static void start() {\n" + calls + "}\n}\n";
}

} // namespace tilewright::ascendc
