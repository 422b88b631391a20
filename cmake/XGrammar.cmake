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
# A copy of its sources with the edits that core/xgrammar/lazy_masks.cc completes.
set(xgrammar_cpp ${CMAKE_BINARY_DIR}/xgrammar/edited)
file(GLOB_RECURSE files RELATIVE ${xgrammar_dir}/cpp ${xgrammar_dir}/cpp/*.cc ${xgrammar_dir}/cpp/*.h)
list(FILTER files EXCLUDE REGEX "^(nanobind|pybind|web|tvm_ffi)/")
set(edited earley_parser.h earley_parser.cc grammar_builder.cc fsm.cc compiled_grammar_impl.h
    compiled_grammar.cc grammar_compiler.cc grammar_matcher.cc)
set(xgrammar_sources "")
foreach(file ${files})
  if(NOT file IN_LIST edited)
    configure_file(${xgrammar_dir}/cpp/${file} ${xgrammar_cpp}/${file} COPYONLY)
  endif()
  if(file MATCHES "\\.cc$")
    list(APPEND xgrammar_sources ${xgrammar_cpp}/${file})
  endif()
endforeach()

# Writes a file of the copy in which each OLD text is replaced by the NEW one behind it.
function(mlc_edit_xgrammar name)
  file(READ ${xgrammar_dir}/cpp/${name} text)
  math(EXPR last "${ARGC} - 1")
  foreach(i RANGE 1 ${last} 2)
    math(EXPR next "${i} + 1")
    string(FIND "${text}" "${ARGV${i}}" at)
    if(at EQUAL -1)
      message(FATAL_ERROR "xgrammar's ${name} has changed: see cmake/XGrammar.cmake")
    endif()
    string(REPLACE "${ARGV${i}}" "${ARGV${next}}" text "${text}")
  endforeach()
  file(GENERATE OUTPUT ${xgrammar_cpp}/${name} CONTENT "${text}")
endfunction()

# The parser counts its work and its memory, and stops when it may take no more: nothing else
# interrupts it (core/xgrammar/limits.h). Both checks at the beginning of a step change nothing yet.
# What it knows of a grammar's states is in a cache of fixed size: a list of all states for each rule
# that is met took gigabytes.
mlc_edit_xgrammar(earley_parser.h
  "#include \"grammar_impl.h\"\n" "#include \"grammar_impl.h\"\n#include \"xgrammar/limits.h\"\n"
  "    if (!IsStateVisitedInQueue(state)) {\n      tmp_process_state_queue_.push(state);"
  "    SpendWork(1);\n    if (!IsStateVisitedInQueue(state)) {\n      tmp_process_state_queue_.push(state);"
  "  std::vector<std::vector<uint8_t>> fsm_state_flags_cache_;\n"
  "  struct CachedFlags {\n    int32_t rule_id = -1, state_id = -1;\n    uint8_t flags = 0;\n  };\n  static constexpr int32_t kCachedFlags = 1024;\n  std::vector<CachedFlags> fsm_state_flags_cache_ = std::vector<CachedFlags>(kCachedFlags);\n"
  "    XGRAMMAR_DCHECK(rule_id >= 0 && rule_id < static_cast<int32_t>(fsm_state_flags_cache_.size()));\n    auto& flags_cache = fsm_state_flags_cache_[rule_id];\n    if (!flags_cache.empty()) {\n      XGRAMMAR_DCHECK(state_id >= 0 && state_id < static_cast<int32_t>(flags_cache.size()));\n      if (flags_cache[state_id] != 0) {\n        return flags_cache[state_id];\n      }\n    }\n    return InitializeFsmStateFlags(rule_id, state_id);\n"
  "    CachedFlags& cached = fsm_state_flags_cache_[state_id % kCachedFlags];\n    if (cached.rule_id != rule_id || cached.state_id != state_id) {\n      cached = {rule_id, state_id, InitializeFsmStateFlags(rule_id, state_id)};\n    }\n    return cached.flags;\n")
mlc_edit_xgrammar(earley_parser.cc
  "  // Initialize the containers.\n  XGRAMMAR_DCHECK(tmp_process_state_queue_.empty())\n      << \"The tmp_process_state_queue_ should be empty before the scan.\";\n"
  "  SpendWork(1 + static_cast<int64_t>(scanable_state_history_.Back().size()));\n  CheckStates(scanable_state_history_.indptr()[scanable_state_history_.size()], rule_id_to_completable_states_.indptr()[rule_id_to_completable_states_.size()]);\n"
  "  const auto& parent_states_map = rule_id_to_completable_states_[state.rule_start_pos];\n  for"
  "  const auto& parent_states_map = rule_id_to_completable_states_[state.rule_start_pos];\n  SpendWork(parent_states_map.size() / kCompared);\n  for"
  "const auto in_vec = [&](const ParserState& state_) {\n"
  "const auto in_vec = [&](const ParserState& state_) {\n          SpendWork(1 + rule_id_to_completable_states_.Back().size() / kCompared);\n"
  "  const auto& fsm = grammar_->per_rule_fsms[state.rule_id].value();\n\n  // Add the rule reference pairs"
  "  const auto& fsm = grammar_->per_rule_fsms[state.rule_id].value();\n  CheckRowStates(rule_id_to_completable_states_.Back().size());\n\n  // Add the rule reference pairs"
  "  size_++;\n" "  size_++;\n  CheckRowStates(size_);\n"
  "      fsm_state_flags_cache_(grammar->NumRules()),\n" ""
  "  auto& flags_cache = fsm_state_flags_cache_[rule_id];\n  if (flags_cache.empty()) {\n    flags_cache.resize(fsm.NumStates());\n  }\n  XGRAMMAR_DCHECK(state_id >= 0 && state_id < static_cast<int32_t>(flags_cache.size()));\n  uint8_t& flags = flags_cache[state_id];\n  if (flags & kFsmStateInitialized) {\n    return flags;\n  }\n\n  flags = kFsmStateInitialized;\n"
  "  uint8_t flags = kFsmStateInitialized;\n")
# The compiler counts the parts of the grammars and automata that it makes, in all its passes.
mlc_edit_xgrammar(grammar_builder.cc
  "#include \"support/logging.h\"\n" "#include \"support/logging.h\"\n#include \"xgrammar/limits.h\"\n"
  "  // Offsets into grammar_expr_data_ are stored as int32.\n" "  SpendParts(2 + grammar_expr.data_len);\n")
mlc_edit_xgrammar(fsm.cc
  "#include \"fsm.h\"\n" "#include \"fsm.h\"\n#include \"xgrammar/limits.h\"\n"
  "    edges_.emplace_back();\n" "    SpendParts(6);\n    edges_.emplace_back();\n"
  "    edges_[from].push_back({min, max, to});\n" "    SpendParts(3);\n    edges_[from].push_back({min, max, to});\n")
# A compiled grammar makes a mask when it is first asked for it.
mlc_edit_xgrammar(compiled_grammar_impl.h
  "#include <cstdint>\n" "#include <atomic>\n#include <cstdint>\n#include <functional>\n#include <memory>\n#include <mutex>\n"
  "      adaptive_token_mask_cache;\n"
  "      adaptive_token_mask_cache;\n  using SharedMask = std::shared_ptr<const AdaptiveTokenMask>;\n  std::unordered_map<ParserState, SharedMask, StateHashForCache, StateEqualForCache> made_masks;\n  std::mutex mask_mutex;\n  std::atomic<int64_t> mask_bytes{0};\n  std::function<AdaptiveTokenMask(const ParserState&)> make_mask;\n  SharedMask MaskOf(const ParserState& state);\n  void DropMasks();\n  ~Impl() { DropMasks(); }\n")
mlc_edit_xgrammar(compiled_grammar.cc
  "MemorySize(impl.adaptive_token_mask_cache);" "static_cast<std::size_t>(impl.mask_bytes);")
mlc_edit_xgrammar(grammar_compiler.cc
  "  std::optional<ThreadPool> thread_pool;\n  std::optional<std::mutex> adaptive_token_mask_cache_mutex;\n"
  "  compiled_grammar_impl->make_mask = [grammar = compiled_grammar_impl->grammar, info = tokenizer_info_,\n      tags = std::move(tag_dispatch_rule_id_to_second_slicing_bitset)](const ParserState& at) {\n    std::optional<RuleLevelCache> no_cache;\n    ParserState state(at.rule_id, at.sequence_id, at.element_id, ParserState::kNoPrevInputPos, 0);\n    return GrammarMatcherForTokenMaskCache(grammar, state, tags, info, no_cache)\n        .GetAdaptiveTokenMask(at.rule_id == grammar->GetRootRuleId());\n  };\n  return CompiledGrammar(compiled_grammar_impl);\n\n  std::optional<ThreadPool> thread_pool;\n  std::optional<std::mutex> adaptive_token_mask_cache_mutex;\n")
mlc_edit_xgrammar(grammar_matcher.cc
  "  const auto& adaptive_token_mask_cache = compiled_grammar_->adaptive_token_mask_cache;\n" ""
  "std::pair<ParserState, decltype(adaptive_token_mask_cache.cbegin())>" "std::pair<ParserState, std::shared_ptr<const AdaptiveTokenMask>>"
  "    auto adaptive_token_mask_it = adaptive_token_mask_cache.find(state);\n    XGRAMMAR_CHECK(adaptive_token_mask_it != adaptive_token_mask_cache.end()) << state;\n    const auto& adaptive_token_mask = adaptive_token_mask_it->second;\n"
  "    std::shared_ptr<const AdaptiveTokenMask> shared_mask = compiled_grammar_->MaskOf(state);\n    const AdaptiveTokenMask& adaptive_token_mask = *shared_mask;\n"
  "std::make_pair(state, adaptive_token_mask_it)" "std::make_pair(state, shared_mask)"
  "    const auto& adaptive_token_mask = adaptive_token_mask_it->second;\n" "    const AdaptiveTokenMask& adaptive_token_mask = *adaptive_token_mask_it;\n"
  "  while (can_find_next_char) {\n" "  while (can_find_next_char && num_accepted_chars < kMostForcedBytes) {\n")

list(APPEND xgrammar_sources ${PROJECT_SOURCE_DIR}/core/xgrammar/lazy_masks.cc)
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
