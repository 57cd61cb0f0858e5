// SPDX-License-Identifier: Apache-2.0
#include "simulator/timing/timing_output.h"

#include "simulator/timing/timeline_page.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace tilewright::ascend {
namespace {

/// For JSON inside a page too: `<` is escaped, so that no text can close the script.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (char c : text) {
    char code[8];
    if (c == '"' || c == '\\')
      (result += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20 || c == '<') {
      std::snprintf(code, sizeof code, "\\u%04x",
                    static_cast<unsigned>(static_cast<unsigned char>(c)));
      result += code;
    } else
      result += c;
  }
  return result + "\"";
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

const char* cubeName(CubeOp op) {
  switch (op) {
  case CubeOp::Mmad:
    return "Mmad";
  case CubeOp::Fixpipe:
    return "Fixpipe";
  case CubeOp::Fill:
    return "Fill";
  case CubeOp::LoadBias:
    return "LoadBias";
  default:
    return "LoadData";
  }
}

/// What an operation is, where its site does not say.
std::string operationName(const TraceEvent& event, const TimedCore& core) {
  if (core.lines && event.site < core.lines->size() && !(*core.lines)[event.site].what.empty())
    return (*core.lines)[event.site].what;
  if (event.kind == TraceKind::Cube)
    return cubeName(CubeOp(event.op));
  if (event.kind == TraceKind::Copy)
    return std::string("copy ") + spaceLabel(event.from) + "->" + spaceLabel(event.to);
  return "vector";
}

std::string placeOf(const TraceEvent& event, const TimedCore& core) {
  if (!core.lines || event.site >= core.lines->size() || (*core.lines)[event.site].file.empty())
    return "";
  const TimedLine& line = (*core.lines)[event.site];
  return line.file + ":" + std::to_string(line.line);
}

/// Cores in the order in which their operations are kept: the one that ends last first.
std::vector<size_t> coresByInterest(const TimingReport& report) {
  std::vector<size_t> order(report.cores.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  auto last = std::max_element(order.begin(), order.end(), [&](size_t a, size_t b) {
    return report.cores[a].endCycle < report.cores[b].endCycle;
  });
  if (last != order.end())
    std::rotate(order.begin(), last, last + 1);
  return order;
}

/// `"name":value` pairs of an object.
template <class Map, class Value> std::string object(const Map& map, Value value) {
  std::string json;
  for (const auto& [name, each] : map)
    json += (json.empty() ? "" : ",") + quoted(name) + ":" + value(each);
  return "{" + json + "}";
}

std::string pipesJson(const TimingReport& report, const CoreTime& core) {
  std::string json;
  for (unsigned pipe = 0; pipe < numPipes; ++pipe) {
    const PipeTime& time = core.pipes[pipe];
    if (time.busyCycles == 0 && time.operations == 0)
      continue;
    json += std::string(json.empty() ? "" : ",") + "\"" + pipeLabel(Pipe(pipe)) +
            "\":{\"busy_us\":" + number(report.microseconds(time.busyCycles)) +
            ",\"operations\":" + std::to_string(time.operations) + ",\"waits_us\":" +
            object(time.stallCycles,
                   [&](double cycles) { return number(report.microseconds(cycles)); }) +
            "}";
  }
  return "{" + json + "}";
}

} // namespace

std::string timingJson(const TimingReport& report) {
  std::string pipes, cores;
  for (unsigned pipe = 0; pipe < numPipes; ++pipe)
    if (const double busy = report.meanBusyMicroseconds(Pipe(pipe)); busy > 0)
      pipes += (pipes.empty() ? "\"" : ",\"") + std::string(pipeLabel(Pipe(pipe))) +
               "\":" + number(busy);
  for (const CoreTime& core : report.cores)
    cores += (cores.empty() ? "\n" : ",\n") + std::string("{\"name\":") + quoted(core.name) +
             ",\"start_us\":" + number(report.microseconds(core.startCycle)) +
             ",\"end_us\":" + number(report.microseconds(core.endCycle)) +
             ",\"pipes\":" + pipesJson(report, core) + ",\"bytes\":" +
             object(core.bytesByPath, [](uint64_t bytes) { return std::to_string(bytes); }) + "}";
  return "{\"kernel\":" + quoted(report.kernel) + ",\"chip\":" + quoted(report.chip) +
         ",\"clock_mhz\":" + number(report.clockMHz) +
         ",\"task_us\":" + number(report.taskMicroseconds) +
         ",\"core_us\":" + number(report.coreMicroseconds()) +
         ",\"limits\":" + object(report.limitShares, [](double share) { return number(share); }) +
         ",\"stuck\":" + quoted(report.stuck) + ",\"pipes_us\":{" + pipes + "},\"cores\":[" +
         cores + "]}\n";
}

