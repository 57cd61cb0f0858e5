// SPDX-License-Identifier: Apache-2.0
#include "kernel_kinds.h"
#include "instantiations.h"

#include <algorithm>
#include <set>

namespace tilewright::ascendc {

namespace {

constexpr uint64_t noKind = ~uint64_t(0);

/// The kind that a macro gave to a kernel with its head.
uint64_t kindOfHead(const ObjectSymbols symbols[3], const std::string& kernel) {
  for (int pass = 1; pass < 3; ++pass)
    if (auto found = symbols[pass].kindsOfHeads.find(kernel);
        found != symbols[pass].kindsOfHeads.end())
      return found->second;
  return noKind;
}

/// The kind of a kernel that says none, by what it calls. As the vendor's compiler does: cores that meet are those of a
/// mixed kernel.
uint64_t inferredKind(ObjectReferences made[3], const std::string& kernel) {
  constexpr uint64_t aivOnly = 0, aicOnly = 1, mixAiv = 2, mixAic = 3, mix12 = 5;
  auto calls = [&](ObjectReferences& object, std::initializer_list<const char*> functions) {
    if (object.isEmpty())
      return false;
    const std::set<std::string> called = object.namedFrom(kernel).undefined;
    return std::any_of(called.begin(), called.end(), [&](const std::string& name) {
      return std::any_of(functions.begin(), functions.end(), [&](const char* function) {
        return name.find(function) != std::string::npos;
      });
    });
  };
  const auto meetings = {"issueSyncAll", "issueCrossSet", "issueCrossWait"};
  constexpr int cubePass = 1, vectorPass = 2;
  bool cube = calls(made[cubePass], {"issueCube"}),
       vector = calls(made[vectorPass], {"issueVector"});
  if (cube && vector)
    return mix12;
  cube = cube || made[vectorPass].isEmpty(); // all that the source has
  return cube ? (calls(made[cubePass], meetings) ? mixAic : aicOnly)
              : (calls(made[vectorPass], meetings) ? mixAiv : aivOnly);
}

/// The marks that stand in the kernel and in functions that it calls.
struct Marks {
  std::vector<KindMark> own, called;
};
/// Adds those that one pass sees; `used` gets their symbols.
void addMarksOf(const std::string& kernel, const std::string& symbol, const ObjectSymbols& symbols,
                ObjectReferences& object, Marks& marks, std::set<std::string>& used) {
  std::set<std::string> named;
  bool isAsked = false;
  for (const auto& [function, ofFunction] : symbols.kinds) {
    bool isOwn = function == kernel; // also where its code ends before
    if (!isOwn && !isAsked) {
      named = object.namedFrom(symbol).kinds;
      isAsked = true;
    }
    for (const auto& [name, mark] : ofFunction) {
      if (!isOwn && !named.count(name))
        continue;
      used.insert(name);
      std::vector<KindMark>& found = isOwn ? marks.own : marks.called;
      found.push_back(mark);
      found.back().isOfCalled = !isOwn;
    }
  }
}

bool isDefault(const KindMark& mark) {
  return !mark.isKeyed;
}

/// Adds what the called functions say and the kernel doesn't.
void addCalled(const Marks& found, bool isSaid, std::vector<KindMark>& marks) {
  auto isKnown = [&](const KindMark& mark) {
    return std::any_of(found.own.begin(), found.own.end(), [&](const KindMark& own) {
      return own.isKeyed == mark.isKeyed && own.key == mark.key;
    });
  };
  for (const KindMark& mark : found.called)
    if (isDefault(mark) ? !isSaid : !isKnown(mark))
      marks.push_back(mark);
}

/// Of a kernel that says none: what stands at file level.
void addMarksOfFile(const ObjectSymbols symbols[3], std::vector<KindMark>& marks) {
  for (int pass = 1; pass < 3; ++pass)
    if (auto ofFile = symbols[pass].kinds.find(""); ofFile != symbols[pass].kinds.end())
      for (const auto& [name, mark] : ofFile->second)
        if (isDefault(mark))
          marks.push_back(mark);
}

} // namespace

std::vector<TableRow> rowsOfKernel(const TableRow& row, bool isSure, const std::string& source,
                                   ObjectReferences made[3], const ObjectSymbols symbols[3],
                                   std::set<std::string>& used, std::string& errors) {
  const std::string kernel = row.name.substr(0, row.name.find('$'));
  Marks found;
  for (int pass = 1; pass < 3; ++pass)
    addMarksOf(kernel, row.name, symbols[pass], made[pass], found, used);
  auto saysOne = [](const std::vector<KindMark>& marks) {
    return std::any_of(marks.begin(), marks.end(), isDefault);
  };
  uint64_t kind = kindOfHead(symbols, kernel);
  const bool isSaid = kind != noKind || saysOne(found.own);
  std::vector<KindMark> marks = found.own;
  addCalled(found, isSaid, marks);
  std::string contradiction;
  rowsOfKinds(row, marks, noKind, contradiction);
  if (!contradiction.empty() && !isSure) // a host's function names kernels of all kinds
    marks = found.own;
  if (!isSaid && !saysOne(marks))
    addMarksOfFile(symbols, marks);
  if (!isSaid && !saysOne(marks))
    kind = inferredKind(made, row.name);
  if (kind == wrongMix)
    errors += source + ": error: kernel '" + plainName(kernel) +
              "' has __mix__ with other numbers than (1, 2), (1, 1), (1, 0) and (0, 1)\n";
  return rowsOfKinds(row, marks, kind, errors);
}

std::string warningsOfKinds(const ObjectSymbols symbols[3], const std::set<std::string>& used) {
  std::set<std::string> warnings;
  for (int pass = 1; pass < 3; ++pass)
    for (const auto& [function, marks] : symbols[pass].kinds)
      for (const auto& [name, mark] : marks)
        if (!used.count(name) && (mark.isKeyed || !function.empty()))
          warnings.insert(mark.file + ":" + std::to_string(mark.line) +
                          ": warning: the kind that is said here holds for no kernel; say it in a "
                          "kernel's own body\n");
  std::string text;
  for (const std::string& warning : warnings)
    text += warning;
  return text;
}

} // namespace tilewright::ascendc
