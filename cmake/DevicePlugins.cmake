# Device backends: one shared library for each folder of core/src/runtime/device, which libmlc_llm
# opens when that device is asked for. A backend whose headers are not here is left out.
set(MLC_LINKED_PLUGINS "" CACHE STRING "Backends that are linked into libmlc_llm, such as opencl")

# mlc_device_plugin(NAME [SYSTEM...]): libmlc_llm_NAME out of src/runtime/device/NAME/*.cc. The
# systems are those on which it is of use; none: all.
function(mlc_device_plugin name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/runtime/device/${name}/*.cc)
  if(name IN_LIST MLC_LINKED_PLUGINS)
    add_library(mlc_llm_${name} OBJECT ${sources})
    target_include_directories(mlc_llm_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
    target_include_directories(mlc_llm_${name} SYSTEM PRIVATE
      ${MLC_TVM_FFI_DIR}/include ${MLC_TVM_DIR}/include)
    target_link_libraries(mlc_llm PRIVATE mlc_llm_${name})
    return()
  endif()
  add_library(mlc_llm_${name} MODULE ${sources})
  set_property(GLOBAL APPEND PROPERTY MLC_DEVICE_PLUGINS mlc_llm_${name})
  mlc_unity(mlc_llm_${name} 10)
  target_compile_options(mlc_llm_${name} PRIVATE -Wall -Wextra)
  target_include_directories(mlc_llm_${name} SYSTEM PRIVATE
    ${MLC_TVM_FFI_DIR}/include ${MLC_TVM_DIR}/include)
  target_link_libraries(mlc_llm_${name} PRIVATE mlc_llm mlc_tvm)
  set_target_properties(mlc_llm_${name} PROPERTIES
    BUILD_RPATH "${MLC_TVM_DIR}/lib;${MLC_TVM_FFI_DIR}/lib"
    INSTALL_RPATH "${MLC_ORIGIN};${MLC_ORIGIN}/../tvm/lib;${MLC_ORIGIN}/../tvm_ffi/lib")
  # A wheel has the plugins of its own system; an editable one has all, for the tests.
  if(MLC_BUILD_PYTHON AND (NOT ARGN OR CMAKE_SYSTEM_NAME IN_LIST ARGN
                           OR SKBUILD_STATE STREQUAL "editable"))
    install(TARGETS mlc_llm_${name} LIBRARY DESTINATION mlc_llm)
  endif()
endfunction()

# mlc_plugin_objects(NAME): the objects of a backend in a static libmlc_llm.
function(mlc_plugin_objects name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/runtime/device/${name}/*.cc)
  add_library(mlc_llm_${name}_objects OBJECT EXCLUDE_FROM_ALL ${sources})
  target_include_directories(mlc_llm_${name}_objects PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
  target_include_directories(mlc_llm_${name}_objects SYSTEM PRIVATE
    ${MLC_TVM_FFI_DIR}/include ${MLC_TVM_DIR}/include)
endfunction()

if(EMSCRIPTEN)  # WebGPU through the page
  list(APPEND MLC_LINKED_PLUGINS browser)
  mlc_device_plugin(browser)
  return()
endif()

find_path(MLC_OPENCL_INCLUDE_DIR CL/cl.h)
if(MLC_OPENCL_INCLUDE_DIR)
  mlc_device_plugin(opencl)
  target_include_directories(mlc_llm_opencl SYSTEM PRIVATE ${MLC_OPENCL_INCLUDE_DIR})
  mlc_plugin_objects(opencl)
  target_include_directories(mlc_llm_opencl_objects SYSTEM PRIVATE ${MLC_OPENCL_INCLUDE_DIR})
else()
  message(STATUS "No OpenCL backend: CL/cl.h was not found (Debian: opencl-headers)")
endif()

# WebGPU's C interface, and wgpu-native behind it, which the plugin opens when it is used.
mlc_find_python_package_dir(MLC_WGPU_DIR wgpu)
if(MLC_WGPU_DIR)
  file(STRINGS ${MLC_WGPU_DIR}/backends/wgpu_native/__init__.py line REGEX "^__version__ =")
  string(REGEX MATCH "[0-9]+\\.[0-9]+" MLC_WGPU_VERSION "${line}")
  file(STRINGS ${MLC_WGPU_DIR}/_version.py line REGEX "^__version__ =")
  string(REGEX MATCH "[0-9.]+" MLC_WGPU_PACKAGE "${line}")
  mlc_device_plugin(webgpu)
  target_include_directories(mlc_llm_webgpu SYSTEM PRIVATE ${MLC_WGPU_DIR}/resources)
  target_compile_definitions(mlc_llm_webgpu PRIVATE
    MLC_WGPU_VERSION="${MLC_WGPU_VERSION}" MLC_WGPU_PACKAGE="${MLC_WGPU_PACKAGE}")
  set_property(TARGET mlc_llm_webgpu APPEND_STRING PROPERTY
    BUILD_RPATH ";${MLC_WGPU_DIR}/resources")
  set_property(TARGET mlc_llm_webgpu APPEND_STRING PROPERTY
    INSTALL_RPATH ";${MLC_ORIGIN}/../wgpu/resources")
else()
  message(STATUS "No WebGPU backend: the Python package wgpu is not installed")
endif()

# What TVM's own runtime drives. Metal's plugin says elsewhere than on Apple's systems why there is
# none.
mlc_device_plugin(metal Darwin iOS)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  mlc_device_plugin(cuda)
  # Where PyPI's nvidia-cuda-runtime and nvidia-cublas put libcudart and libcublas.
  set_property(TARGET mlc_llm_cuda APPEND_STRING PROPERTY
    BUILD_RPATH ";${MLC_TVM_DIR}/../nvidia/cu13/lib")
  set_property(TARGET mlc_llm_cuda APPEND_STRING PROPERTY
    INSTALL_RPATH ";${MLC_ORIGIN}/../nvidia/cu13/lib")
  mlc_device_plugin(rocm)
  # Where AMD's wheels (rocm-sdk-core) put libamdhip64 and libhiprtc.
  set_property(TARGET mlc_llm_rocm APPEND_STRING PROPERTY
    INSTALL_RPATH ";${MLC_ORIGIN}/../_rocm_sdk_core/lib")
endif()
