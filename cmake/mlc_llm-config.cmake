# find_package(mlc_llm): the target mlc_llm::mlc_llm, the engine's C interface.
#
#   cmake -Dmlc_llm_ROOT=SITE_PACKAGES/mlc_llm ...
#   target_link_libraries(program PRIVATE mlc_llm::mlc_llm)
if(TARGET mlc_llm::mlc_llm)
  return()
endif()
get_filename_component(_mlc_llm_folder "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
set(_mlc_llm_library
    "${_mlc_llm_folder}/${CMAKE_SHARED_LIBRARY_PREFIX}mlc_llm${CMAKE_SHARED_LIBRARY_SUFFIX}")
if(NOT EXISTS "${_mlc_llm_library}")
  set(mlc_llm_FOUND FALSE)
  set(mlc_llm_NOT_FOUND_MESSAGE "${_mlc_llm_library} is missing: install the package mlc-llm again")
  return()
endif()
add_library(mlc_llm::mlc_llm SHARED IMPORTED)
set_target_properties(mlc_llm::mlc_llm PROPERTIES
  IMPORTED_LOCATION "${_mlc_llm_library}"
  INTERFACE_INCLUDE_DIRECTORIES "${_mlc_llm_folder}/include"
  INTERFACE_LINK_DIRECTORIES "${_mlc_llm_folder}/../tvm/lib;${_mlc_llm_folder}/../tvm_ffi/lib")
