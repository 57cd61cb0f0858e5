// SPDX-License-Identifier: Apache-2.0
#include "rewrite.h"
#include "kernel_table.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

namespace tilewright::ascendc {

namespace {

constexpr std::array<std::string_view, 6> kindNames = {
    "KERNEL_TYPE_AIV_ONLY",    "KERNEL_TYPE_AIC_ONLY",    "KERNEL_TYPE_MIX_AIV_1_0",
    "KERNEL_TYPE_MIX_AIC_1_0", "KERNEL_TYPE_MIX_AIC_1_1", "KERNEL_TYPE_MIX_AIC_1_2"};
constexpr size_t aivOnly = 0, aicOnly = 1, mixAiv = 2, mixAic = 3, mix11 = 4, mix12 = 5;
constexpr uint32_t anyKind = (1u << kindNames.size()) - 1;

/// Replaces source[begin, end) by text.
struct Edit {
  size_t begin, end;
  std::string text;
};

std::string apply(std::string_view source, std::vector<Edit> edits) {
  std::sort(edits.begin(), edits.end(),
            [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
  std::string out;
  size_t at = 0;
  for (const Edit& e : edits) {
    if (e.begin < at)
      continue; // inside one that is gone
    out += source.substr(at, e.begin - at);
    out += e.text;
    at = e.end;
  }
  out += source.substr(at);
  return out;
}

/// An edit that leaves `kept` between the brackets of a body, and the lines where they are.
Edit emptied(std::string_view source, Stretch body, const std::string& kept) {
  std::string_view text = source.substr(body.begin, body.end - body.begin);
  auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  return {body.begin, body.end, "{" + kept + std::string(lines, '\n') + "}"};
}

class Rewriter {
public:
  Rewriter(std::string_view source, const std::string& path, Names& declared)
      : source(source), path(path), tokens(tokensOf(source)), declared(declared) {}

  RewrittenSource run(const Names* elsewhere) {
    std::vector<Edit> inKernelsOnly, inHost;
    // Whoever calls one of these on a core hears of it.
    for (Stretch body : hostBodies(source, tokens, elsewhere))
      inKernelsOnly.push_back(emptied(source, body, " __builtin_trap(); "));
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i].text == "__global__")
        kernel(i);
      else if (tokens[i].text == "<<<")
        launch(i);
    }
    for (std::string_view definition : definitionsOf(source))
      macro(definition);
    result.includesKernelOperator = source.find("kernel_operator.h") != std::string_view::npos;
    for (const Body& body : bodies) {
      inHost.push_back(
          emptied(source, body.stretch,
                  "::tilewright::ascend::callKernelAsFunction(\"" + body.kernel + "\");"));
      if (!body.launcher.empty())
        inHost.push_back({body.stretch.end, body.stretch.end, body.launcher});
    }
    std::string first = "#line 1 \"" + path + "\"\n";
    inKernelsOnly.insert(inKernelsOnly.end(), edits.begin(), edits.end());
    inHost.insert(inHost.end(), edits.begin(), edits.end());
    result.device = first + apply(source, edits);
    result.kernelsOnly = first + apply(source, std::move(inKernelsOnly));
    result.host = first + apply(source, std::move(inHost));
    return std::move(result);
  }

private:
  bool is(size_t i, std::string_view text) const {
    return i < tokens.size() && tokens[i].text == text;
  }
  size_t behindMatch(size_t open, std::string_view left, std::string_view right) const {
    return ascendc::behindMatch(tokens, open, left, right);
  }
  bool isInClass(size_t at) const {
    int depth = 0;
    for (size_t i = at; i > 0 && depth >= 0; --i) {
      depth += is(i - 1, "}") - is(i - 1, "{");
      bool isHead = depth < 0;
      for (size_t head = i - 1; isHead && head > 0; --head) {
        std::string_view t = tokens[head - 1].text;
        if (t == "class" || t == "struct" || t == "union")
          return true;
        isHead = t != ";" && t != "}" && t != "{";
      }
    }
    return false;
  }
  size_t lineOf(size_t position) const {
    return 1 + static_cast<size_t>(
                   std::count(source.begin(), source.begin() + static_cast<long>(position), '\n'));
  }
  void fail(size_t token, const std::string& what) {
    result.errors.push_back(path + ":" + std::to_string(lineOf(tokens[token].begin)) +
                            ": error: " + what);
  }

