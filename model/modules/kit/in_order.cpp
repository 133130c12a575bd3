// Requests in order of arrival at the edges: targets that serve within the call, and callers that wait.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "tlmalloc/modules/detail/in_order.hpp"

#include "tlmalloc/modules/detail/time_queue.hpp"
#include "tlmalloc/modules/time.hpp"

#include <map>
#include <memory>

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

void leave_in_order(const tlm::tlm_fw_transport_if<> &interface) {
    announced().erase(&interface);
}

// --- a payload whose owner goes --------------------------------------------------------------------------------------

struct in_order_request::kept {
    tlm::tlm_generic_payload payload;
    std::vector<std::uint8_t> bytes, enables;
    std::deque<requester> asking;

    // Copies a requester, and the requesters for which it works.
    const requester *keep(const requester *who) {
        if (!who) return nullptr;
        requester &copy = asking.emplace_back();
        copy.copy_from(*who);
        copy.walks_for = keep(who->walks_for);
        return &copy;
    }
};

in_order_request::in_order_request() = default;
in_order_request::~in_order_request() = default;

void in_order_request::drop_kept() {
    kept_.reset();
}

void in_order_request::keep_payload() {
    kept_ = std::make_unique<kept>();
    if (payload->get_data_ptr()) {
        kept_->bytes.resize(payload->get_data_length());
        kept_->payload.set_data_ptr(kept_->bytes.data());
    }
    if (payload->get_byte_enable_ptr()) {
        kept_->enables.resize(payload->get_byte_enable_length());
        kept_->payload.set_byte_enable_ptr(kept_->enables.data());
    }
    kept_->payload.deep_copy_from(*payload);
    if (auto *const who = kept_->payload.get_extension<requester>()) who->walks_for = kept_->keep(who->walks_for);
    called_for = kept_->keep(called_for);
    payload = &kept_->payload;
    if (held_by) held_by->payload_goes(*this);
}

// --- targets that serve within the call ------------------------------------------------------------------------------

// A call may wait, so a thread makes it, which the queue wakes at the time of the arrival. As many threads exist as
// calls that wait at the same time. Calls of one time are made one after the other, in the order of the callers' names;
// calls of one caller in the queue's order. A target may keep parts of a payload during the call. If the payload ends,
// the thread is therefore killed, as if its caller had called the target itself; the request is then answered with an
// error.
class blocking_caller final : public in_order_request::holder {
  public:
    blocking_caller(tlm::tlm_fw_transport_if<> &target, std::string name)
        : target_(target), name_(std::move(name)), resource_(shared_resource::kind::foreign_target, name_) {}

    void send(in_order_request &request) {
        request.push(nullptr, this);
        time_queue::of_simulation().post(request.at_ps, resource_.number(), 0, arrived, &request);
    }

  private:
    struct worker {
        sc_core::sc_event due;
        sc_core::sc_process_handle process;
        in_order_request *request = nullptr; // that it is calling the target for
    };

    class call {
      public:
        call(blocking_caller &owner, worker &of, in_order_request &request)
            : owner_(owner), worker_(of), request_(request), who_(owner.caller_of(request), request.payload) {
            of.request = &request;
            request.held_by = &owner;
        }
        ~call() {
            if (!ended_) { // killed
                request_.payload->set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
                end(sc_core::SC_ZERO_TIME);
            }
        }
        call(const call &) = delete;
        call &operator=(const call &) = delete;

        void end(const sc_core::sc_time &delay) {
            ended_ = true;
            worker_.request = nullptr;
            request_.held_by = nullptr;
            request_.at_ps = local_ps(delay);
            time_queue::of_simulation().post(request_.at_ps, owner_.resource_.number(),
                                             request_.top().state<std::uint32_t>(), answered, &request_);
            owner_.idle_.push_back(&worker_);
        }

      private:
        blocking_caller &owner_;
        worker &worker_;
        in_order_request &request_;
        const acting_for who_;
        bool ended_ = false;
    };

    time_queue::caller caller_of(in_order_request &request) const {
        return {name_, request.top().state<std::uint32_t>()};
    }

    static void arrived(void *context, std::uint64_t at_ps) {
        auto &request = *static_cast<in_order_request *>(context);
        auto &self = *static_cast<blocking_caller *>(request.top().module);
        request.top().state<std::uint32_t>() = ++self.calls_;
        self.due_.push_back(&request);
        if (self.idle_.empty()) self.idle_.push_back(&self.workers_.emplace_back());
        worker &next = *self.idle_.back();
        self.idle_.pop_back();
        if (!next.process.valid() || next.process.terminated())
            next.process =
                sc_core::sc_spawn([&self, &next] { self.work(next); }, sc_core::sc_gen_unique_name("tlmalloc_caller"));
        time_queue::of_simulation().notify_in_turn(next.due, at_ps, self.caller_of(request));
    }

    // A thread. Any woken thread makes the call that was due first.
    void work(worker &self) {
        for (;;) {
            sc_core::wait(self.due);
            in_order_request &request = *due_.front();
            due_.pop_front();
            sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
            call under_way(*this, self, request);
            target_.b_transport(*request.payload, delay);
            under_way.end(delay);
        }
    }

    void payload_goes(in_order_request &request) override {
        for (worker &w : workers_)
            if (w.request == &request) w.process.kill();
    }

