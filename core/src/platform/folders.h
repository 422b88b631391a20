// The folders that a program gives to the engine. An app may write only to its own folders, and
// only the app knows them.
//
//   SetFolders({/*cache=*/"/data/user/0/com.example/cache/mlc", /*temporary=*/"", {}});
//
// They hold for the whole process. Set them before the first model is loaded.
#pragma once

#include <string>
#include <vector>

namespace mlc {

struct Folders {
  std::string cache;                   // "": the user's cache folder, if there is one
  std::string temporary;               // "": `cache` if it is given, else the system's folder
  std::vector<std::string> libraries;  // where model libraries and device backends also are
};

void SetFolders(Folders folders);
Folders CurrentFolders();

// The folder for files that are kept: what was set; else MLC_LLM_HOME, XDG_CACHE_HOME/mlc_llm or
// HOME/.cache/mlc_llm (on Windows USERPROFILE, as in Python). "" when there is none.
std::string CacheFolder();
// The folder for files that are removed again. "" when the system has none.
std::string TemporaryFolder();

}  // namespace mlc
