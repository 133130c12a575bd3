// Requests in order of arrival at the edges: targets that serve within the call, and callers that wait.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "tlmalloc/detail/in_order.hpp"

#include "tlmalloc/modules/time.hpp"

#include <map>

namespace tlmalloc {

namespace {

struct place {
    in_order_target *target;
    unsigned port;
};

// Which of our targets stands behind an interface that an initiator socket is bound to.
std::map<const tlm::tlm_fw_transport_if<> *, place> &announced() {
    static auto *const places = new std::map<const tlm::tlm_fw_transport_if<> *, place>;
    return *places; // lives as long as the last module, whenever that goes
}

} // namespace

void announce_in_order(const tlm::tlm_fw_transport_if<> &interface, in_order_target &target, unsigned port) {
    announced()[&interface] = {&target, port};
}

void leave_in_order(const in_order_target &target) {
    auto &places = announced();
    for (auto at = places.begin(); at != places.end();)
        at = at->second.target == &target ? places.erase(at) : std::next(at);
}

// --- targets that serve within the call ------------------------------------------------------------------------------

namespace {

// What threads of the queue are calling foreign targets for at the moment: what such a target asks for meanwhile, it
// may ask for with payloads of its own, and they say nothing of that.
std::map<sc_core::sc_process_handle, const tlm::tlm_generic_payload *> &calls_under_way() {
    static auto *const calls = new std::map<sc_core::sc_process_handle, const tlm::tlm_generic_payload *>;
    return *calls;
}

class call_under_way {
  public:
    explicit call_under_way(const tlm::tlm_generic_payload &payload) { calls_under_way()[process_] = &payload; }
    ~call_under_way() { calls_under_way().erase(process_); } // of a thread that is killed, too
    call_under_way(const call_under_way &) = delete;
    call_under_way &operator=(const call_under_way &) = delete;

  private:
    const sc_core::sc_process_handle process_ = sc_core::sc_get_current_process_handle();
};

const requester *caller_is_called_for() {
    if (calls_under_way().empty()) return nullptr;
    const auto found = calls_under_way().find(sc_core::sc_get_current_process_handle());
    return found == calls_under_way().end() ? nullptr : found->second->get_extension<requester>();
}

} // namespace

// A call may wait, so it is made from a thread, which the queue wakes at the time of the arrival; there are as many
// threads as calls that wait at the same time. What arrives at one time is called in the queue's order.
class blocking_caller {
  public:
    explicit blocking_caller(tlm::tlm_fw_transport_if<> &target)
        : target_(target), resource_(time_queue::of_simulation().new_resource()) {}

    void send(in_order_request &request) {
        request.push(nullptr, this);
        time_queue::of_simulation().post(request.at_ps, resource_, 0, arrived, &request);
    }

  private:
    static void arrived(void *context, std::uint64_t at_ps) {
        auto &request = *static_cast<in_order_request *>(context);
        auto &self = *static_cast<blocking_caller *>(request.top().module);
        request.top().state<std::uint32_t>() = ++self.calls_;
        self.due_.push_back(&request);
        if (self.idle_.empty()) {
            self.wakers_.emplace_back();
            self.idle_.push_back(&self.wakers_.back());
            sc_core::sc_spawn([&self, waker = self.idle_.back()] { self.work(*waker); },
                              sc_core::sc_gen_unique_name("tlmalloc_caller"));
        }
        time_queue::of_simulation().notify(*self.idle_.back(), at_ps);
        self.idle_.pop_back();
    }

    // A thread. Whichever is woken makes the call that was due first.
    void work(sc_core::sc_event &waker) {
        for (;;) {
            sc_core::wait(waker);
            in_order_request &request = *due_.front();
            due_.pop_front();
            sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
            {
                const call_under_way call(*request.payload);
                target_.b_transport(*request.payload, delay);
            }
            request.at_ps = local_ps(delay);
            time_queue::of_simulation().post(request.at_ps, resource_, request.top().state<std::uint32_t>(), answered,
                                             &request);
            idle_.push_back(&waker);
        }
    }

