#include "model/tower_spec.h"

#include <utility>

namespace mlc {

Result<std::optional<TowerSpec>> ReadTowerSpec(const Json& metadata, int64_t* bytes) {
  const Json* json = metadata.Find("tower");
  if (json == nullptr || json->is_null()) return std::optional<TowerSpec>();
  constexpr int64_t kMost = 1 << 24;
  TowerSpec tower;
  auto read = [&](const char* field, int* value) -> Status {
    MLC_ASSIGN_OR_RETURN(int64_t number, GetInt(*json, field));
    if (number < 1 || number > kMost) {
      return InvalidArgument("field 'tower." + std::string(field) + "' is not from 1 to " +
                             std::to_string(kMost))
          .WithParam("tower." + std::string(field));
    }
    *value = static_cast<int>(number);
    return Status();
  };
  MLC_ASSIGN_OR_RETURN(tower.function, GetString(*json, "function"));
  MLC_RETURN_IF_ERROR(read("patch_dim", &tower.patch_dim));
  MLC_RETURN_IF_ERROR(read("merge", &tower.merge));
  MLC_RETURN_IF_ERROR(read("width", &tower.width));
  MLC_RETURN_IF_ERROR(read("max_patches", &tower.max_patches));
  MLC_RETURN_IF_ERROR(read("max_views", &tower.max_views));
  for (auto [field, value] : {std::pair{"window", &tower.window},
                              {"columns", &tower.columns},
                              {"queries", &tower.queries},
                              {"learned_rows", &tower.learned_rows}}) {
    MLC_ASSIGN_OR_RETURN(int64_t number, GetIntOr(*json, field, 0));
    if (number != 0) MLC_RETURN_IF_ERROR(read(field, value));
  }
  MLC_ASSIGN_OR_RETURN(tower.rotary, GetBoolOr(*json, "rotary", false));
  MLC_ASSIGN_OR_RETURN(tower.class_row, GetBoolOr(*json, "class_row", false));
  MLC_ASSIGN_OR_RETURN(tower.memory, GetIntOr(*json, "memory", 0));
  if (tower.memory < 0 || tower.memory > kMost << 16) {
    return InvalidArgument("field 'tower.memory' is out of bounds").WithParam("tower.memory");
  }
  *bytes = tower.memory;
  return std::optional<TowerSpec>(std::move(tower));
}

}  // namespace mlc
