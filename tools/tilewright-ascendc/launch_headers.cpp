// SPDX-License-Identifier: Apache-2.0
#include "launch_headers.h"
#include "device_attributes.h"
#include "tokens.h"

namespace tilewright::ascendc {

namespace {

/// The bracket before a kernel's parameters, behind its `__global__` at `i`; 0 if there is none.
size_t parametersOf(const std::vector<Token>& tokens, size_t i) {
  while (++i < tokens.size() && tokens[i].text != "{" && tokens[i].text != ";") {
    if (tokens[i].text != "(")
      continue;
    if (tokens[i - 1].text != "__mix__")
      return tokens[i - 1].isName ? i : 0;
    i = behindMatch(tokens, i, "(", ")") - 1;
  }
  return 0;
}

std::string headerOf(const std::string& name, const std::string& linkage,
                     const std::string& parameters) {
  return "#ifndef ACLRTLAUNCH_" + name + "\n#define ACLRTLAUNCH_" + name +
         "\n#include \"ascendc/tiling.h\"\n" + linkage + "void " + name + "(" + parameters +
         ");\ntemplate <class... Arguments>\nuint32_t aclrtlaunch_" + name +
         "(uint32_t blocks, void* stream, Arguments... arguments) {\n"
         "  return ACLRT_LAUNCH_KERNEL(" +
         name + ")(blocks, stream, arguments...);\n}\n#endif\n";
}

} // namespace

std::map<std::string, std::string> launchHeadersOf(std::string_view original) {
  const std::string source = withoutDeviceAttributes(original);
  std::map<std::string, std::string> headers;
  std::vector<Token> tokens = tokensOf(source);
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].text != "__global__" || (i > 0 && tokens[i - 1].text == ">"))
      continue;
    size_t open = parametersOf(tokens, i);
    size_t behind = open ? behindMatch(tokens, open, "(", ")") : tokens.size();
    if (!open || behind >= tokens.size())
      continue;
    std::string name(tokens[open - 1].text);
    size_t begin = tokens[open].end;
    std::string parameters = source.substr(begin, tokens[behind - 1].begin - begin);
    headers["aclrtlaunch_" + name + ".h"] =
        headerOf(name, isExternC(tokens, i) ? "extern \"C\" " : "", parameters);
  }
  return headers;
}

} // namespace tilewright::ascendc
