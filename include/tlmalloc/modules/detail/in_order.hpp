// Service in the order of arrival: requests pass through modules as continuations instead of blocking calls.
#ifndef TLMALLOC_MODULES_DETAIL_IN_ORDER_HPP
#define TLMALLOC_MODULES_DETAIL_IN_ORDER_HPP

#include "tlmalloc/modules/detail/time_queue.hpp"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/systemc.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tlmalloc {

// A transaction in flight through modules that serve in order of arrival. `at_ps` is its place in time: at
// in_order_target::begin the arrival at that module, on return the time of the answer. A module that forwards a request
// and needs the answer pushes a frame, as a caller does on a stack. The latest frame receives the answer by finish().
// The request belongs to its creator, which keeps it until its own frame has been resumed.
class in_order_request {
  public:
    struct frame {
        void (*resume)(void *module, in_order_request &request) = nullptr;
        void *module = nullptr;

        // State that the module needs again: a plain struct of its own, which returns unchanged.
        template <typename State>
        State &state() {
            static_assert(sizeof(State) <= sizeof saved_ && std::is_trivially_copyable_v<State> &&
                          alignof(State) <= alignof(std::uint64_t));
            return *reinterpret_cast<State *>(saved_.data());
        }

      private:
        alignas(std::uint64_t) std::array<std::byte, 64> saved_;
    };
    static constexpr unsigned frames_max = 12;

    // A module that keeps more of a payload than this pointer, while the module has the request.
    class holder {
      public:
        // The payload's old bytes and extensions are destroyed after this returns; the request already has copies.
        virtual void payload_goes(in_order_request &request) = 0;

      protected:
        ~holder() = default;
    };

    tlm::tlm_generic_payload *payload = nullptr;
    holder *held_by = nullptr;
    std::uint64_t at_ps = 0;
    // No code runs after the call of begin() with this request, up to the queue. The request may therefore continue at
    // once, ahead of the time of the action. A module that does more work after forwarding a request clears this flag
    // first.
    bool comes_last = false;
    const requester *called_for = nullptr; // requester of the call, of a foreign target, within which this was made

    frame &push(void (*resume)(void *, in_order_request &), void *module) {
        sc_assert(depth_ < frames_max);
        frame &added = frames_[depth_++];
        added.resume = resume;
        added.module = module;
        return added;
    }
    frame &top() { return frames_[depth_ - 1]; }
    // The next push overwrites the frame: copy all needed contents first.
    frame &pop() { return frames_[--depth_]; }

    // The answer is ready at at_ps (which may lie ahead of the queue's time): resumes the latest frame. The resumed
    // module pops it.
    void finish() {
        const frame &latest = frames_[depth_ - 1];
        latest.resume(latest.module, *this);
    }

    // Call it when the payload's owner ends while the request is in flight. The request continues with a copy of
    // payload, bytes and extensions, and notifies its holder of the copy. The original payload is unchanged except for
    // its address.
    void keep_payload();
    void forget_kept() { // no longer in flight
        if (kept_) drop_kept();
    }

    in_order_request();
    ~in_order_request();
    in_order_request(const in_order_request &) = delete;
    in_order_request &operator=(const in_order_request &) = delete;

    // Calls (module.*Arrive)(*this) at `at_ps`, in the turn of a resource. It must be the module's last operation.
    template <auto Arrive, typename Module>
    void arrive_at(std::uint32_t resource, std::uint32_t port, Module &module) {
        push(nullptr, &module);
        time_queue &queue = time_queue::of_simulation();
        if (comes_last)
            queue.go_on(at_ps, resource, port, arrived<Arrive, Module>, this);
        else
            queue.post(at_ps, resource, port, arrived<Arrive, Module>, this);
    }

    // Like arrive_at(), but always through the queue.
    template <auto Arrive, typename Module>
    void wait_to_arrive(std::uint32_t resource, std::uint32_t port, Module &module) {
        push(nullptr, &module);
        time_queue::of_simulation().post(at_ps, resource, port, arrived<Arrive, Module>, this);
    }

  private:
    template <auto Arrive, typename Module>
    static void arrived(void *context, std::uint64_t) {
        auto &request = *static_cast<in_order_request *>(context);
        (static_cast<Module *>(request.pop().module)->*Arrive)(request);
    }

    struct kept;
    void drop_kept();
    std::unique_ptr<kept> kept_;
    unsigned depth_ = 0; // with all members above in one line of a cache
    std::array<frame, frames_max> frames_;
};

// A module, or a socket of a module, that accepts requests without blocking their callers.
class in_order_target {
  public:
    // Accepts a request, which arrives at request.at_ps, not before the queue's time, at input `port`. The module
    // answers by request.finish(), at once or later, from an action of the queue.
    void take(in_order_request &request, unsigned port) {
        if (island_) time_queue::of_simulation().come_to(island_);
        begin(request, port);
    }