std::string chromeTrace(const TimingReport& report, const std::vector<TimedCore>& cores) {
  std::string json = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  for (size_t core = 0; core < report.cores.size(); ++core) {
    std::string process = std::to_string(core);
    json += "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" + process +
            ",\"args\":{\"name\":" + quoted(report.cores[core].name) + "}},\n";
    for (unsigned pipe = 0; pipe < numPipes; ++pipe)
      if (report.cores[core].pipes[pipe].operations)
        json += "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":" + process +
                ",\"tid\":" + std::to_string(pipe) + ",\"args\":{\"name\":\"" +
                pipeLabel(Pipe(pipe)) + "\"}},\n";
    for (const TimedOperation& operation : report.cores[core].operations) {
      const TraceEvent& event = (*cores[core].trace)[operation.event];
      json += "{\"ph\":\"X\",\"name\":" + quoted(operationName(event, cores[core])) +
              ",\"pid\":" + process + ",\"tid\":" + std::to_string(unsigned(operation.pipe)) +
              ",\"ts\":" + number(report.microseconds(operation.start)) +
              ",\"dur\":" + number(report.microseconds(operation.end - operation.start)) +
              ",\"args\":{\"line\":" + quoted(placeOf(event, cores[core])) +
              ",\"bytes\":" + std::to_string(event.bytes) +
              ",\"critical\":" + (operation.isCritical ? "true" : "false") + "}},\n";
    }
  }
  json +=
      "{\"ph\":\"M\",\"name\":\"trace_name\",\"pid\":0,\"args\":{\"name\":" + quoted(report.chip) +
      "}}\n]}\n";
  return json;
}

std::string timelinePage(const TimingReport& report, const std::vector<TimedCore>& cores,
                         size_t mostOperations) {
  std::map<std::string, size_t> textNumbers;
  std::string texts;
  auto textNumber = [&](const std::string& text) {
    auto [found, isNew] = textNumbers.emplace(text, textNumbers.size());
    if (isNew)
      texts += (found->second ? "," : "") + quoted(text);
    return found->second;
  };
  std::string lanes;
  size_t kept = 0;
  size_t total = 0;
  for (const CoreTime& core : report.cores)
    total += core.operations.size();
  for (size_t core : coresByInterest(report)) {
    const CoreTime& time = report.cores[core];
    if (kept > 0 && kept + time.operations.size() > mostOperations)
      break;
    for (unsigned pipe = 0; pipe < numPipes; ++pipe) {
      std::string bars;
      for (const TimedOperation& operation : time.operations) {
        if (unsigned(operation.pipe) != pipe || kept >= mostOperations)
          continue;
        const TraceEvent& event = (*cores[core].trace)[operation.event];
        bars += (bars.empty() ? "" : ",") + number(report.microseconds(operation.start)) + "," +
                number(report.microseconds(operation.end)) + "," +
                (operation.isCritical ? "1," : "0,") +
                std::to_string(textNumber(operationName(event, cores[core]))) + "," +
                std::to_string(textNumber(placeOf(event, cores[core]))) + "," +
                std::to_string(event.bytes);
        ++kept;
      }
      if (!bars.empty())
        lanes +=
            (lanes.empty() ? "" : ",\n") + ("{\"core\":" + quoted(time.name) + ",\"pipe\":\"" +
                                            pipeLabel(Pipe(pipe)) + "\",\"bars\":[" + bars + "]}");
    }
  }
  std::string page = timelineHead;
  page += "const title=" +
          quoted(report.chip + ": task " + number(report.taskMicroseconds) + " us, " +
                 std::to_string(kept) + " of " + std::to_string(total) + " instructions") +
          ";\nconst texts=[" + texts + "];\nconst lanes=[" + lanes + "];\n";
  return page + timelineTail;
}

} // namespace tilewright::ascend
