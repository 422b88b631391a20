# The target `xgrammar`: the C++ library out of xgrammar's source distribution, which pip fetches
# once with a pinned hash (cmake/xgrammar.txt). MLC_XGRAMMAR_DIR names a copy that is already there.
set(MLC_XGRAMMAR_DIR "" CACHE PATH "An unpacked xgrammar source distribution; empty: pip fetches it")

set(MLC_XGRAMMAR_LIBRARY "" CACHE FILEPATH "A libxgrammar.a that is built already; empty: build it")

set(xgrammar_dir ${MLC_XGRAMMAR_DIR})
if(NOT xgrammar_dir)
  set(xgrammar_download ${CMAKE_BINARY_DIR}/xgrammar)
  set(xgrammar_dir ${xgrammar_download}/xgrammar-0.2.8)
  if(NOT EXISTS ${xgrammar_dir}/cpp)
    message(STATUS "Fetching xgrammar's source distribution")
    execute_process(
      COMMAND ${Python_EXECUTABLE} -m pip download --quiet --disable-pip-version-check --no-deps
              --no-binary xgrammar --require-hashes -r ${CMAKE_CURRENT_LIST_DIR}/xgrammar.txt
              -d ${xgrammar_download}
      RESULT_VARIABLE failed)
    if(failed)
      message(FATAL_ERROR "pip could not fetch xgrammar (see above). Without a network, unpack "
                          "xgrammar-0.2.8.tar.gz and pass -DMLC_XGRAMMAR_DIR=<folder>.")
    endif()
    file(ARCHIVE_EXTRACT INPUT ${xgrammar_download}/xgrammar-0.2.8.tar.gz
         DESTINATION ${xgrammar_download})
  endif()
endif()

if(MLC_XGRAMMAR_LIBRARY)
  add_library(xgrammar STATIC IMPORTED)
  set_target_properties(xgrammar PROPERTIES IMPORTED_LOCATION ${MLC_XGRAMMAR_LIBRARY})
  target_include_directories(xgrammar SYSTEM INTERFACE
    ${xgrammar_dir}/include ${xgrammar_dir}/3rdparty/dlpack/include ${PROJECT_SOURCE_DIR}/core)
  return()
endif()

# Its own CMakeLists switches its Python bindings on; its sources need nothing but these includes.
# A copy of its sources with the edits of core/xgrammar/patches, each of which says what it is for.
set(xgrammar_cpp ${CMAKE_BINARY_DIR}/xgrammar/edited)
file(GLOB xgrammar_patches CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/core/xgrammar/patches/*.patch)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${xgrammar_patches})
file(GLOB_RECURSE files RELATIVE ${xgrammar_dir}/cpp ${xgrammar_dir}/cpp/*.cc ${xgrammar_dir}/cpp/*.h)
list(FILTER files EXCLUDE REGEX "^(nanobind|pybind|web|tvm_ffi)/")
set(edited "")
foreach(patch ${xgrammar_patches})
  file(STRINGS ${patch} names REGEX "^\\+\\+\\+ b/")
  list(TRANSFORM names REPLACE "^\\+\\+\\+ b/" "")
  list(APPEND edited ${names})
endforeach()
set(xgrammar_sources "")
foreach(file ${files})
  if(NOT file IN_LIST edited)
    configure_file(${xgrammar_dir}/cpp/${file} ${xgrammar_cpp}/${file} COPYONLY)
  endif()
  if(file MATCHES "\\.cc$")
    list(APPEND xgrammar_sources ${xgrammar_cpp}/${file})
  endif()
endforeach()
execute_process(
  COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/apply_patches.py ${xgrammar_dir}/cpp
          ${xgrammar_cpp} ${xgrammar_patches}
  RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "core/xgrammar/patches do not fit ${xgrammar_dir} (see above)")
endif()

list(APPEND xgrammar_sources ${PROJECT_SOURCE_DIR}/core/xgrammar/lazy_masks.cc
     ${PROJECT_SOURCE_DIR}/core/xgrammar/plain_rules.cc)
add_library(xgrammar STATIC ${xgrammar_sources})
set_target_properties(xgrammar PROPERTIES CXX_STANDARD 17)
foreach(source ${xgrammar_sources})  # three units, about as long to compile
  set(unit match)
  if(source MATCHES "/grammar(_functor|_compiler|_parser|_builder|_printer)?\\.cc$")
    set(unit grammar)
  elseif(source MATCHES "/(json_schema|lark|regex)_converter\\.cc$|/structural_tag\\.cc$")
    set(unit convert)
  endif()
  set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${unit})
endforeach()
set_target_properties(xgrammar PROPERTIES UNITY_BUILD ${MLC_UNITY} UNITY_BUILD_MODE GROUP)
target_compile_options(xgrammar PRIVATE -w)
# Sanitizers' reports want lines; browsers and phones want small files.
if(NOT MLC_SANITIZE AND NOT CMAKE_BUILD_TYPE STREQUAL MinSizeRel)
  target_compile_options(xgrammar PRIVATE -O2 -g0)
endif()
if(MLC_FUZZ)  # undefined behaviour in it is for the tests under sanitizers; here speed counts
  target_compile_options(xgrammar PRIVATE -fno-sanitize=undefined)
endif()
target_include_directories(xgrammar SYSTEM PUBLIC ${xgrammar_dir}/include ${PROJECT_SOURCE_DIR}/core)
target_include_directories(xgrammar SYSTEM PUBLIC ${xgrammar_dir}/3rdparty/dlpack/include
                           PRIVATE ${xgrammar_dir}/3rdparty/picojson ${xgrammar_cpp})
find_package(Threads REQUIRED)
target_link_libraries(xgrammar PUBLIC Threads::Threads)
