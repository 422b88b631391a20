#include "engine/trace.h"

#include <algorithm>
#include <set>

#include "base/json.h"

namespace mlc {
namespace {

constexpr int kEngineLane = 1, kRequestLanes = 2;  // the format calls them processes
constexpr int64_t kChoices = 128;                  // the most choices of one request

double Microseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

const char* WordOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kCancelled:
      return "cancelled";
    case StatusCode::kDeadlineExceeded:
      return "deadline exceeded";
    case StatusCode::kUnavailable:
      return "unloaded";
    case StatusCode::kResourceExhausted:
      return "out of resources";
    default:
      return "failed";
  }
}

int64_t LaneOf(RequestId request, int choice) {
  return static_cast<int64_t>(request) * kChoices + choice;
}

// {"ph": "M", "name": "process_name" or "thread_name", ...}: the event that names a lane.
Json Named(const char* kind, int process, int64_t lane, const std::string& name) {
  Json out;
  out.Set("ph", "M").Set("name", kind).Set("pid", process).Set("tid", lane);
  out.Set("args", Json().Set("name", name));
  return out;
}

std::string LaneName(int64_t lane) {
  std::string name = "request " + std::to_string(lane / kChoices);
  if (lane % kChoices > 0) name += ", choice " + std::to_string(lane % kChoices);
  return name;
}

}  // namespace

Trace::Trace(size_t capacity) : capacity_(capacity) {}

void Trace::Add(const Event& event) {
  if (ring_.size() < capacity_) {
    ring_.push_back(event);
  } else {
    ring_[num_added_ % capacity_] = event;
  }
  ++num_added_;
}

void Trace::Clear() {
  ring_.clear();
  num_added_ = 0;
}

void Trace::Admitted(const Sequence& sequence) {
  const Request& request = sequence.request->request;
  Clock::time_point begin = sequence.preempted_at.value_or(request.received);
  Add({sequence.preempted_at ? "preempted" : "queued", begin, Clock::now() - begin, request.id,
       sequence.choice, -1, -1, nullptr});
}

void Trace::Stepped(const std::vector<StepItem>& items, Clock::time_point begin,
                    Clock::time_point end) {
  int64_t rows = 0;
  for (const StepItem& item : items) {
    int64_t item_rows = int64_t{item.num_rows} + item.drafts.size();
    bool is_decode =
        item.num_rows == 1 && item.sequence->num_computed > item.sequence->num_prompt_tokens();
    Add({is_decode ? "decode" : "prefill", begin, end - begin, item.sequence->request->request.id,
         item.sequence->choice, item_rows, -1, nullptr});
    rows += item_rows;
  }
  Add({"step", begin, end - begin, 0, 0, rows, static_cast<int64_t>(items.size()), nullptr});
}

void Trace::Finished(const RequestState& request, const Status& status) {
  Add({"finish", Clock::now(), Clock::duration(-1), request.request.id, 0, -1, -1, WordOf(status)});
}

std::vector<const Trace::Event*> Trace::InOrder() const {
  std::vector<const Event*> events;
  size_t first = num_added_ > ring_.size() ? num_added_ % ring_.size() : 0;
  for (size_t i = 0; i < ring_.size(); ++i) events.push_back(&ring_[(first + i) % ring_.size()]);
  std::stable_sort(events.begin(), events.end(),
                   [](const Event* a, const Event* b) { return a->begin < b->begin; });
  return events;
}

std::string Trace::ToJson() const {
  Json list = Json::MakeArray();
  list.Append(Named("process_name", kEngineLane, 0, "engine"));
  list.Append(Named("process_name", kRequestLanes, 0, "requests"));
  list.Append(Named("thread_name", kEngineLane, 0, "steps"));
  std::set<int64_t> lanes;
  for (const Event* event : InOrder()) {
    bool is_engine = event->request == 0, is_instant = event->duration < Clock::duration(0);
    int64_t lane = is_engine ? 0 : LaneOf(event->request, event->choice);
    if (!is_engine && lanes.insert(lane).second) {
      list.Append(Named("thread_name", kRequestLanes, lane, LaneName(lane)));
    }
    Json args = Json::MakeObject(), out;
    if (event->rows >= 0) args.Set("rows", event->rows);
    if (event->sequences >= 0) args.Set("sequences", event->sequences);
    if (event->status != nullptr) args.Set("status", event->status);
    out.Set("name", event->name).Set("cat", is_engine ? "engine" : "request");
    out.Set("ph", is_instant ? "i" : "X").Set("ts", Microseconds(event->begin - origin_));
    if (!is_instant) out.Set("dur", Microseconds(event->duration));
    if (is_instant) out.Set("s", "t");
    out.Set("pid", is_engine ? kEngineLane : kRequestLanes).Set("tid", lane);
    out.Set("args", std::move(args));
    list.Append(std::move(out));
  }
  int64_t dropped = static_cast<int64_t>(num_added_ - ring_.size());
  Json trace;
  trace.Set("traceEvents", std::move(list)).Set("displayTimeUnit", "ms");
  trace.Set("otherData", Json().Set("dropped_events", dropped));
  return trace.Dump();
}

}  // namespace mlc
