# The source package of ik-llama-cpp-python lacks a script that its build runs to note its commit.
set(common "${CMAKE_SOURCE_DIR}/vendor/ik_llama.cpp/common")
file(WRITE "${common}/cmake/build-info-gen-cpp.cmake" [[
set(BUILD_NUMBER 0)
set(BUILD_COMMIT unknown)
set(BUILD_COMPILER unknown)
set(BUILD_TARGET unknown)
configure_file(common/build-info.cpp.in common/build-info.cpp)
]])
