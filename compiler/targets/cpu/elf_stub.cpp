// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/elf_stub.h"

#include <llvm/BinaryFormat/ELF.h>

#include <cstring>

namespace tilewright::cpu {
namespace {

using namespace llvm::ELF;

template <typename T> void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

Elf64_Shdr section(uint32_t type, uint64_t offset, uint64_t size, uint32_t link, uint64_t entry) {
  Elf64_Shdr header{};
  header.sh_type = type;
  header.sh_offset = offset;
  header.sh_size = size;
  header.sh_link = link;
  header.sh_entsize = entry;
  header.sh_addralign = 8;
  // sh_info of a symbol table is the number of its local symbols.
  header.sh_info = type == SHT_DYNSYM ? 1 : 0;
  return header;
}

} // namespace

std::string makeElfStub(llvm::StringRef sharedObjectName, uint16_t machine) {
  std::string strings = '\0' + sharedObjectName.str();
  strings.resize((strings.size() + 8) / 8 * 8);

  Elf64_Sym noSymbol{};
  Elf64_Dyn dynamic[2]{};
  dynamic[0].d_tag = DT_SONAME;
  dynamic[0].d_un.d_val = 1;

  const uint64_t stringsAt = sizeof(Elf64_Ehdr);
  const uint64_t symbolsAt = stringsAt + strings.size();
  const uint64_t dynamicAt = symbolsAt + sizeof noSymbol;
  const uint64_t sectionsAt = dynamicAt + sizeof dynamic;

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ElfMagic, 4);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = machine;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_shoff = sectionsAt;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 4;
  header.e_shstrndx = 1;

  std::string bytes;
  append(bytes, header);
  bytes += strings;
  append(bytes, noSymbol);
  append(bytes, dynamic);
  append(bytes, Elf64_Shdr{});
  append(bytes, section(SHT_STRTAB, stringsAt, strings.size(), 0, 0));
  append(bytes, section(SHT_DYNSYM, symbolsAt, sizeof noSymbol, 1, sizeof noSymbol));
  append(bytes, section(SHT_DYNAMIC, dynamicAt, sizeof dynamic, 1, sizeof dynamic[0]));
  return bytes;
}

} // namespace tilewright::cpu
