// Readers for calls that are not written as JSON; call_reader.h describes the interface. They turn
// the arguments into JSON.
#pragma once

#include <memory>

#include "chat/tools/call_reader.h"

namespace mlc {

// <function=NAME> <parameter=KEY> VALUE </parameter> ... </function>, or with other tags; the first
// one may be missing. Values are texts; the tool's schema says which of them are JSON.
std::unique_ptr<CallReader> MakeXmlCallReader(const XmlTags& tags, const OfferedTools* offered);

// NAME(KEY=VALUE, ...); the values are Python literals.
std::unique_ptr<CallReader> MakePythonCallReader(const OfferedTools* offered);

// call:NAME{KEY:VALUE,...} with texts between `quote`s, or with a JSON object. `quote` must outlive
// the reader.
std::unique_ptr<CallReader> MakeQuotedCallReader(const std::string& quote,
                                                 const OfferedTools* offered);

}  // namespace mlc