  void kernel(size_t at) {
    // A static kernel could not be registered from another object. In a class the word means something else.
    for (size_t back = at; back > 0 && at - back < 4 && tokens[back - 1].isName; --back)
      if (tokens[back - 1].text == "static" && !isInClass(at))
        edits.push_back({tokens[back - 1].begin, tokens[back - 1].end, ""});
    for (size_t back = at; back > 0 && !is(back - 1, ";") && !is(back - 1, "}"); --back)
      result.hasTemplates |= tokens[back - 1].text == "template";
    size_t i = at + 1, open = i;
    for (; i < tokens.size() && !is(i, ";") && !is(i, "{"); ++i) {
      // The name of an instance, or of a specialization, has arguments.
      open = is(i + 1, "<") ? behindAngles(tokens, i + 1) : i + 1;
      if (!tokens[i].isName || !is(open, "("))
        continue;
      std::string_view name = tokens[i].text;
      bool isAttribute = name == "__attribute__" || name == "__launch_bounds__" ||
                         name == "__mix__" || name == "__inout_pipe__" || name == "decltype";
      if (!isAttribute)
        break;
      i = behindMatch(i + 1, "(", ")") - 1;
    }
    if (i >= tokens.size() || !tokens[i].isName)
      return fail(at, "__global__ stands before something that is no function");
    declared.emplace(tokens[i].text);
    size_t body = behindMatch(open, "(", ")");
    while (body < tokens.size() && !is(body, "{") && !is(body, ";"))
      ++body;
    if (!is(body, "{"))
      return; // a declaration
    size_t end = behindMatch(body, "{", "}");
    result.kernels[std::string(tokens[i].text)] |= kindsOf(at, body, end);
    bodies.push_back({std::string(tokens[i].text),
                      {tokens[body].begin, tokens[end - 1].end},
                      launcherOf(at, i, open)});
  }

  /// C++ for `aclrtlaunch_NAME`, which hosts may declare themselves; empty where a parameter has no name, or where the
  /// kernel's own name isn't that of the linker.
  std::string launcherOf(size_t head, size_t name, size_t open) const {
    if (!isExternC(tokens, head))
      return "";
    std::string parameters, arguments;
    size_t behind = behindMatch(open, "(", ")"), first = open + 1;
    for (size_t i = first; i < behind && behind - open > 2; ++i) {
      if (is(i, "("))
        i = behindMatch(i, "(", ")");
      else if (is(i, "<"))
        i = behindAngles(tokens, i);
      if (i + 1 != behind && !is(i, ","))
        continue;
      if (i < first + 2 || !tokens[i - 1].isName)
        return "";
      parameters += ", " + std::string(source.substr(tokens[first].begin,
                                                     tokens[i - 1].end - tokens[first].begin));
      arguments += ", " + std::string(tokens[i - 1].text);
      first = i + 1;
    }
    std::string kernel(tokens[name].text);
    return " extern \"C\" __attribute__((weak)) uint32_t aclrtlaunch_" + kernel +
           "(uint32_t tilewrightBlocks, void* tilewrightStream" + parameters +
           ") { return ::tilewright::ascend::legacyLaunch(" + kernel +
           ")(tilewrightBlocks, tilewrightStream" + arguments + "); }";
  }

  /// Of `__mix__(cubes, vectors)`; none if these are no such numbers.
  std::optional<size_t> kindOfMix(size_t at) const {
    if (!is(at + 1, "(") || !is(at + 3, ",") || !is(at + 5, ")"))
      return std::nullopt;
    if (is(at + 2, "0"))
      return is(at + 4, "1") ? std::optional(mixAiv) : std::nullopt;
    if (!is(at + 2, "1"))
      return std::nullopt;
    constexpr std::array<size_t, 3> ofVectors = {mixAic, mix11, mix12};
    for (size_t vectors = 0; vectors < ofVectors.size(); ++vectors)
      if (is(at + 4, std::to_string(vectors)))
        return ofVectors[vectors];
    return std::nullopt;
  }

