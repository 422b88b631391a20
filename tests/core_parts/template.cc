// Chat templates as Python sees them: JSON text in, prompt text out.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <ctime>
#include <optional>
#include <string>

#include "chat/request/chat_template.h"
#include "chat/request/conv_template.h"
#include "core_parts.h"
#include "jinja/parser.h"
#include "jinja/render.h"
#include "status.h"

namespace mlc {

namespace {

namespace py = pybind11;

// `now`: seconds since the epoch, shown as UTC; the local time when absent.
ChatTemplate::Clock ClockAt(std::optional<double> now) {
  if (!now) return nullptr;
  return [seconds = static_cast<std::time_t>(*now)] {
    std::tm time{};
    gmtime_r(&seconds, &time);
    return time;
  };
}

std::string Render(const ChatTemplate& chat, const std::string& messages_json,
                   const std::optional<std::string>& tools_json, bool add_generation_prompt,
                   const std::string& context_json, std::optional<double> now) {
  Json messages = Unwrap(Json::Parse(messages_json));
  Json tools = tools_json ? Unwrap(Json::Parse(*tools_json)) : Json();
  Json context = Unwrap(Json::Parse(context_json));
  py::gil_scoped_release release;
  return Unwrap(chat.Render(messages, tools, add_generation_prompt, context, ClockAt(now)));
}

// Any Jinja text over any variables, without the adaptations of ChatTemplate. For the parity tests.
std::string RenderJinja(const std::string& source, const std::string& context_json,
                        std::optional<double> now) {
  Json context = Unwrap(Json::Parse(context_json));
  jinja::Block block = Unwrap(jinja::ParseTemplate(source));
  jinja::Clock clock = ClockAt(now.value_or(0));
  jinja::Renderer renderer(jinja::Limits{}, clock);
  for (const auto& [name, value] : context.as_object())
    renderer.Define(name, Unwrap(jinja::FromJson(value)));
  return Unwrap(renderer.Run(block));
}

py::dict ConvTemplateToJinja(const std::string& conv_template_json) {
  ConvTemplate conv = Unwrap(ParseConvTemplate(Unwrap(Json::Parse(conv_template_json))));
  py::dict result;
  result["jinja_source"] = conv.jinja_source;
  result["system_prefix_token_ids"] = conv.system_prefix_token_ids;
  result["stop_strings"] = conv.stop_strings;
  result["stop_token_ids"] = conv.stop_token_ids;
  return result;
}

}  // namespace

void BindTemplate(py::module_& m) {
  py::class_<ChatTemplate>(m, "ChatTemplate")
      .def(py::init([](const std::string& source, const std::string& bos, const std::string& eos) {
             return Unwrap(ChatTemplate::Parse(source, bos, eos));
           }),
           py::arg("source"), py::arg("bos_token") = "", py::arg("eos_token") = "")
      .def("render", &Render, py::arg("messages_json"), py::arg("tools_json") = std::nullopt,
           py::arg("add_generation_prompt") = true, py::arg("context_json") = "{}",
           py::arg("now") = std::nullopt)
      .def("uses", &ChatTemplate::Uses, py::arg("name"))
      .def_property_readonly("uses_tools", &ChatTemplate::UsesTools)
      .def_property_readonly("takes_content_parts", &ChatTemplate::TakesContentParts)
      .def_property_readonly("source", &ChatTemplate::source);
  m.def("render_jinja", &RenderJinja, py::arg("source"), py::arg("context_json") = "{}",
        py::arg("now") = std::nullopt);
  m.def("conv_template_to_jinja", &ConvTemplateToJinja, py::arg("conv_template_json"));
}

}  // namespace mlc
