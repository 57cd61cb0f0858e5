// SPDX-License-Identifier: Apache-2.0
// One source: its passes, and the table of its kernels.
#include "builder.h"
#include "files.h"
#include "header_tree.h"
#include "instantiations.h"
#include "kernel_kinds.h"
#include "object_file.h"
#include "object_references.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

namespace tilewright::ascendc {

namespace fs = std::filesystem;

namespace {

const char* const passNames[3] = {"host", "aic", "aiv"};

std::string readAll(const std::string& path, bool& found) {
  std::ifstream in(path, std::ios::binary);
  found = static_cast<bool>(in);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

} // namespace

/// A pass whose core no kernel of the source uses is left out.
std::vector<Builder::Pass> Builder::passesOf(const RewrittenSource& rewritten) {
  if (!rewritten.includesKernelOperator)
    return {Host};
  uint32_t kinds = rewritten.kernels.empty() ? unsaidKind : 0;
  for (const auto& [name, ofKernel] : rewritten.kernels)
    kinds |= ofKernel;
  constexpr uint32_t vectorOnly = 1u << 0 | 1u << 2, cubeOnly = 1u << 1 | 1u << 3;
  bool cube = kinds & ~vectorOnly, vector = kinds & ~cubeOnly;
  std::vector<Pass> passes;
  if (cube)
    passes.push_back(Cube);
  if (vector)
    passes.push_back(Vector);
  passes.push_back(Host);
  return passes;
}

bool Builder::compileSource(const std::string& source, size_t index) {
  bool found = false;
  std::string text = readAll(source, found);
  if (!found) {
    fprintf(stderr, "error: cannot read '%s'\n", source.c_str());
    return false;
  }
  fs::path copies = work / ("headers" + std::to_string(index));
  if (!makeFolder(copies))
    return false;
  RewrittenSource rewritten = HeaderTree(includeFolders(), copies).rewriteAll(text, source);
  for (const std::string& e : rewritten.errors)
    fprintf(stderr, "%s\n", e.c_str());
  if (!rewritten.errors.empty())
    return false;
  std::string stem = work / ("source" + std::to_string(index));
  if (!rewritten.includesKernelOperator && !rewritten.hasLaunches && rewritten.kernels.empty() &&
      !rewritten.hasDeviceAttributes) {
    objects.push_back(stem + ".host.o");
    return compilePlain(source, objects.back());
  }
  if (!rewritten.includesKernelOperator)
    rewritten.host = "#include \"ascendc/launch.h\"\n" + rewritten.host;
  std::string made[3];
  std::vector<Pass> passes = passesOf(rewritten);
  if (rewritten.includesKernelOperator && !preparePasses(passes))
    return false;
  if (passes.size() > 1)
    rewritten.host += startText(tableSymbol(index), options.runDefaults);
  for (Pass pass : passes)
    made[pass] = stem + "." + passNames[pass] + ".o";
  if (!compilePasses(rewritten, passes, source, made))
    return false;
  for (Pass pass : passes)
    objects.push_back(made[pass]);
  if (passes.size() == 1)
    return true;
  std::string table = stem + ".table.o";
  if (!makeTable(rewritten, source, made, index, table))
    return false;
  objects.push_back(table);
  return true;
}

Command Builder::commandOf(Pass pass, const std::string& text, const std::string& source,
                           const std::string& object) {
  std::string from = object.substr(0, object.size() - 1) + "cpp";
  writeFile(from, text);
  return compileCommand(pass, from, source, object);
}

bool Builder::compilePasses(const RewrittenSource& rewritten, const std::vector<Pass>& passes,
                            const std::string& source, const std::string made[3]) {
  std::vector<std::string> messages;
  Outcome outcome = compileKernelsOnly(rewritten, passes, source, made, messages);
  if (outcome == Outcome::Impossible) {
    std::vector<Command> commands;
    for (Pass pass : passes)
      if (pass != Host || !isThere(made[Host]))
        commands.push_back(
            commandOf(pass, pass == Host ? rewritten.host : rewritten.device, source, made[pass]));
    outcome = Outcome::Done;
    for (Finished& pass : runEach(commands, options.verbose)) {
      messages.push_back(std::move(pass.messages));
      if (!pass.isWell)
        outcome = Outcome::Failed;
    }
  }
  fputs(withoutRepetition(messages).c_str(), stderr);
  return outcome == Outcome::Done;
}

Builder::Outcome Builder::compileKernelsOnly(const RewrittenSource& rewritten,
                                             const std::vector<Pass>& passes,
                                             const std::string& source, const std::string made[3],
                                             std::vector<std::string>& messages) {
  // Any function may be a kernel where macros define them.
  if (passes.size() == 1 || rewritten.kernels.count(""))
    return Outcome::Impossible;
  std::string text = rewritten.kernelsOnly;
  std::vector<Command> commands = {commandOf(Host, rewritten.host, source, made[Host])};
  std::vector<Finished> finished;
  if (rewritten.hasTemplates) {
    finished = runEach(commands, options.verbose);
    messages.push_back(finished[0].messages);
    if (!finished[0].isWell)
      return Outcome::Failed;
    commands.clear();
    auto templates =
        instantiationsOf(kernelsAmong(readSymbols(made[Host]), rewritten), rewritten.kernels);
    if (!templates)
      return Outcome::Impossible;
    text += *templates;
  }
  for (Pass pass : passes)
    if (pass != Host)
      commands.push_back(commandOf(pass, text, source, made[pass]));
  bool hostIsFirst = !rewritten.hasTemplates, allWell = true;
  finished = runEach(commands, options.verbose);
  for (const Finished& pass : finished)
    allWell = allWell && pass.isWell;
  bool hostIsWell = !hostIsFirst || finished[0].isWell;
  if (hostIsFirst)
    messages.push_back(finished[0].messages);
  // What is wrong here may be so only because bodies are missing: then the whole source says it better.
  if (hostIsWell && (!allWell || !haveSameKernels(rewritten, passes, made)))
    return Outcome::Impossible;
  for (size_t i = hostIsFirst; i < finished.size(); ++i)
    messages.push_back(finished[i].messages);
  return hostIsWell ? Outcome::Done : Outcome::Failed;
}

std::vector<std::string> Builder::kernelsAmong(const ObjectSymbols& symbols,
                                               const RewrittenSource& rewritten) {
  std::vector<std::string> kernels;
  for (const auto* functions : {&symbols.functions, &symbols.localFunctions})
    for (const std::string& name : *functions)
      if (rewritten.kernels.count(plainName(name)))
        kernels.push_back(name);
  std::sort(kernels.begin(), kernels.end());
  return kernels;
}

bool Builder::haveSameKernels(const RewrittenSource& rewritten, const std::vector<Pass>& passes,
                              const std::string made[3]) {
  std::vector<std::string> wanted = kernelsAmong(readSymbols(made[Host]), rewritten);
  return std::all_of(passes.begin(), passes.end(), [&](Pass pass) {
    std::vector<std::string> there = kernelsAmong(readSymbols(made[pass]), rewritten);
    return std::includes(there.begin(), there.end(), wanted.begin(), wanted.end());
  });
}

std::string Builder::uniqueName(size_t index) const {
  char name[32];
  snprintf(name, sizeof name, "%016zx",
           std::hash<std::string>{}(absoluteOf(options.output).string() + std::to_string(index)));
  return name;
}

bool Builder::publishLocalKernels(const RewrittenSource& rewritten, const std::string made[3],
                                  size_t index, ObjectSymbols symbols[3]) {
  std::set<std::string> kernels;
  for (const std::string& name : symbols[Host].localFunctions)
    if (rewritten.kernels.count(plainName(name)))
      kernels.insert(name);
  if (kernels.empty())
    return true;
  // Another source may have a kernel of the same name.
  for (Pass pass : {Host, Cube, Vector}) {
    if (made[pass].empty())
      continue;
    std::string error = publish(made[pass], kernels, localSuffix(index));
    if (error.empty()) {
      symbols[pass] = readSymbols(made[pass]);
      error = symbols[pass].error;
    }
    if (!error.empty()) {
      fprintf(stderr, "error: %s\n", error.c_str());
      return false;
    }
  }
  return true;
}

bool Builder::makeTable(const RewrittenSource& rewritten, const std::string& source,
                        const std::string made[3], size_t index, const std::string& table) {
  ObjectSymbols symbols[3];
  auto isWell = [](const std::string& error) {
    if (!error.empty())
      fprintf(stderr, "error: %s\n", error.c_str());
    return error.empty();
  };
  for (Pass pass : {Host, Cube, Vector})
    if (!made[pass].empty()) {
      symbols[pass] = readSymbols(made[pass]);
      if (!isWell(symbols[pass].error))
        return false;
    }
  if (!publishLocalKernels(rewritten, made, index, symbols))
    return false;
  std::vector<TableRow> rows;
  if (!listKernels(rewritten, source, made, symbols, rows))
    return false;
  fputs(warningsOfLateVariables(rewritten, source, rows, made).c_str(), stderr);
  for (Pass pass : {Cube, Vector})
    if (!made[pass].empty() && !isWell(privatise(made[pass], std::string("$") + passNames[pass])))
      return false;
  return isWell(writeTable(table, made[Host], tableSymbol(index), rows)) &&
         (!options.kernelObject || addSignatures(rewritten, source, rows, made[Host], index));
}

bool Builder::addSignatures(const RewrittenSource& rewritten, const std::string& source,
                            const std::vector<TableRow>& rows, const std::string& object,
                            size_t index) {
  std::set<std::string> kernels, locals; // a kernel has a row for each of its kinds
  const std::string suffix = localSuffix(index);
  for (const TableRow& row : rows) {
    bool isLocal = row.host.ends_with(suffix);
    std::string name = row.host.substr(0, row.host.size() - (isLocal ? suffix.size() : 0));
    kernels.insert(name);
    if (isLocal)
      locals.insert(name);
  }
  std::string error;
  std::string text = signaturesText({kernels.begin(), kernels.end()}, error);
  if (error.empty()) {
    Finished pass =
        runEach({commandOf(Host, rewritten.host + text, source, object)}, options.verbose).at(0);
    if (!pass.isWell)
      error = pass.messages;
    else if (!locals.empty())
      error = publish(object, locals, suffix);
  }
  fputs(error.c_str(), stderr);
  return error.empty();
}

namespace {
/// A place of debug information, as other messages name it.
std::string asGiven(const std::string& place, const std::string& source) {
  const std::string here = workingFolder().string() + "/";
  const bool isBelow = fs::path(source).is_relative() && place.starts_with(here);
  return isBelow ? place.substr(here.size()) : place;
}
} // namespace

std::string Builder::warningsOfLateVariables(const RewrittenSource& rewritten,
                                             const std::string& source,
                                             const std::vector<TableRow>& rows,
                                             const std::string made[3]) {
  std::vector<std::string> kernels;
  kernels.reserve(rows.size());
  for (const TableRow& row : rows)
    kernels.push_back(row.host);
  std::string text;
  std::set<std::string> told;
  for (Pass pass : {Cube, Vector}) {
    if (made[pass].empty())
      continue;
    std::optional<Places> places;
    for (const LateVariable& variable : lateVariables(made[pass], kernels)) {
      if (!told.insert(variable.symbol).second)
        continue;
      if (!places) {
        // Rare enough to compile once more, as the optimiser drops what says the lines of variables.
        std::string object = made[pass] + ".places.o";
        Command command = commandOf(pass, rewritten.device, source, object);
        std::erase_if(command,
                      [](const std::string& flag) { return flag.starts_with("-fdebug-"); });
        command.push_back("-g2");
        if (isClang)
          command.insert(command.end(), {"-Xclang", "-disable-llvm-passes"});
        else
          command.push_back("-O0");
        runEach({command}, options.verbose);
        places = placesOfVariables(object);
      }
      if (!places->initialised.count(variable.symbol))
        continue; // code of others reads it, or notes its address or its destructor
      text += asGiven(places->ofVariable[variable.symbol], source) + ": warning: '" +
              demangled(variable.symbol) + "' is zero in kernel '" + plainName(variable.kernel) +
              "': its initialiser runs when the program starts, which a device has not; make it "
              "constexpr, or hand its value to the kernel\n";
    }
  }
  return text;
}

bool Builder::listKernels(const RewrittenSource& rewritten, const std::string& source,
                          const std::string made[3], const ObjectSymbols symbols[3],
                          std::vector<TableRow>& rows) {
  std::set<std::string> defined[3];
  for (Pass pass : {Cube, Vector})
    defined[pass] = {symbols[pass].functions.begin(), symbols[pass].functions.end()};
  ObjectReferences objects[3] = {ObjectReferences(made[Host]), ObjectReferences(made[Cube]),
                                 ObjectReferences(made[Vector])};
  std::string errors;
  std::set<std::string> usedKinds;
  for (const std::string& name : symbols[Host].functions) {
    const std::string published = name.substr(0, name.find('$'));
    bool isSure = rewritten.kernels.count(plainName(published)),
         isKernel = isSure || rewritten.kernels.count(""); // of a macro: any function may be one
    TableRow row = {name, "", "", name, 0};
    for (Pass pass : {Cube, Vector}) {
      if (made[pass].empty())
        continue;
      isKernel = isKernel && defined[pass].count(name);
      (pass == Cube ? row.aic : row.aiv) = name + "$" + passNames[pass];
    }
    if (!isKernel)
      continue;
    std::vector<TableRow> ofKernel =
        rowsOfKernel(row, isSure, source, objects, symbols, usedKinds, errors);
    rows.insert(rows.end(), ofKernel.begin(), ofKernel.end());
  }
  fputs((warningsOfKinds(symbols, usedKinds) + errors).c_str(), stderr);
  return errors.empty();
}

} // namespace tilewright::ascendc
