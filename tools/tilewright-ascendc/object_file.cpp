// SPDX-License-Identifier: Apache-2.0
#include "object_file.h"
#include "elf_image.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <map>
#include <set>
#include <string_view>

namespace tilewright::ascendc {

namespace {

/// What a core has not: functions of the machine take the place of these. They end the core and not the program, or
/// give it memory that it can't damage others with.
const std::map<std::string_view, const char*> replacements = {
    {"exit", "tilewrightKernelExit"},
    {"_exit", "tilewrightKernelExit"},
    {"_Exit", "tilewrightKernelExit"},
    {"quick_exit", "tilewrightKernelExit"},
    {"abort", "tilewrightKernelAbort"},
    {"raise", "tilewrightKernelRaise"},
    {"kill", "tilewrightKernelKill"},
    {"pthread_kill", "tilewrightKernelKill"},
    {"__assert_fail", "tilewrightKernelAssert"},
    {"pthread_create", "tilewrightKernelThread"},
    {"longjmp", "tilewrightKernelJump"},
    {"_longjmp", "tilewrightKernelJump"},
    {"siglongjmp", "tilewrightKernelJump"},
    {"__longjmp_chk", "tilewrightKernelJump"},
    {"malloc", "tilewrightKernelMalloc"},
    {"calloc", "tilewrightKernelCalloc"},
    {"realloc", "tilewrightKernelRealloc"},
    {"aligned_alloc", "tilewrightKernelAligned"},
    {"memalign", "tilewrightKernelAligned"},
    {"posix_memalign", "tilewrightKernelMemalign"},
    {"free", "tilewrightKernelFree"},
    // new and delete of size_t as unsigned long.
    {"_Znwm", "tilewrightKernelNew"},
    {"_Znam", "tilewrightKernelNew"},
    {"_ZnwmRKSt9nothrow_t", "tilewrightKernelMalloc"},
    {"_ZnamRKSt9nothrow_t", "tilewrightKernelMalloc"},
    {"_ZnwmSt11align_val_t", "tilewrightKernelNewAligned"},
    {"_ZnamSt11align_val_t", "tilewrightKernelNewAligned"},
};

/// Of the operating system: they would stop, end or damage the program, or wait for what doesn't come.
constexpr std::string_view systemFunctions =
    " accept alarm brk clock_nanosleep clone close close_range closefrom daemon dup2 dup3 "
    "epoll_wait execl execle execlp execv execve execveat execvp execvpe fexecve fork "
    "madvise mmap mprotect mremap msync munmap nanosleep pause poll popen posix_spawn "
    "posix_spawnp ppoll prctl pselect pthread_cancel pthread_exit "
    "pthread_setschedparam pthread_sigmask ptrace read readv recv recvfrom recvmsg sbrk "
    "sched_setaffinity sched_setscheduler sched_yield select sem_wait setitimer "
    "setpriority setrlimit shmat shmdt sigaction sigaltstack signal sigpause sigprocmask "
    "sigqueue sigsuspend sigtimedwait sigwait sigwaitinfo sleep syscall system tgkill "
    "thrd_exit timer_create ualarm usleep vfork wait wait3 wait4 waitid waitpid ";

/// Null for a function that a kernel's code may call as it is.
const char* insteadOf(const std::string& function) {
  if (auto found = replacements.find(function); found != replacements.end())
    return found->second;
  if (systemFunctions.find(" " + function + " ") != std::string_view::npos)
    return "tilewrightKernelSystemCall";
  if (function.starts_with("_ZdlPv") || function.starts_with("_ZdaPv"))
    return "tilewrightKernelFree";
  return function.starts_with("_ZNSt6thread15_M_start_thread") ? "tilewrightKernelThread" : nullptr;
}

bool isShared(const Elf64_Sym& s) {
  return ELF64_ST_BIND(s.st_info) != STB_LOCAL;
}

void rename(Elf64_Sym& symbol, const std::string& name, std::vector<char>& names) {
  symbol.st_name = static_cast<Elf64_Word>(names.size());
  names.insert(names.end(), name.begin(), name.end());
  names.push_back('\0');
}

/// Gives each symbol a new number wherever another section names it by its number.
void renumber(Image& image, const std::vector<size_t>& newNumbers) {
  for (Elf64_Shdr& section : image.sections) {
    constexpr Elf64_Word addressSignificance = 0x6FFF4C03; // of LLVM: symbols in a packed form
    if (section.sh_type == addressSignificance)
      section.sh_size = 0; // a hint
    if (section.sh_link != image.symbols)
      continue;
    if (section.sh_type == SHT_GROUP)
      section.sh_info = static_cast<Elf64_Word>(newNumbers[section.sh_info]);
    if (section.sh_type != SHT_RELA)
      continue;
    for (size_t at = 0; at < section.sh_size; at += sizeof(Elf64_Rela)) {
      auto& relocation = image.get<Elf64_Rela>(section.sh_offset + at);
      relocation.r_info =
          ELF64_R_INFO(newNumbers[ELF64_R_SYM(relocation.r_info)], ELF64_R_TYPE(relocation.r_info));
    }
  }
}

/// The function around a mark, which a lambda around a static variable holds: both are parts of its name. None: the
/// mark stands at file level.
std::string functionOfMark(const std::string& mark) {
  constexpr std::string_view inFunction = "_ZZZ", lambda = "ENK";
  size_t end = mark.rfind(lambda);
  if (!mark.starts_with(inFunction) || end == std::string::npos)
    return {};
  std::string function = mark.substr(inFunction.size(), end - inFunction.size());
  size_t digits = 0;
  while (digits < function.size() && std::isdigit(static_cast<unsigned char>(function[digits])))
    ++digits;
  bool isExternC = digits > 0 && std::stoul(function.substr(0, digits)) == function.size() - digits;
  return isExternC ? function.substr(digits) : "_Z" + function;
}

/// What stands behind `kindSection` in a section's name: a kind, or the numbers of TW_MIX_SECTION.
uint64_t kindOfSection(std::string_view text) {
  constexpr uint64_t mixAiv = 2, mixAic = 3, mostVectors = 2;
  if (!text.starts_with('M'))
    return static_cast<uint64_t>(text.front() - '0');
  if (text == "M0_1")
    return mixAiv;
  for (uint64_t vectors = 0; vectors <= mostVectors; ++vectors)
    if (text == "M1_" + std::to_string(vectors))
      return mixAic + vectors;
  return wrongMix;
}

/// What TW_MARK_KIND of the headers has written.
KindMark markAt(const Image& image, size_t offset) {
  uint64_t words[4];
  KindMark mark = {};
  if (offset + sizeof words >= image.bytes.size())
    return mark;
  std::memcpy(words, image.bytes.data() + offset, sizeof words);
  return {words[0] != 0, words[1], words[2], words[3], image.bytes.data() + offset + sizeof words};
}

} // namespace

ObjectSymbols readSymbols(const std::string& path) {
  ObjectSymbols result;
  Image image;
  result.error = image.load(path);
  for (size_t i = 1; i < image.numSymbols() && result.error.empty(); ++i) {
    Elf64_Sym& s = image.symbol(i);
    if (ELF64_ST_TYPE(s.st_info) == STT_OBJECT && s.st_shndx < image.sections.size() &&
        isMarkOfKind(image.name(s)))
      result.kinds[functionOfMark(image.name(s))].emplace(
          image.name(s), markAt(image, image.sections[s.st_shndx].sh_offset + s.st_value));
    if (ELF64_ST_TYPE(s.st_info) == STT_FUNC && s.st_shndx < image.sections.size())
      if (std::string_view section = image.sectionName(s.st_shndx);
          section.starts_with(kindSection))
        result.kindsOfHeads[image.name(s)] =
            kindOfSection(section.substr(std::strlen(kindSection)));
    if (!isShared(s)) {
      if (ELF64_ST_TYPE(s.st_info) == STT_FUNC)
        result.localFunctions.emplace_back(image.name(s));
      continue;
    }
    if (s.st_shndx == SHN_UNDEF)
      result.undefined.emplace_back(image.name(s));
    else if (ELF64_ST_TYPE(s.st_info) == STT_FUNC)
      result.functions.emplace_back(image.name(s));
  }
  return result;
}

std::string publish(const std::string& path, const std::set<std::string>& functions,
                    const std::string& suffix) {
  Image image;
  if (std::string error = image.load(path); !error.empty() || !image.symbols)
    return error;
  for (const Elf64_Shdr& section : image.sections)
    if (section.sh_type == SHT_SYMTAB_SHNDX)
      return "'" + path + "' has too many sections for a kernel with types of unnamed namespaces";
  std::vector<char> names = image.takeNames();
  // Local symbols come first in the table.
  std::vector<Elf64_Sym> locals, shared;
  std::vector<size_t> newNumbers(image.numSymbols());
  std::vector<bool> isLocal(image.numSymbols());
  for (size_t i = 0; i < image.numSymbols(); ++i) {
    Elf64_Sym s = image.symbol(i);
    if (!isShared(s) && ELF64_ST_TYPE(s.st_info) == STT_FUNC && functions.count(image.name(s))) {
      rename(s, image.name(s) + suffix, names);
      s.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    }
    isLocal[i] = !isShared(s);
    (isLocal[i] ? locals : shared).push_back(s);
    newNumbers[i] = (isLocal[i] ? locals : shared).size() - 1;
  }
  for (size_t i = 0; i < newNumbers.size(); ++i)
    newNumbers[i] += isLocal[i] ? 0 : locals.size();
  renumber(image, newNumbers);
  image.sections[image.symbols].sh_info = static_cast<Elf64_Word>(locals.size());
  locals.insert(locals.end(), shared.begin(), shared.end());
  std::copy(locals.begin(), locals.end(), &image.symbol(0));
  return image.store(path, names);
}

std::string privatise(const std::string& path, const std::string& suffix) {
  Image image;
  if (std::string error = image.load(path); !error.empty())
    return error;
  if (!image.symbols)
    return {};
  std::vector<char> names = image.takeNames();
  // The linker keeps one group of each name; a name may be that of a local symbol.
  std::set<size_t> groupNames;
  for (const Elf64_Shdr& section : image.sections)
    if (section.sh_type == SHT_GROUP)
      groupNames.insert(section.sh_info);
  for (size_t i = 1; i < image.numSymbols(); ++i) {
    Elf64_Sym& s = image.symbol(i);
    bool isImported = isShared(s) && s.st_shndx == SHN_UNDEF;
    const char* instead = isImported ? insteadOf(image.name(s)) : nullptr;
    if ((!isShared(s) || isImported) && !groupNames.count(i) && !instead)
      continue;
    std::string renamed = instead ? instead : image.name(s) + suffix;
    rename(s, renamed, names);
    if (ELF64_ST_BIND(s.st_info) == STB_GNU_UNIQUE)
      s.st_info = ELF64_ST_INFO(STB_WEAK, ELF64_ST_TYPE(s.st_info));
  }
  for (size_t i = 1; i < image.sections.size(); ++i) {
    std::string name = image.sectionName(i);
    if (name.find(".init_array") != std::string::npos || name.find(".ctors") != std::string::npos)
      image.sections[i].sh_size = 0;
  }
  return image.store(path, names);
}

} // namespace tilewright::ascendc