    static void answered(void *context, std::uint64_t) {
        auto &request = *static_cast<in_order_request *>(context);
        request.pop();
        request.finish();
    }

    tlm::tlm_fw_transport_if<> &target_;
    const std::uint32_t resource_;
    std::uint32_t calls_ = 0;              // answers of one time are taken in the order of their calls
    std::deque<in_order_request *> due_;   // arrived, not yet called
    std::deque<sc_core::sc_event> wakers_; // one for each thread
    std::vector<sc_core::sc_event *> idle_;
};

outlet::outlet() = default;
outlet::~outlet() = default;
outlet::outlet(outlet &&) noexcept = default;

void outlet::lead_to(tlm::tlm_fw_transport_if<> &interface) {
    const auto found = announced().find(&interface);
    if (found == announced().end()) {
        caller_ = std::make_unique<blocking_caller>(interface);
        return;
    }
    target_ = found->second.target;
    port_ = found->second.port;
}

void outlet::send(in_order_request &request, unsigned input) {
    if (target_)
        target_->begin(request, port_ + input);
    else
        caller_->send(request);
}

// --- callers that wait -----------------------------------------------------------------------------------------------

namespace {

struct waiting_call {
    sc_core::sc_event answered;
    in_order_request request;
    bool done = false, abandoned = false;
};

// Events are costly to make, so those of calls that are over are used again; not in another simulation, since they
// belong to a kernel.
std::vector<waiting_call *> &idle_calls() {
    static auto *const calls = new std::vector<waiting_call *>; // the kernel may go first: never destroyed
    static const sc_core::sc_simcontext *simulation = nullptr;
    if (simulation != sc_core::sc_get_curr_simcontext()) calls->clear();
    simulation = sc_core::sc_get_curr_simcontext();
    return *calls;
}

// A thread that waits for its call. When it is killed or reset meanwhile, the request is still on its way.
class caller {
  public:
    caller() {
        if (idle_calls().empty()) {
            call_ = new waiting_call;
            return;
        }
        call_ = idle_calls().back();
        idle_calls().pop_back();
        call_->done = call_->abandoned = false;
    }
    ~caller() {
        if (call_->done)
            idle_calls().push_back(call_);
        else
            call_->abandoned = true;
    }
    caller(const caller &) = delete;
    caller &operator=(const caller &) = delete;

    waiting_call *operator->() const { return call_; }
    waiting_call *get() const { return call_; }

  private:
    waiting_call *call_;
};

void begin_at(void *context, std::uint64_t) {
    auto &request = *static_cast<in_order_request *>(context);
    in_order_request::frame arrival = request.pop();
    static_cast<in_order_target *>(arrival.module)->begin(request, arrival.state<unsigned>());
}

} // namespace

void serve_waiting(in_order_target &target, unsigned port, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
    time_queue &queue = time_queue::of_simulation();
    const caller call;
    call->request.payload = &payload;
    call->request.at_ps = local_ps(delay);
    call->request.called_for = caller_is_called_for();
    call->request.push(
        [](void *self, in_order_request &request) {
            auto &answered = *static_cast<waiting_call *>(self);
            request.pop();
            answered.done = true;
            if (answered.abandoned)
                idle_calls().push_back(&answered);
            else
                time_queue::of_simulation().notify(answered.answered, request.at_ps);
        },
        call.get());
    in_order_request::frame &arrival = call->request.push(nullptr, &target);
    arrival.state<unsigned>() = port;
    queue.post(call->request.at_ps, 0, port, begin_at, &call->request);
    while (!call->done || to_ps(sc_core::sc_time_stamp()) < call->request.at_ps)
        sc_core::wait(call->answered);
    delay = sc_core::SC_ZERO_TIME;
}

} // namespace tlmalloc