  /// The kinds that a kernel may have: what its body says, or else the qualifiers between `head` and
  /// `body`, which then become a mark in the body.
  uint32_t kindsOf(size_t head, size_t body, size_t end) {
    uint32_t kinds = 0;
    for (size_t k = body; k + 2 < end; ++k)
      if ((is(k, "KERNEL_TASK_TYPE_DEFAULT") || is(k, "KERNEL_TASK_TYPE")) && is(k + 1, "(")) {
        size_t close = behindMatch(k + 1, "(", ")");
        auto found = std::find(kindNames.begin(), kindNames.end(), tokens[close - 2].text);
        kinds |= found == kindNames.end() ? anyKind : 1u << (found - kindNames.begin());
      }
    if (kinds)
      return kinds;
    std::string kind;
    for (size_t k = head; k < body; ++k) {
      std::optional<size_t> known;
      if (is(k, "__vector__"))
        known = aivOnly;
      else if (is(k, "__cube__"))
        known = aicOnly;
      else if (is(k, "__mix__"))
        known = kindOfMix(k);
      else
        continue;
      kinds = known ? 1u << *known : anyKind;
      kind = known ? std::string(kindNames[*known]) : "TW_KIND_OF_MIX" + textInBrackets(k + 1);
    }
    if (!kinds)
      return unsaidKind;
    edits.push_back(
        {tokens[body].end, tokens[body].end, " KERNEL_TASK_TYPE_DEFAULT(" + kind + ");"});
    return kinds;
  }
  /// With the brackets; on one line.
  std::string textInBrackets(size_t open) const {
    size_t behind = behindMatch(open, "(", ")");
    std::string text(
        source.substr(tokens[open].begin, tokens[behind - 1].end - tokens[open].begin));
    std::erase_if(text, [](char c) { return c == '\n' || c == '\\'; });
    return text;
  }

  /// Launches in the body of a macro become calls there. Of a kernel, only its kind is known; its
  /// name comes from the macro's arguments.
  void macro(std::string_view body) {
    auto offset = static_cast<size_t>(body.data() - source.data());
    tokens = tokensOf(body);
    for (Token& token : tokens) {
      token.begin += offset;
      token.end += offset;
    }
    for (size_t i = 1; i < tokens.size(); ++i) { // behind its name
      if (tokens[i].text == "<<<")
        launch(i);
      else if (is(i, "__global__"))
        i = headInMacro(i);
      else if (is(i, "__vector__") || is(i, "__cube__") || is(i, "__mix__"))
        kindInMacro(i);
    }
  }

  /// Returns the last token that needs no further look.
  size_t headInMacro(size_t at) {
    size_t open = at;
    while (open < tokens.size() && !is(open, "{"))
      ++open;
    if (open < tokens.size()) {
      result.kernels[""] |= kindsOf(at, open, behindMatch(open, "{", "}"));
      return open;
    }
    bool isVector = false, isCube = false;
    for (size_t i = 1; i < tokens.size(); ++i) {
      isVector |= is(i, "__vector__");
      isCube |= is(i, "__cube__");
    }
    result.kernels[""] |= isVector ? 1u << aivOnly : isCube ? 1u << aicOnly : unsaidKind;
    return at;
  }

  /// Of a kernel whose body isn't in the macro: what it says goes into the name of the section that the kernel is in.
  void kindInMacro(size_t at) {
    size_t kind = is(at, "__cube__") ? aicOnly : aivOnly, end = at;
    if (is(at, "__mix__")) {
      std::optional<size_t> mixed = kindOfMix(at);
      if (!mixed) { // the preprocessor knows the numbers
        edits.push_back({tokens[at].begin, tokens[at].end, "TW_MIX_SECTION"});
        return;
      }
      kind = *mixed;
      end = at + 5; // its bracket
    }
    edits.push_back(
        {tokens[at].begin, tokens[end].end,
         "__attribute__((section(\"" + std::string(kindSection) + std::to_string(kind) + "\")))"});
  }

  size_t openBefore(size_t end, std::string_view left, std::string_view right) const {
    return ascendc::openBefore(tokens, end, left, right);
  }
  bool isBefore(size_t i, std::string_view text) const {
    return i > 0 && tokens[i - 1].text == text;
  }

