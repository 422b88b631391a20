// A compiled model library: its metadata and its functions (ARCHITECTURE.md, "The model library").
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/status.h"
#include "runtime/tensor.h"

namespace mlc {

// An array of tensors in the form that compiled functions accept. It is built once and passed
// often.
class TensorList {
 public:
  TensorList() = default;
  explicit TensorList(const std::vector<Tensor>& tensors);
  struct Impl;
  const Impl* impl() const { return impl_.get(); }

 private:
  std::shared_ptr<Impl> impl_;
};

using Argument = std::variant<Tensor, TensorList>;

class ModelLibrary {
 public:
  // Checks the file's trailer before the loader sees the file. Errors: kNotFound; kCorrupt for a
  // damaged file; kUnsupported for a shared library that `mlc_llm compile` did not write.
  // "system://PREFIX" means one in the program's library folders, or among an app's own libraries
  // (library_names.h), or the library that is linked into the program (mlc_llm compile
  // --system-lib-prefix PREFIX). Where there are variants for CPUs beside it, a CPU gets the
  // fastest one that it can run.
  static Result<std::unique_ptr<ModelLibrary>> Load(const std::string& path, Device device);
  // The same library for another thread, which may call it while this one is called.
  Result<std::unique_ptr<ModelLibrary>> WithOwnMachine(Device device) const;
  ~ModelLibrary();

  const std::string& path() const;  // for messages
  const std::string& metadata_json() const { return metadata_json_; }
  // Identifies the library: a hash of the file, or of the metadata if there is no file.
  const std::string& id() const { return id_; }
  bool Has(const std::string& function) const;

  // Calls a function that returns a tuple of that many tensors. Errors: kInternal with the
  // function's message; kResourceExhausted when memory ran out. Only one thread may call at a time.
  Result<std::vector<Tensor>> Call(const std::string& function,
                                   const std::vector<Argument>& arguments, size_t num_results);

  struct Impl;  // defined only inside runtime/
  Impl* impl() const { return impl_.get(); }

 private:
  explicit ModelLibrary(std::unique_ptr<Impl> impl);
  static Result<std::unique_ptr<ModelLibrary>> LoadFile(const std::string& path, Device device);
  static Result<std::unique_ptr<ModelLibrary>> LoadLinked(const std::string& path, Device device);
  static Result<std::unique_ptr<ModelLibrary>> LoadBundled(const std::string& path,
                                                           const std::string& file, Device device);
  // Opens a shared library by a path or by its name. `path` is for messages; `on_open` is called
  // when the loader has it.
  static Result<std::unique_ptr<ModelLibrary>> Open(const std::string& path,
                                                    const std::string& file, Device device,
                                                    const std::function<void()>& on_open = {});
  // `name`: of the linked library in the file; `id`: of the file.
  static Result<std::unique_ptr<ModelLibrary>> OpenLinked(const std::string& file,
                                                          const std::string& name,
                                                          const std::string& id, Device device);
  // `path` is for messages.
  static Result<std::unique_ptr<ModelLibrary>> FromLinked(const std::string& path,
                                                          const std::string& name, Device device);
  Status ReadMetadata();
  std::unique_ptr<Impl> impl_;
  std::string metadata_json_, id_;
};

}  // namespace mlc