    static void answered(void *context, std::uint64_t at_ps) {
        auto &request = *static_cast<in_order_request *>(context);
        request.at_ps = at_ps;
        request.pop();
        request.finish();
    }

    tlm::tlm_fw_transport_if<> &target_;
    const std::string name_;
    shared_resource resource_;
    std::uint32_t calls_ = 0;            // answers of one time are taken in the order of their calls
    std::deque<in_order_request *> due_; // arrived, not yet called
    std::deque<worker> workers_;
    std::vector<worker *> idle_;
};

outlet::outlet() = default;
outlet::~outlet() = default;
outlet::outlet(outlet &&) noexcept = default;

void outlet::lead_to(tlm::tlm_fw_transport_if<> &interface, const std::string &name) {
    const auto found = announced().find(&interface);
    if (found == announced().end()) {
        caller_ = std::make_unique<blocking_caller>(interface, name);
        return;
    }
    target_ = found->second.target;
    port_ = found->second.port;
}

void outlet::call(in_order_request &request) {
    caller_->send(request);
}

// --- callers that wait -----------------------------------------------------------------------------------------------

namespace {

struct waiting_call {
    sc_core::sc_event answered;
    in_order_request request;
    in_order_target *target = nullptr;
    unsigned port = 0;
    bool waits = false, done = false, abandoned = false;
    waiting_call *next = nullptr; // of those that are over
};

// Events are costly to make, so those of calls that are over are used again; not in another simulation, since they
// belong to a kernel. The kernel may go first: they are never destroyed.
waiting_call *first_idle = nullptr;
const sc_core::sc_simcontext *idle_in = nullptr;

waiting_call *take_call() {
    const sc_core::sc_simcontext *const simulation = sc_core::sc_get_curr_simcontext();
    if (idle_in != simulation) first_idle = nullptr;
    idle_in = simulation;
    if (!first_idle) return new waiting_call;
    waiting_call *const call = first_idle;
    first_idle = call->next;
    call->request.forget_kept();
    call->waits = call->done = call->abandoned = false;
    return call;
}

void give_back(waiting_call *call) {
    call->next = first_idle;
    first_idle = call;
}

// A thread that waits for its call. When it is killed or reset meanwhile, the request is still on its way.
class caller {
  public:
    explicit caller(tlm::tlm_generic_payload &payload)
        : payload_(payload), address_(payload.get_address()), call_(take_call()) {
        call_->request.payload = &payload;
    }
    ~caller() {
        if (call_->done) {
            give_back(call_);
            return;
        }
        call_->abandoned = true;
        call_->request.keep_payload();
        payload_.set_address(address_);
    }
    caller(const caller &) = delete;
    caller &operator=(const caller &) = delete;

    waiting_call *operator->() const { return call_; }
    waiting_call *get() const { return call_; }

  private:
    tlm::tlm_generic_payload &payload_;
    const std::uint64_t address_;
    waiting_call *const call_;
};

bool may_wait() {
    const sc_core::sc_curr_proc_kind kind = sc_core::sc_get_current_process_handle().proc_kind();
    return kind == sc_core::SC_THREAD_PROC_ || kind == sc_core::SC_CTHREAD_PROC_;
}

void begin_at(void *context, std::uint64_t at_ps) {
    auto &call = *static_cast<waiting_call *>(context);
    call.request.at_ps = at_ps;
    call.request.comes_last = true;
    call.target->take(call.request, call.port);
}

} // namespace

void enter(in_order_target &target, unsigned port, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay,
           std::uint64_t look_ahead_ps) {
    const std::uint64_t now_ps = to_ps(sc_core::sc_time_stamp());
    if (refuse_behind_end(now_ps, payload, delay)) return;
    const requester *const who = payload.get_extension<requester>();
    const caller call(payload);
    call->request.at_ps = now_ps + to_ps(delay);
    call->request.called_for = acting_for::current_requester();
    call->request.push(
        [](void *self, in_order_request &request) {
            auto &answered = *static_cast<waiting_call *>(self);
            request.pop();
            answered.done = true;
            if (answered.abandoned)
                give_back(&answered);
            else if (answered.waits)
                time_queue::of_simulation().notify(answered.answered, request.at_ps);
        },
        call.get());
    call->target = &target;
    call->port = port;
    time_queue &queue = time_queue::of_simulation();
    if (who && who->waits)
        queue.post_from_thread(call->request.at_ps, 0, port, acting_for::current_caller(), begin_at, call.get());
    else
        queue.run_ahead(now_ps, call->request.at_ps, port, acting_for::current_caller, begin_at, call.get(),
                        look_ahead_ps, call->done);
    if (call->done) {
        delay = from_ps(call->request.at_ps - now_ps);
        return;
    }
    if (!may_wait()) {
        SC_REPORT_ERROR("/tlmalloc/time/thread",
                        "b_transport must wait, but its caller is not a thread process: call it from an SC_THREAD");
        payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
        return;
    }
    call->waits = true;
    while (!call->done || to_ps(sc_core::sc_time_stamp()) < call->request.at_ps)
        sc_core::wait(call->answered);
    delay = sc_core::SC_ZERO_TIME;
}

} // namespace tlmalloc