  /// What a launch gives can be no operand, so an operator before it is one of a template argument.
  bool isBehindOperator(size_t i) const {
    constexpr std::string_view operators = "+-*/%&|^!~=<>,";
    return i > 0 && tokens[i - 1].text.size() == 1 &&
           operators.find(tokens[i - 1].text[0]) != std::string_view::npos;
  }
  /// The first token of the expression that ends before `chevron`: a name with its scopes, objects
  /// and template arguments, or anything in brackets.
  size_t nameBefore(size_t chevron) const {
    size_t i = chevron;
    bool isKernel = false; // and no template argument, though an operator be before it
    for (;;) {
      size_t end = i;
      if (isBefore(i, ">"))
        i = angleBefore(tokens, i);
      while (isBefore(i, ")") || isBefore(i, "]"))
        i = isBefore(i, ")") ? openBefore(i, "(", ")") : openBefore(i, "[", "]");
      constexpr std::array<std::string_view, 4> keywords = {"return", "else", "do", "co_return"};
      bool isName =
          i > 0 && tokens[i - 1].isName &&
          std::find(keywords.begin(), keywords.end(), tokens[i - 1].text) == keywords.end();
      if (!isName && i == end)
        return chevron;
      i -= isName;
      isKernel |= isName && declared.find(tokens[i].text) != declared.end();
      if (isBefore(i, "template"))
        --i;
      // `k<N<2>`: what a launch gives can't be compared, so that the name before is the kernel's.
      bool isCompared = isBefore(i, "<") && i > 1 && tokens[i - 2].isName;
      if (isCompared) {
        --i;
        continue;
      }
      bool isPointer = isBefore(i, ">") && isBefore(i - 1, "-");
      bool isPasted = isBefore(i, "#") && isBefore(i - 1, "#"); // in a macro
      if (!isBefore(i, "::") && !isBefore(i, ".") && !isPointer && !isPasted) {
        bool mayBeArgument = !isKernel && isBehindOperator(i);
        size_t open = mayBeArgument ? openAngleBefore(tokens, i) : tokens.size();
        if (open == tokens.size())
          return i;
        i = open; // `k<M - N < 3>`
        continue;
      }
      i -= isPointer || isPasted ? 2 : 1;
      if (isBefore(i + 1, "::") && !(i > 0 && (tokens[i - 1].isName || isBefore(i, ">"))))
        return i; // of the global scope
    }
  }

  void launch(size_t at) {
    size_t first = nameBefore(at);
    size_t end = at + 1;
    int depth = 0;
    while (end < tokens.size() && !(depth == 0 && tokens[end].text == ">>>")) {
      std::string_view t = tokens[end].text;
      depth += (t == "(" || t == "{" || t == "[") - (t == ")" || t == "}" || t == "]");
      if (t == ";")
        break;
      ++end;
    }
    if (first == at || !is(end, ">>>") || !is(end + 1, "("))
      return fail(at, "'<<<' needs a kernel before it, and '>>>(arguments)' behind it");
    size_t begin = tokens[first].begin;
    const char* blank = begin > 0 && source[begin - 1] == ':' ? " " : ""; // `case 1:k<<<`
    edits.push_back({begin, begin, std::string(blank) + "::tilewright::ascend::prepareLaunch("});
    edits.push_back({tokens[at].begin, tokens[at].end, ", "});
    edits.push_back({tokens[end].begin, tokens[end].end, ")"});
    result.hasLaunches = true;
  }

  std::string_view source;
  const std::string& path;
  std::vector<Token> tokens;
  std::vector<Edit> edits;
  struct Body {
    std::string kernel;
    Stretch stretch;
    std::string launcher; ///< for the host, behind the body
  };
  std::vector<Body> bodies;
  Names& declared; ///< kernels, so far
  RewrittenSource result;
};

} // namespace

RewrittenSource rewrite(std::string_view source, const std::string& path, const Names* elsewhere,
                        Names* declared) {
  Names own;
  return Rewriter(source, path, declared ? *declared : own).run(elsewhere);
}

} // namespace tilewright::ascendc
