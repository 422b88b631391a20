# What decodes pictures in core/src/media: libjpeg-turbo, libwebp's decoder, stb_image.h. Their sources
# are fetched once (cmake/picture_sources.py) and compiled as they are, by the compiler of each system
# that the core is built for: plain C, without assembler (docs/decisions/pictures.md).
set(MLC_PICTURE_SOURCES "" CACHE PATH
  "A folder with the sources libjpeg-turbo, libwebp and stb; empty: apt and pip fetch them")

set(picture_sources ${MLC_PICTURE_SOURCES})
if(NOT picture_sources)
  set(picture_sources ${PROJECT_SOURCE_DIR}/build/picture_sources)
  if(NOT EXISTS ${picture_sources})
    message(STATUS "Fetching the sources of libjpeg-turbo, libwebp and stb")
    execute_process(COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/picture_sources.py
                            ${picture_sources} RESULT_VARIABLE failed)
    if(failed)
      message(WARNING "The sources of libjpeg-turbo, libwebp and stb cannot be fetched (see above): "
                      "this build reads no pictures")
      function(mlc_picture_codecs target)
        file(GLOB codecs ${PROJECT_SOURCE_DIR}/core/src/media/*.cc)
        list(FILTER codecs INCLUDE REGEX "/(bmp|gif|jpeg|png|stb|webp)\\.cc$")
        set_source_files_properties(${codecs} PROPERTIES HEADER_FILE_ONLY ON)
        target_compile_definitions(${target} PRIVATE MLC_NO_PICTURE_CODECS)
      endfunction()
      return()
    endif()
  endif()
endif()
set(jpeg_dir ${picture_sources}/libjpeg-turbo)
set(webp_dir ${picture_sources}/libwebp)

# C is compiled with the flags of C++: of the toolchain file, and of the type of build.
enable_language(C)
if(MLC_CCACHE AND NOT CMAKE_C_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${MLC_CCACHE})
endif()
set(CMAKE_C_FLAGS "${CMAKE_CXX_FLAGS}")
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
set(CMAKE_C_FLAGS_${build_type} "${CMAKE_CXX_FLAGS_${build_type}}")

# What configuring libjpeg-turbo would write: the API of libjpeg 6b, 8 bits, no arithmetic coding,
# no vectors.
set(jpeg_config ${CMAKE_BINARY_DIR}/libjpeg-turbo)
set(JPEG_LIB_VERSION 62)
set(LIBJPEG_TURBO_VERSION_NUMBER 2001005)
set(MEM_SRCDST_SUPPORTED 1)
set(BITS_IN_JSAMPLE 8)
set(INLINE "__inline__ __attribute__((always_inline))")
set(VERSION 2.1.5)
set(SIZE_T __SIZEOF_SIZE_T__)
if(NOT WIN32)  # where `long` is as wide as `size_t`
  set(HAVE_BUILTIN_CTZL 1)
endif()
foreach(name jconfig jconfigint jversion)
  configure_file(${jpeg_dir}/${name}.h.in ${jpeg_config}/${name}.h)
endforeach()
unset(VERSION)

set(picture_files "")
foreach(name jcomapi jdapimin jdapistd jdatasrc jdcoefct jdcolor jddctmgr jdhuff jdinput jdmainct jdmarker
        jdmaster jdmerge jdphuff jdpostct jdsample jerror jidctflt jidctfst jidctint jidctred jmemmgr
        jmemnobs jquant1 jquant2 jsimd_none jutils)
  list(APPEND picture_files ${jpeg_dir}/${name}.c)
endforeach()
# The decoder of libwebp, and what finds the parts of a file. Vectors are those that every CPU of the
# target has: files of other instruction sets are empty.
foreach(pattern dec/*.c demux/demux.c dsp/alpha_processing*.c dsp/cpu.c dsp/dec*.c dsp/filters*.c
        dsp/lossless.c dsp/lossless_[mns]*.c dsp/rescaler*.c dsp/upsampling*.c dsp/yuv*.c
        utils/bit_reader_utils.c utils/color_cache_utils.c utils/filters_utils.c utils/huffman_utils.c
        utils/quant_levels_dec_utils.c utils/random_utils.c utils/rescaler_utils.c
        utils/thread_utils.c utils/utils.c)
  file(GLOB found ${webp_dir}/src/${pattern})
  list(FILTER found EXCLUDE REGEX "_(mips32|mips_dsp_r2|msa|sse41)\\.c$")
  list(APPEND picture_files ${found})
endforeach()

# mlc_picture_codecs(TARGET): the C files among the objects of a layer. Their names stay inside of the
# library, so that a program that has another libjpeg or libwebp keeps its own. -fexceptions: errors
# of libjpeg-turbo pass through its functions as C++ exceptions (core/src/media/jpeg.cc). libwebp
# asks for no piece of memory above 512 MiB.
function(mlc_picture_codecs target)
  target_sources(${target} PRIVATE ${picture_files})
  set(options -w -fvisibility=hidden -fexceptions -DWEBP_EXTERN=extern
      -DWEBP_MAX_ALLOCABLE_MEMORY=536870912)
  if(MLC_SANITIZE)  # their shifts are their matter; addresses are ours too
    list(APPEND options -O1 -fno-sanitize=undefined)
  endif()
  set_source_files_properties(${picture_files} PROPERTIES COMPILE_OPTIONS "${options}")
  target_include_directories(${target} SYSTEM PRIVATE ${jpeg_config} ${jpeg_dir} ${webp_dir}
                             ${webp_dir}/src ${picture_sources}/stb)
endfunction()
