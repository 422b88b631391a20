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
    ${xgrammar_dir}/include ${xgrammar_dir}/3rdparty/dlpack/include)
  return()
endif()

# Its own CMakeLists switches its Python bindings on; its sources need nothing but these includes.
file(GLOB_RECURSE xgrammar_sources ${xgrammar_dir}/cpp/*.cc)
list(FILTER xgrammar_sources EXCLUDE REGEX "/(nanobind|pybind|web|tvm_ffi)/")
# Its parser counts the rows that it advances and stops when it may advance no more: nothing else
# interrupts a compilation (core/src/grammar/grammar.cc).
set(xgrammar_parser ${xgrammar_dir}/cpp/earley_parser.cc)
set(xgrammar_counting ${CMAKE_BINARY_DIR}/xgrammar/earley_parser_counting.cc)
file(READ ${xgrammar_parser} text)
string(REPLACE "\nbool EarleyParser::Advance("
  "\nthread_local int64_t rows_left = INT64_MAX;\n\nbool EarleyParser::Advance(" text "${text}")
string(REPLACE "  // Scan all the scanable states.\n"
  "  rows_left -= 1 + static_cast<int64_t>(latest_states.size());\n  if (rows_left < 0) throw std::runtime_error(\"too many rows\");\n" text "${text}")
if(NOT text MATCHES "rows_left -= 1" OR NOT text MATCHES "thread_local int64_t rows_left")
  message(FATAL_ERROR "xgrammar's parser has changed: see cmake/XGrammar.cmake")
endif()
file(GENERATE OUTPUT ${xgrammar_counting} CONTENT "#include <cstdint>\n#include <stdexcept>\n${text}")
list(REMOVE_ITEM xgrammar_sources ${xgrammar_parser})
add_library(xgrammar STATIC ${xgrammar_sources} ${xgrammar_counting})
set_target_properties(xgrammar PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_STANDARD 17)
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
if(NOT MLC_SANITIZE)  # whose reports want lines, and whose builds less optimizing
  target_compile_options(xgrammar PRIVATE -O2 -g0)
endif()
if(MLC_FUZZ)  # undefined behaviour in it is for the tests under sanitizers; here speed counts
  target_compile_options(xgrammar PRIVATE -fno-sanitize=undefined)
endif()
target_include_directories(xgrammar SYSTEM PUBLIC ${xgrammar_dir}/include)
target_include_directories(xgrammar SYSTEM PUBLIC ${xgrammar_dir}/3rdparty/dlpack/include
                           PRIVATE ${xgrammar_dir}/3rdparty/picojson ${xgrammar_dir}/cpp)
find_package(Threads REQUIRED)
target_link_libraries(xgrammar PUBLIC Threads::Threads)
