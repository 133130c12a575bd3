// Serving in the order of arrival: requests that pass through modules as continuations instead of blocking calls.
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

// A transaction on its way through modules that serve in order of arrival. `at_ps` says where it is in time: at
// in_order_target::begin when it arrives at that module, and when it comes back when its answer does. Whoever passes it
// on and wants to see the answer pushes a frame, as a caller does on a stack; finish() gives it to the latest one. It
// belongs to whoever made it, who keeps it until its own frame has been resumed.
class in_order_request {
  public:
    struct frame {
        void (*resume)(void *module, in_order_request &request) = nullptr;
        void *module = nullptr;

        // What the module wants to find again: a plain struct of its own, as it left it.
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

    // Who keeps more of a payload than the pointer to it here, while the request stays with him.
    class holder {
      public:
        // The bytes and extensions that the payload had go when this returns; the request has others already.
        virtual void payload_goes(in_order_request &request) = 0;

      protected:
        ~holder() = default;
    };

    tlm::tlm_generic_payload *payload = nullptr;
    holder *held_by = nullptr;
    std::uint64_t at_ps = 0;
    // Nothing is done after the call of begin() that brings it, up to the queue: it may go on at once, ahead of the
    // time of the action. A module that does something after it has passed a request on, clears this before.
    bool comes_last = false;
    const requester *called_for = nullptr; // who asked for the call, of a foreign target, within which this was made

    frame &push(void (*resume)(void *, in_order_request &), void *module) {
        sc_assert(depth_ < frames_max);
        frame &added = frames_[depth_++];
        added.resume = resume;
        added.module = module;
        return added;
    }
    frame &top() { return frames_[depth_ - 1]; }
    // The frame is gone when the next is pushed: who wants more of it copies that first.
    frame &pop() { return frames_[--depth_]; }

    // The answer is there at at_ps (which may lie ahead of the queue's time): resumes the latest frame. The resumed
    // module pops it.
    void finish() {
        const frame &latest = frames_[depth_ - 1];
        latest.resume(latest.module, *this);
    }

    // The payload's owner goes while the request is on its way: it goes on with a copy of payload, bytes and
    // extensions, of which it tells its holder. The payload is as it was but for its address.
    void keep_payload();
    void forget_kept() { // no longer on its way
        if (kept_) drop_kept();
    }

    in_order_request();
    ~in_order_request();
    in_order_request(const in_order_request &) = delete;
    in_order_request &operator=(const in_order_request &) = delete;

    // Lets (module.*Arrive)(*this) come at `at_ps`, in the turn of a resource. What a module does last.
    template <auto Arrive, typename Module>
    void arrive_at(std::uint32_t resource, std::uint32_t port, Module &module) {
        push(nullptr, &module);
        time_queue &queue = time_queue::of_simulation();
        if (comes_last)
            queue.go_on(at_ps, resource, port, arrived<Arrive, Module>, this);
        else
            queue.post(at_ps, resource, port, arrived<Arrive, Module>, this);
    }

    // Likewise, but the queue is always asked.
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
    unsigned depth_ = 0; // with all above in one line of a cache
    std::array<frame, frames_max> frames_;
};

// A module, or a socket of it, that takes requests without being waited for.
class in_order_target {
  public:
    // The request arrives at request.at_ps, which is not before the queue's time, at input `port`. It is answered by
    // request.finish(), at once or later, from an action of the queue.
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

// Says that what is bound to `interface` (socket.get_base_interface()) is served by `target` as `port`: for the modules
// that are bound directly to it. leave_in_order() undoes this, and ignores an interface that
// was not announced.
void announce_in_order(const tlm::tlm_fw_transport_if<> &interface, in_order_target &target, unsigned port);
void leave_in_order(const tlm::tlm_fw_transport_if<> &interface);

class blocking_caller; // calls b_transport of a target that is not ours, or serves at once, from threads

// Where a module's requests leave it, in order of arrival.
class outlet {
  public:
    outlet();
    ~outlet();
    outlet(outlet &&) noexcept;

    // What the socket of this name is bound to; when elaboration is over (start_of_simulation). Behind a foreign target
    // the name decides between requests of one time.
    void lead_to(tlm::tlm_fw_transport_if<> &interface, const std::string &name);

    // The request goes to the target at request.at_ps. The caller has pushed a frame, which is resumed from an action
    // of the queue. A module with several inputs that lets requests through, the only one bound to its target, says at
    // which it came in: of several at one time the one from the lower input goes first.
    void send(in_order_request &request, unsigned input = 0) {
        if (target_)
            target_->take(request, port_ + input);
        else
            call(request);
    }

    // Whether requests become calls of b_transport, since the target does not serve in order: it may make callers wait.
    bool calls() const { return caller_ != nullptr; }

  private:
    void call(in_order_request &request);

    in_order_target *target_ = nullptr;
    unsigned port_ = 0;
    std::unique_ptr<blocking_caller> caller_; // where the target is none of ours
};

// b_transport for a target that serves in order, from a thread. Where no process can do anything before the answer is
// there, or only within look_ahead_ps from now, the call returns at once, and delay says when that is. Else it waits,
// and delay is zero then.
void enter(in_order_target &target, unsigned port, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay,
           std::uint64_t look_ahead_ps);

// --- Threads ---
//
// On whose behalf a thread calls: what decides between threads that come at one time.

// As long as it exists, the calls of the current thread are those of another initiator. A foreign target that is called
// may call our modules in turn, from the same thread.
class acting_for {
  public:
    // `payload`: of the call, or NULL. It must live as long as this.
    acting_for(time_queue::caller who, const tlm::tlm_generic_payload *payload);
    ~acting_for();
    acting_for(const acting_for &) = delete;
    acting_for &operator=(const acting_for &) = delete;

    // Of the current thread. A thread that acts for nobody else is known by its own name.
    static time_queue::caller current_caller();
    // Who asked for the call within which the current thread calls; NULL: unknown. What a foreign target asks for
    // meanwhile, it may ask for with payloads of its own, and they say nothing of that.
    static const requester *current_requester() { return threads_ == 0 ? nullptr : requester_of_current(); }

  private:
    static const requester *requester_of_current();

    static inline std::size_t threads_ = 0; // that act for others
    const sc_core::sc_process_handle thread_;
};

// --- Writes under way ---
//
// Which bytes writes will still change that have been sent and have not arrived: for what must not overtake them.

// Of one initiator, in the order of sending. Mostly few, and the first to be sent is mostly the first to arrive.
class writes_under_way {
  public:
    void add(const in_order_request &write) {
        const auto [first, last] = bytes_of(*write.payload);
        all_.push_back({&write, first, last});
    }

    void arrived(const in_order_request &write) {
        all_.erase(std::find_if(all_.begin(), all_.end(), [&](const entry &e) { return e.write == &write; }));
    }

    // The latest that touches bytes of the payload; null: none.
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
