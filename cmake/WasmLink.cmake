# How mlc_llm.wasm is linked: no entry, a table and memory that grow, and the functions that the page
# and model libraries call; the wasm file alone, without JavaScript. -O1, since wasm-opt at -Os takes
# minutes and the objects are compiled with -Os already.
set(exported malloc free memcpy memset memmove)
foreach(name abi_version schema_hash version status_get_code status_get_error_json status_free
             string_free set_directories engine_create engine_plan engine_unload engine_destroy
             engine_abort engine_pause_request engine_resume_request engine_reset engine_metrics
             engine_pause engine_resume engine_trim_memory list_devices choose_device)
  list(APPEND exported mlc_${name})
endforeach()
# What model libraries import: calls of TVM's interface, mathematics, conversions of float16.
foreach(name EnvModRegisterSystemLibSymbol EnvModLookupFromImports HandleInitOnce HandleDeinitOnce
             FunctionCall FunctionGetGlobal ErrorSetRaisedFromCStr ErrorSetRaisedFromCStrParts)
  list(APPEND exported TVMFFI${name})
endforeach()
foreach(name AllocWorkspace FreeWorkspace ParallelLaunch ParallelBarrier)
  list(APPEND exported TVMBackend${name})
endforeach()
list(APPEND exported expf exp2f logf powf tanhf sinf cosf erff fmodf roundf nearbyintf ldexpf
     __truncsfhf2 __extendhfsf2)
list(TRANSFORM exported PREPEND _)
list(JOIN exported "," exported)

target_link_options(mlc_llm PRIVATE -O1 --no-entry --oformat=bare
  -sEXPORTED_FUNCTIONS=${exported} -sENVIRONMENT=web -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=4GB
  -sWASM_BIGINT=1 -sALLOW_TABLE_GROWTH=1 -sTOTAL_STACK=1MB -sERROR_ON_UNDEFINED_SYMBOLS=0
  -Wl,--export=__stack_pointer -Wl,--export-table -Wl,--growable-table -Wl,--no-check-features
  -Wl,--strip-all)