  protected:
    ~in_order_target() = default;

  private:
    virtual void begin(in_order_request &request, unsigned port) = 0;

    const std::uint32_t island_ = time_queue::island_being_built();
};

// Announces that `target` serves, as `port`, everything bound to `interface` (socket.get_base_interface()). It is for
// modules that are bound directly to it. The inverse function leave_in_order() ignores an interface that was not
// announced.
void announce_in_order(const tlm::tlm_fw_transport_if<> &interface, in_order_target &target, unsigned port);
void leave_in_order(const tlm::tlm_fw_transport_if<> &interface);

class blocking_caller; // calls b_transport of foreign targets, or serves at once, from threads

// The exit of a module for its requests, in order of arrival.
class outlet {
  public:
    outlet();
    ~outlet();
    outlet(outlet &&) noexcept;

    // Sets the interface to which the socket of this name is bound. Call it after elaboration (start_of_simulation).
    // For a foreign target, the name decides between requests of one time.
    void lead_to(tlm::tlm_fw_transport_if<> &interface, const std::string &name);

    // Sends the request to the target at request.at_ps. The caller has pushed a frame, which an action of the queue
    // resumes. A module with several inputs that forwards requests, and is alone at its target, passes the input of the
    // request. Among requests of one time, the request from the lower input goes first.
    void send(in_order_request &request, unsigned input = 0) {
        if (target_)
            target_->take(request, port_ + input);
        else
            call(request);
    }

    // Returns whether requests become calls of b_transport, because the target does not serve in order. Such a target
    // may make callers wait.
    bool calls() const { return caller_ != nullptr; }

  private:
    void call(in_order_request &request);

    in_order_target *target_ = nullptr;
    unsigned port_ = 0;
    std::unique_ptr<blocking_caller> caller_; // for a foreign target
};

// b_transport for a target that serves in order, from a thread. The call returns at once if no process can do anything
// before the answer, or only within look_ahead_ps from now. Then delay is the time of the answer. Otherwise the call
// waits, and delay is zero.
void enter(in_order_target &target, unsigned port, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay,
           std::uint64_t look_ahead_ps);

// --- Threads ---
//
// The initiators for which threads call: they decide between threads that arrive at one time.

// While this object exists, the calls of the current thread count as calls of another initiator. A foreign target that
// is called may in turn call tlmalloc's modules from the same thread.
class acting_for {
  public:
    // `payload`: payload of the call, or NULL. It must outlive this object.
    acting_for(time_queue::caller who, const tlm::tlm_generic_payload *payload);
    ~acting_for();
    acting_for(const acting_for &) = delete;
    acting_for &operator=(const acting_for &) = delete;

    // The caller of the current thread. A thread that acts for no other initiator has its own name.
    static time_queue::caller current_caller();
    // The requester of the call within which the current thread calls; NULL: unknown. A foreign target may make its own
    // accesses meanwhile, with payloads that do not name this requester.
    static const requester *current_requester() { return threads_ == 0 ? nullptr : requester_of_current(); }

  private:
    static const requester *requester_of_current();

    static inline std::size_t threads_ = 0; // threads that act for others
    const sc_core::sc_process_handle thread_;
};

// --- Writes in flight ---
//
// The bytes that writes in flight will still change, for accesses that must not overtake these writes.

// The writes of one initiator, in the order of sending. In most cases they are few, and the first write sent arrives
// first.
class writes_under_way {
  public:
    void add(const in_order_request &write) {
        const auto [first, last] = bytes_of(*write.payload);
        all_.push_back({&write, first, last});
    }

    void arrived(const in_order_request &write) {
        all_.erase(std::find_if(all_.begin(), all_.end(), [&](const entry &e) { return e.write == &write; }));
    }

    // The latest write that touches bytes of the payload; null if no write does.
    const in_order_request *before(const tlm::tlm_generic_payload &payload) const {
        if (all_.empty()) return nullptr;
        const auto [first, last] = bytes_of(payload);
        for (auto e = all_.rbegin(); e != all_.rend(); ++e)
            if (e->first <= last && first <= e->last) return e->write;
        return nullptr;
    }

  private:
    struct entry {
        const in_order_request *write;
        std::uint64_t first, last;
    };

    static std::pair<std::uint64_t, std::uint64_t> bytes_of(const tlm::tlm_generic_payload &payload) {
        const std::uint64_t span = std::min(payload.get_streaming_width(), payload.get_data_length());
        return {payload.get_address(), payload.get_address() + (std::max<std::uint64_t>(span, 1) - 1)};
    }

    std::vector<entry> all_;
};

} // namespace tlmalloc
#endif
