// JNI over mlc_llm.h, and over nothing else: no logic but handles, bytes and threads.
//
// Text crosses as UTF-8 in byte arrays. Classes and method ids are found in JNI_OnLoad, on the
// thread whose class loader knows them. An MLCStatus becomes the exception that
// NativeBridge.failure makes.
#include <dlfcn.h>
#include <jni.h>
#include <sched.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>

#include "mlc_llm.h"

namespace {

constexpr jint kJniVersion = JNI_VERSION_1_6;

// Found once; the classes are global references, which keep the method ids valid.
JavaVM* java_vm = nullptr;
jclass bridge_class = nullptr;
jmethodID failure_method = nullptr;   // NativeBridge.failure([B)Throwable
jmethodID event_method = nullptr;     // NativeSink.onEvent(I[B)V
jmethodID progress_method = nullptr;  // NativeProgress.onProgress(D[B)Z

// ---- The core ----------------------------------------------------------------------------------

// clang-format off
#define MLC_FOR_EACH_FUNCTION(F) \
  F(abi_version) \
  F(schema_hash) \
  F(version) \
  F(status_get_error_json) \
  F(status_free) \
  F(string_free) \
  F(list_devices) \
  F(set_directories) \
  F(engine_create) \
  F(engine_load) \
  F(engine_plan) \
  F(engine_unload) \
  F(engine_destroy) \
  F(engine_submit) \
  F(engine_abort) \
  F(engine_reset) \
  F(engine_metrics) \
  F(engine_pause) \
  F(engine_resume) \
  F(engine_trim_memory)
// clang-format on

// The functions of mlc_llm.h, without their prefix.
struct Core {
#define MLC_DECLARE(name) decltype(&mlc_##name) name = nullptr;
  MLC_FOR_EACH_FUNCTION(MLC_DECLARE)
#undef MLC_DECLARE
};

Core core;

// A Java virtual machine lives on signals: a null pointer is a SIGSEGV that it turns into an
// exception, and so is a compiled loop's stop for the garbage collector. TVM's library takes
// SIGSEGV for itself when it is loaded, to print a stack trace, and the next such signal would end
// the process; to put the handler back afterwards is too late for the threads that run meanwhile.
//
// So the library is loaded by a task that shares everything with this thread, which waits for it
// (as posix_spawn's does), but for the table of signal handlers. Android's build of TVM has no such
// handler, and its loader is called directly.
struct Opening {
  const char* path;
  void* library = nullptr;
};

int Open(void* argument) {
  Opening* opening = static_cast<Opening*>(argument);
  opening->library = dlopen(opening->path, RTLD_NOW | RTLD_LOCAL);
  return 0;
}

#if defined(__linux__) && !defined(__ANDROID__)
int MarkAsShared(void* mark) {
  *static_cast<volatile bool*>(mark) = true;
  return 0;
}

// Whether the system ran the function in such a task.
bool RunInTask(int (*function)(void*), void* argument) {
  constexpr size_t kStackBytes = size_t{1} << 20;
  auto stack = std::make_unique<std::byte[]>(kStackBytes);
  int flags = CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_FS | CLONE_SYSVSEM;
  pid_t task = clone(function, stack.get() + kStackBytes, flags, argument);
  if (task <= 0) return false;
  while (waitpid(task, nullptr, __WCLONE) < 0 && errno == EINTR) {
  }
  return true;
}

void OpenWithOwnSignals(Opening* opening) {
  bool shares_memory = false;  // an emulator (qemu-user) makes a process of its own out of the task
  if (RunInTask(MarkAsShared, &shares_memory) && shares_memory && RunInTask(Open, opening)) return;
  struct sigaction before;
  sigaction(SIGSEGV, nullptr, &before);
  Open(opening);
  sigaction(SIGSEGV, &before, nullptr);
}
#else
void OpenWithOwnSignals(Opening* opening) { Open(opening); }
#endif

template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

// Loads the core; "" or what is wrong. It is never unloaded.
std::string OpenCore(const std::string& path) {
  Opening opening = {path.c_str()};
  OpenWithOwnSignals(&opening);
  void* library = opening.library;
  if (library == nullptr) return dlerror();
#define MLC_FIND(name) \
  if (!Find(library, "mlc_" #name, &core.name)) return path + " has no function mlc_" #name;
  MLC_FOR_EACH_FUNCTION(MLC_FIND)
#undef MLC_FIND
  return std::string();
}

// ---- Bytes -------------------------------------------------------------------------------------

std::string ToString(JNIEnv* env, jbyteArray bytes) {
  if (bytes == nullptr) return std::string();
  std::string text(static_cast<size_t>(env->GetArrayLength(bytes)), '\0');
  env->GetByteArrayRegion(bytes, 0, static_cast<jsize>(text.size()),
                          reinterpret_cast<jbyte*>(text.data()));
  return text;
}

// NULL with an OutOfMemoryError pending when there is no room.
jbyteArray ToBytes(JNIEnv* env, const char* text, size_t size) {
  if (size > static_cast<size_t>(std::numeric_limits<jsize>::max())) return nullptr;
  jbyteArray bytes = env->NewByteArray(static_cast<jsize>(size));
  if (bytes == nullptr) return nullptr;
  env->SetByteArrayRegion(bytes, 0, static_cast<jsize>(size), reinterpret_cast<const jbyte*>(text));
  return bytes;
}

jbyteArray ToBytes(JNIEnv* env, const char* text) {
  return ToBytes(env, text, std::char_traits<char>::length(text));
}

// ---- Errors ------------------------------------------------------------------------------------

struct StatusFree {
  void operator()(MLCStatus* status) const { core.status_free(status); }
};

struct StringFree {
  void operator()(char* text) const { core.string_free(text); }
};

// Throws for a status other than NULL and frees it. An exception that is pending already (thrown by
// a progress callback, which made the load fail) stays.
bool Succeeded(JNIEnv* env, MLCStatus* raw) {
  std::unique_ptr<MLCStatus, StatusFree> status(raw);
  if (env->ExceptionCheck()) return false;
  if (status == nullptr) return true;
  jbyteArray json = ToBytes(env, core.status_get_error_json(status.get()));
  if (json == nullptr) return false;
  jobject error = env->CallStaticObjectMethod(bridge_class, failure_method, json);
  if (!env->ExceptionCheck() && error != nullptr) env->Throw(static_cast<jthrowable>(error));
  return false;
}

// The text that a function of the core's gave, as bytes; NULL with an exception pending.
jbyteArray TakeText(JNIEnv* env, MLCStatus* status, char* raw) {
  std::unique_ptr<char, StringFree> text(raw);
  return Succeeded(env, status) ? ToBytes(env, text.get()) : nullptr;
}

// ---- Threads -----------------------------------------------------------------------------------

// Attaches a thread of the core's once, as a daemon so that it never keeps the process alive, and
// detaches it when it ends.
class AttachedThread {
 public:
  AttachedThread() {
    char name[] = "mlc_llm callbacks";
    JavaVMAttachArgs arguments = {kJniVersion, name, nullptr};
#if defined(__ANDROID__) && !defined(_JAVASOFT_JNI_H_)  // the NDK's jni.h, not a JDK's
    jint status = java_vm->AttachCurrentThreadAsDaemon(&env_, &arguments);
#else
    jint status = java_vm->AttachCurrentThreadAsDaemon(reinterpret_cast<void**>(&env_), &arguments);
#endif
    if (status != JNI_OK) env_ = nullptr;
  }
  ~AttachedThread() {
    if (env_ != nullptr) java_vm->DetachCurrentThread();
  }
  AttachedThread(const AttachedThread&) = delete;
  AttachedThread& operator=(const AttachedThread&) = delete;

  JNIEnv* env() const { return env_; }

 private:
  JNIEnv* env_ = nullptr;
};

// The environment of the thread that runs: Java's own, or one of the core's. NULL when the virtual
// machine is going down.
JNIEnv* CurrentEnv() {
  void* env = nullptr;
  if (java_vm->GetEnv(&env, kJniVersion) == JNI_OK) return static_cast<JNIEnv*>(env);
  thread_local AttachedThread thread;
  return thread.env();
}

// ---- Callbacks ---------------------------------------------------------------------------------

// What a request's events go to. Owned by the core from a submit that succeeds to the last event.
struct Sink {
  jobject object;  // a global reference
};

void FreeSink(JNIEnv* env, Sink* sink) {
  env->DeleteGlobalRef(sink->object);
  delete sink;
}

// The thread never returns to Java: local references must go one by one.
void OnEvent(void* user, int32_t kind, const char* json, size_t json_size) {
  Sink* sink = static_cast<Sink*>(user);
  JNIEnv* env = CurrentEnv();
  if (env == nullptr) return;
  jbyteArray bytes = ToBytes(env, json, json_size);
  if (bytes == nullptr) env->ExceptionClear();
  env->CallVoidMethod(sink->object, event_method, static_cast<jint>(kind), bytes);
  if (env->ExceptionCheck()) {
    env->ExceptionDescribe();
    env->ExceptionClear();
  }
  if (bytes != nullptr) env->DeleteLocalRef(bytes);
  if (kind != MLC_EVENT_CHUNK) FreeSink(env, sink);
}

struct Progress {
  JNIEnv* env;  // of the thread that loads, which is the one that is called back
  jobject object;
};

int32_t OnProgress(void* user, double fraction, const char* what) {
  const Progress& progress = *static_cast<const Progress*>(user);
  JNIEnv* env = progress.env;
  jbyteArray text = ToBytes(env, what);
  if (text == nullptr) return 1;
  jboolean go_on = env->CallBooleanMethod(progress.object, progress_method, fraction, text);
  if (env->ExceptionCheck()) return 1;
  env->DeleteLocalRef(text);
  return go_on ? 0 : 1;
}

// ---- The functions of NativeBridge -------------------------------------------------------------

MLCEngine* ToEngine(jlong handle) { return reinterpret_cast<MLCEngine*>(handle); }

// NULL, or what is wrong.
jbyteArray OpenLibrary(JNIEnv* env, jclass, jbyteArray path) {
  std::string problem = OpenCore(ToString(env, path));
  return problem.empty() ? nullptr : ToBytes(env, problem.data(), problem.size());
}

jstring Mismatch(JNIEnv* env, jclass) {
  int32_t version = core.abi_version();
  if (version == MLC_LLM_ABI_VERSION) return nullptr;
  std::string text = "its ABI version is " + std::to_string(version) + ", this binding's " +
                     std::to_string(MLC_LLM_ABI_VERSION);
  return env->NewStringUTF(text.c_str());
}

jstring SchemaHash(JNIEnv* env, jclass) { return env->NewStringUTF(core.schema_hash()); }

jstring Version(JNIEnv* env, jclass) { return env->NewStringUTF(core.version()); }

jbyteArray Devices(JNIEnv* env, jclass) {
  char* json = nullptr;
  MLCStatus* status = core.list_devices(&json);
  return TakeText(env, status, json);
}

void SetDirectories(JNIEnv* env, jclass, jbyteArray directories) {
  Succeeded(env, core.set_directories(ToString(env, directories).c_str()));
}

jlong Create(JNIEnv* env, jclass, jbyteArray config) {
  MLCEngine* engine = nullptr;
  Succeeded(env, core.engine_create(ToString(env, config).c_str(), &engine));
  return reinterpret_cast<jlong>(engine);
}

void Load(JNIEnv* env, jclass, jlong handle, jbyteArray model, jobject object) {
  Progress progress = {env, object};
  std::string json = ToString(env, model);
  Succeeded(env, core.engine_load(ToEngine(handle), json.c_str(), OnProgress, &progress));
}

jbyteArray Plan(JNIEnv* env, jclass, jlong handle, jbyteArray model) {
  char* json = nullptr;
  MLCStatus* status = core.engine_plan(ToEngine(handle), ToString(env, model).c_str(), &json);
  return TakeText(env, status, json);
}

// A function that takes an engine and nothing else.
template <auto function>
void OfEngine(JNIEnv* env, jclass, jlong handle) {
  Succeeded(env, (core.*function)(ToEngine(handle)));
}

void Destroy(JNIEnv*, jclass, jlong handle) { core.engine_destroy(ToEngine(handle)); }

jlong Submit(JNIEnv* env, jclass, jlong handle, jbyteArray route, jbyteArray body, jobject object) {
  jobject reference = env->NewGlobalRef(object);
  if (reference == nullptr) return 0;
  Sink* sink = new Sink{reference};
  std::string name = ToString(env, route);
  std::string json = ToString(env, body);
  uint64_t id = 0;
  MLCStatus* status = core.engine_submit(ToEngine(handle), name.c_str(), json.data(), json.size(),
                                         nullptr, 0, OnEvent, sink, &id);
  // Once it is queued the sink may be gone already; refused, there will be no event.
  if (status != nullptr) FreeSink(env, sink);
  Succeeded(env, status);
  return static_cast<jlong>(id);
}

void Abort(JNIEnv* env, jclass, jlong handle, jlong request) {
  Succeeded(env, core.engine_abort(ToEngine(handle), static_cast<uint64_t>(request)));
}

jbyteArray Metrics(JNIEnv* env, jclass, jlong handle) {
  char* json = nullptr;
  MLCStatus* status = core.engine_metrics(ToEngine(handle), &json);
  return TakeText(env, status, json);
}

#define MLC_PACKAGE "ai/mlc/mlcllm/"

template <typename Function>
JNINativeMethod Method(const char* name, const char* signature, Function* function) {
  return {const_cast<char*>(name), const_cast<char*>(signature), reinterpret_cast<void*>(function)};
}

bool RegisterFunctions(JNIEnv* env) {
  const JNINativeMethod methods[] = {
      Method("open", "([B)[B", OpenLibrary),
      Method("mismatch", "()Ljava/lang/String;", Mismatch),
      Method("schemaHash", "()Ljava/lang/String;", SchemaHash),
      Method("version", "()Ljava/lang/String;", Version),
      Method("devices", "()[B", Devices),
      Method("setDirectories", "([B)V", SetDirectories),
      Method("create", "([B)J", Create),
      Method("load", "(J[BL" MLC_PACKAGE "NativeProgress;)V", Load),
      Method("plan", "(J[B)[B", Plan),
      Method("unload", "(J)V", OfEngine<&Core::engine_unload>),
      Method("destroy", "(J)V", Destroy),
      Method("submit", "(J[B[BL" MLC_PACKAGE "NativeSink;)J", Submit),
      Method("abort", "(JJ)V", Abort),
      Method("reset", "(J)V", OfEngine<&Core::engine_reset>),
      Method("metrics", "(J)[B", Metrics),
      Method("pause", "(J)V", OfEngine<&Core::engine_pause>),
      Method("resume", "(J)V", OfEngine<&Core::engine_resume>),
      Method("trimMemory", "(J)V", OfEngine<&Core::engine_trim_memory>),
  };
  constexpr jint kCount = sizeof(methods) / sizeof(methods[0]);
  return env->RegisterNatives(bridge_class, methods, kCount) == JNI_OK;
}

// A class that stays loaded; NULL with an exception pending when there is none.
jclass FindForGood(JNIEnv* env, const char* name) {
  jclass found = env->FindClass(name);
  return found == nullptr ? nullptr : static_cast<jclass>(env->NewGlobalRef(found));
}

bool FindMethods(JNIEnv* env) {
  bridge_class = FindForGood(env, MLC_PACKAGE "NativeBridge");
  if (bridge_class == nullptr) return false;
  jclass sink = FindForGood(env, MLC_PACKAGE "NativeSink");
  if (sink == nullptr) return false;
  jclass progress = FindForGood(env, MLC_PACKAGE "NativeProgress");
  if (progress == nullptr) return false;
  failure_method = env->GetStaticMethodID(bridge_class, "failure", "([B)Ljava/lang/Throwable;");
  if (failure_method == nullptr) return false;
  event_method = env->GetMethodID(sink, "onEvent", "(I[B)V");
  if (event_method == nullptr) return false;
  progress_method = env->GetMethodID(progress, "onProgress", "(D[B)Z");
  return progress_method != nullptr;
}

}  // namespace

extern "C" JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* vm, void*) {
  java_vm = vm;
  void* env = nullptr;
  if (vm->GetEnv(&env, kJniVersion) != JNI_OK) return JNI_ERR;
  JNIEnv* jni = static_cast<JNIEnv*>(env);
  return FindMethods(jni) && RegisterFunctions(jni) ? kJniVersion : JNI_ERR;
}
