#include "runtime/shards/nccl_collective.h"

#include <tvm/ffi/extra/c_env_api.h>

#include <chrono>
#include <cstdlib>
#include <type_traits>
#include <utility>

#include "platform/shared_library.h"
#include "runtime/rocm_files.h"
#include "runtime/tvm_convert.h"

namespace mlc {
namespace {

using Communicator = void*;
constexpr int kSuccess = 0, kFloat32 = 7, kAdd = 0;  // ncclResult_t, ncclDataType_t, ncclRedOp_t
// A call returns at once, unless it still connects to other shards. Then it may wait for one that
// has failed, and only the abort ends that.
constexpr std::chrono::milliseconds kCallTime{100};

struct Vendor {
  const char* kind;  // of the devices
  const char* name;
  const char* file;
  const char* variable;
  const char* how;  // to get it
};
constexpr Vendor kVendors[] = {
    {"cuda", "NCCL", "libnccl.so.2", "MLC_NCCL_LIBRARY", "pip install \"mlc-llm[nccl]\""},
    {"rocm", "RCCL", "librccl.so.1", "MLC_RCCL_LIBRARY", "install AMD's package rccl"}};

const Vendor* VendorOf(Device device) {
  for (const Vendor& vendor : kVendors) {
    if (device.kind() == vendor.kind) return &vendor;
  }
  return nullptr;
}

}  // namespace

// The part of nccl.h that is used here.
struct NcclCollective::Library {
  const char* name = "";
  int (*init_all)(Communicator* made, int count, const int* devices) = nullptr;
  int (*all_reduce)(const void* x, void* sum, size_t size, int type, int operation, Communicator,
                    void* stream) = nullptr;
  int (*all_gather)(const void* x, void* all, size_t size, int type, Communicator,
                    void* stream) = nullptr;
  int (*abort)(Communicator) = nullptr;
  int (*destroy)(Communicator) = nullptr;
  const char* (*error_text)(int) = nullptr;
  const char* (*last_error)(Communicator) = nullptr;

  static Result<std::unique_ptr<Library>> Open(const Vendor& vendor);

  Status Checked(int status, const std::string& what, Communicator communicator) const {
    if (status == kSuccess) return Status();
    const char* more = last_error(communicator);
    std::string last = more == nullptr || *more == '\0' ? "" : std::string(" (") + more + ")";
    return Unavailable(std::string(name) + ": " + what + " failed: " + error_text(status) + last);
  }
};

Result<std::unique_ptr<NcclCollective::Library>> NcclCollective::Library::Open(
    const Vendor& vendor) {
  auto refuse = [&](const std::string& reason) {
    return Unavailable(std::string("several shards on ") + vendor.kind + " need " + vendor.name +
                       ": " + vendor.how + ", or use --tensor-parallel-shards 1 (" + reason + ")")
        .WithParam("tensor_parallel_shards");
  };
  const char* named = std::getenv(vendor.variable);
  std::vector<std::string> files = {vendor.file};
  if (named != nullptr && *named != '\0') {
    files = {named};
  } else if (std::string(vendor.kind) == "rocm") {
    files = RocmFiles({vendor.file});
  }
  auto [opened, file, problem] = OpenFirst(files);  // for as long as the process lives
  if (opened == nullptr) {
    const std::string& name = files.size() == 1 ? files.front() : vendor.file;
    return refuse(problem.empty() ? name + " was not found" : problem);
  }
  auto library = std::make_unique<Library>();
  library->name = vendor.name;
  std::string missing;
  auto find = [&, in = opened](const char* name, auto* function) {
    *function = reinterpret_cast<std::decay_t<decltype(*function)>>(FindSymbol(in, name));
    if (*function == nullptr) missing = name;
  };
  find("ncclCommInitAll", &library->init_all);
  find("ncclAllReduce", &library->all_reduce);
  find("ncclAllGather", &library->all_gather);
  find("ncclCommAbort", &library->abort);
  find("ncclCommDestroy", &library->destroy);
  find("ncclGetErrorString", &library->error_text);
  find("ncclGetLastError", &library->last_error);
  if (!missing.empty()) return refuse(file + " has no " + missing);
  return library;
}

class NcclCollective::Shard : public Collective {
 public:
  Shard(NcclCollective* group, int rank, Device device)
      : group_(group), rank_(rank), device_(device) {}

