// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/operands_text.h"

#include "simulator/isa/elementwise.h"
#include "simulator/memory/global_memory.h"
#include "simulator/memory/local_memory.h"
#include "simulator/memory/tensor_names.h"
#include "simulator/sync/core_hazards.h"

#include <initializer_list>
#include <string_view>

namespace tilewright::ascend {

namespace {

struct Named {
  const char* name;
  const Operand& operand;
};

std::string placeIn(const Operand& o) {
  const std::string space = spaceNames[static_cast<unsigned>(o.space)];
  GlobalRange range{};
  if (o.space == Space::GM && !findGlobalRange(o.address, range)) {
    char text[40];
    snprintf(text, sizeof text, "GM at 0x%llx", static_cast<unsigned long long>(o.address));
    return text;
  }
  return space + " from byte " + std::to_string(o.address - range.begin) + " on" +
         (o.space == Space::GM
              ? " of an allocation of " + std::to_string(range.end - range.begin) + " bytes"
              : "");
}

std::string listOf(Pipe pipe, const char* tensorNames, std::initializer_list<Named> operands) {
  std::string text = std::string("on ") + pipeNames[static_cast<unsigned>(pipe)];
  const char* between = ": ";
  for (const auto& [name, operand] : operands) {
    const bool isUsed = operand.bytes != 0 || operand.address != 0 || between[0] == ':';
    if (!isUsed) // dst always is
      continue;
    const std::optional<TensorName> tensor = tensorNamed(tensorNames, operand.tensor);
    text += std::string(between) + name + " is " + (tensor ? "'" + tensor->name + "' in " : "") +
            placeIn(operand);
    if (operand.bytes == 1 && bytesOf(operand.type) > 1)
      text += " (behind the tensor's end)";
    else if (operand.bytes)
      text += " (" + std::to_string(operand.bytes) + " bytes)";
    between = ", ";
  }
  return text;
}

struct TextOfOperands {
  Pipe pipe;
  const char* tensorNames;
  std::string operator()(std::monostate) const {
    return listOf(pipe, tensorNames, {});
  }
  std::string operator()(const VectorInstr* i) const {
    if (!isa::hasSource(i->op)) // its fields are filled all the same
      return listOf(pipe, tensorNames, {{"dst", i->dst}});
    return listOf(pipe, tensorNames,
                  {{"dst", i->dst},
                   {"src0", i->src0},
                   {"src1", i->src1},
                   {"the next", i->aux},
                   {"the last", i->extra},
                   {"the temporary memory", i->scratch}});
  }
  std::string operator()(const CopyInstr* i) const {
    return listOf(pipe, tensorNames, {{"dst", i->dst}, {"src", i->src}});
  }
  std::string operator()(const CubeInstr* i) const {
    return listOf(pipe, tensorNames,
                  {{"dst", i->dst}, {"src", i->a}, {"the next", i->b}, {"the last", i->c}});
  }
};

} // namespace

std::string operandsText(Pipe pipe, InstrRef instr, const char* tensorNames) {
  return std::visit(TextOfOperands{pipe, tensorNames}, instr);
}

std::string adviceFor(const std::string& wrong) {
  auto says = [&](const char* part) { return wrong.find(part) != std::string::npos; };
  if (wrong.starts_with("offset ") && says("no multiple of 32"))
    return "offsets count bytes, and a block has 32: multiply the block's number by 32";
  if (wrong.starts_with("offset ") && says("no multiple of"))
    return "offsets count bytes: multiply the element's number by its size";
  if (says("no multiple of"))
    return "move it to such a multiple: round up the sizes of the tensors before it";
  if (says("dstRepStride is"))
    return "make it at least that";
  if (says("yet to be read"))
    return "give the destination memory of its own";
  if (says("overlap"))
    return "work in place, or give the destination memory of its own";
  constexpr std::string_view modes = "it takes the modes "; // of Cast
  if (says(modes.data()))
    return "use " + wrong.substr(wrong.find(modes) + modes.size());
  if (says("arch 2201 has no") || says("elements, not") || says("elements into") ||
      says("doesn't turn") || says("rounding mode"))
    return "convert to a type that it takes first, or use another instruction";
  if (says("takes a scale for each column"))
    return "give Fixpipe a tensor of scales, or call SetFixPipeConfig with one before it";
  if (says("writes A2") || says("writes B2") || says("takes its matrices") || says("transpose"))
    return "give it tensors of these positions";
  if (says("ErrorRead3") || says("ErrorWrite2"))
    return "shorten the call, or give the tensor more bytes";
  return "keep it in this range; what is left goes into a call of its own";
}

} // namespace tilewright::ascend
