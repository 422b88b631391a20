#include "chat/load/directories.h"

#include <optional>
#include <string>
#include <vector>

#include "chat/protocol/protocol.gen.h"
#include "platform/file.h"
#include "platform/folders.h"

namespace mlc {
namespace {

Status CheckFolder(const char* param, const std::optional<std::string>& folder) {
  Status status = folder ? MakeWritableFolder(*folder) : Status();
  return status.ok() ? status : std::move(status).WithParam(param);
}

}  // namespace

Status SetDirectories(std::string_view directories_json) {
  MLC_ASSIGN_OR_RETURN(Json json, Json::Parse(directories_json));
  MLC_ASSIGN_OR_RETURN(auto given, protocol::Directories::Parse(json));
  MLC_RETURN_IF_ERROR(CheckFolder("cache", given.cache));
  MLC_RETURN_IF_ERROR(CheckFolder("temporary", given.temporary));
  SetFolders({given.cache.value_or(""), given.temporary.value_or(""),
              given.libraries.value_or(std::vector<std::string>())});
  return Status();
}

}  // namespace mlc