  int rank() const override { return rank_; }
  int count() const override { return static_cast<int>(group_->shards_.size()); }
  int device_index() const { return device_.index; }

  Status Sum(const float* x, int64_t size, float* sum) override {
    return Call("ncclAllReduce", [&](Communicator communicator, void* stream) {
      return group_->library_->all_reduce(x, sum, static_cast<size_t>(size), kFloat32, kAdd,
                                          communicator, stream);
    });
  }

  Status Join(const float* x, int64_t rows, int64_t width, float* joined) override {
    if (rows != 1) return Internal("shards on devices join rows that are given as one");
    return Call("ncclAllGather", [&](Communicator communicator, void* stream) {
      return group_->library_->all_gather(x, joined, static_cast<size_t>(width), kFloat32,
                                          communicator, stream);
    });
  }

  void Connect(Communicator communicator) { communicator_.store(communicator); }
  Communicator Disconnect() { return communicator_.exchange(nullptr); }

  // An abort frees the communicator, so a call that is about to return may end first.
  void Abort() {
    std::unique_lock<std::timed_mutex> lock(calling_, kCallTime);
    if (Communicator communicator = Disconnect()) group_->library_->abort(communicator);
  }

 private:
  template <typename F>
  Status Call(const char* name, F call) {
    std::lock_guard<std::timed_mutex> lock(calling_);
    Communicator communicator = communicator_.load();
    if (communicator == nullptr || group_->failed() >= 0) return group_->HasFailed();
    void* stream = TVMFFIEnvGetStream(device_.type, device_.index);
    int status = call(communicator, stream);
    if (communicator_.load() == nullptr) return group_->HasFailed();  // it was aborted
    return group_->library_->Checked(status, name, communicator);
  }

  NcclCollective* group_;
  int rank_;
  Device device_;
  std::timed_mutex calling_;
  std::atomic<Communicator> communicator_{nullptr};
};

bool NcclCollective::IsFor(Device device) { return VendorOf(device) != nullptr; }

Status NcclCollective::Check(Device device) { return Library::Open(*VendorOf(device)).status(); }

Result<std::unique_ptr<ShardGroup>> NcclCollective::Make(const std::vector<Device>& devices) {
  MLC_ASSIGN_OR_RETURN(std::unique_ptr<Library> library, Library::Open(*VendorOf(devices.front())));
  std::unique_ptr<NcclCollective> group(new NcclCollective(std::move(library), devices));
  MLC_RETURN_IF_ERROR(group->Connect());
  return std::unique_ptr<ShardGroup>(std::move(group));
}

NcclCollective::NcclCollective(std::unique_ptr<Library> library, const std::vector<Device>& devices)
    : library_(std::move(library)) {
  for (Device device : devices) {
    auto rank = static_cast<int>(shards_.size());
    shards_.push_back(std::make_unique<Shard>(this, rank, device));
  }
}

NcclCollective::~NcclCollective() {
  for (const std::unique_ptr<Shard>& shard : shards_) {
    if (Communicator communicator = shard->Disconnect()) library_->destroy(communicator);
  }
}

Status NcclCollective::Connect() {
  std::vector<int> devices;
  for (const std::unique_ptr<Shard>& shard : shards_) devices.push_back(shard->device_index());
  std::vector<Communicator> made(shards_.size());
  int count = static_cast<int>(made.size());
  MLC_RETURN_IF_ERROR(library_->Checked(library_->init_all(made.data(), count, devices.data()),
                                        "ncclCommInitAll", nullptr));
  for (size_t rank = 0; rank < made.size(); ++rank) shards_[rank]->Connect(made[rank]);
  return Status();
}

Collective* NcclCollective::shard(int rank) { return shards_[static_cast<size_t>(rank)].get(); }

void NcclCollective::Fail(int rank) {
  std::lock_guard<std::mutex> lock(mutex_);
  ShardGroup::Fail(rank);
  for (const std::unique_ptr<Shard>& shard : shards_) shard->Abort();
}

Status NcclCollective::Reset() {
  MLC_RETURN_IF_ERROR(Connect());
  return ShardGroup::Reset();
}

}  // namespace mlc
