// The order of time in a simulation: one event queue (event_queue.h) for all modules, which the kernel drives.
#ifndef TLMALLOC_MODULES_DETAIL_TIME_QUEUE_HPP
#define TLMALLOC_MODULES_DETAIL_TIME_QUEUE_HPP

#include "tlmalloc/base/event_queue.h"
#include "tlmalloc/modules/systemc.hpp"

#include <csignal>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tlmalloc {

class shared_resource;

// Modules post actions for a time. The queue calls an action when no process of the kernel can do anything earlier any
// more. Actions run in one method process, or in the thread of a caller that runs ahead, and must not call wait().
// While no process is due, actions run ahead of the kernel's time; their order does not depend on it.
class time_queue {
  public:
    // The queue of the current simulation. The first module that asks creates it, during the construction of that
    // module.
    static time_queue &of_simulation() { // every hop of a request calls this
        if (!last_given_ || last_asked_ != sc_core::sc_get_curr_simcontext()) find_or_make();
        return *last_given_;
    }

    time_queue(const time_queue &) = delete;
    time_queue &operator=(const time_queue &) = delete;

    // Calls action(context, at_ps) at at_ps, which must not lie before now_ps(). Actions of one time run in the order
    // of the resources (shared_resource), then of the ports, then of the posts. Resource 0 is for threads that call a
    // module.
    void post(std::uint64_t at_ps, std::uint32_t resource, std::uint32_t port, tla_event_action action, void *context);

    // The identity of a calling thread: the name of a socket or of a process, and the number of the call among its
    // calls.
    struct caller {
        std::string name;
        std::uint64_t call = 0;
        bool operator<(const caller &other) const { return std::tie(name, call) < std::tie(other.name, other.call); }
    };
    // Posts from a thread. The kernel wakes the threads of one time in any order. Among all actions that threads post
    // for one time, resource and port, the action of the lower caller therefore runs first.
    void post_from_thread(std::uint64_t at_ps, std::uint32_t resource, std::uint32_t port, caller who,
                          tla_event_action action, void *context);

    // Posts from an action, as the action's last operation. Like post(), but the queue calls the new action at once if
    // nothing else is due before at_ps.
    void go_on(std::uint64_t at_ps, std::uint32_t resource, std::uint32_t port, tla_event_action action, void *context);

    // From a thread, at the kernel's now_ps: posts for resource 0, and runs actions until `done`. It stops at an action
    // if a process can do anything before that action. look_ahead_ps: the call also passes processes that are due
    // within that time from now. If `done` is still false afterwards, the queue continues in its turn, and the caller
    // waits. The call uses who() only if other threads post for that time.
    void run_ahead(std::uint64_t now_ps, std::uint64_t at_ps, std::uint32_t port, caller (*who)(),
                   tla_event_action action, void *context, std::uint64_t look_ahead_ps, const bool &done);

    // Counts late posts: posts for a time before actions that have already run. The queue treats a late post as a post
    // for the time of the latest action. Late posts have three causes. A caller looked ahead. A thread returned to a
    // time before the delay of its last answer. A process acted that the kernel did not know to be due.
    struct late_figures {
        std::uint64_t late = 0;         // posts
        std::uint64_t displaced_ps = 0; // sum of the displacements
        std::uint64_t worst_ps = 0;     // largest displacement
    };
    static late_figures get_late();

    // For a caller whose own clock may be earlier than the kernel's: returns the time at which an operation at at_ps
    // takes effect. Counts the operation if that time is later.
    std::uint64_t admit(std::uint64_t at_ps);

    // The time of the running action; otherwise the kernel's time.
    std::uint64_t now_ps() const;

    // Wakes the processes that wait for `event` at at_ps (not before now_ps()), on the kernel's time.
    void notify(sc_core::sc_event &event, std::uint64_t at_ps) const;

    // Wakes threads that call foreign code. Threads of one time wake one after the other, the thread of the lower
    // caller first. Each wakes when the kernel has nothing else to do at this time.
    void notify_in_turn(sc_core::sc_event &event, std::uint64_t at_ps, caller who);

    // Sets how far the queue may be ahead of the kernel's time in its turn, while no process is due; the largest value
    // wins. Use 0 if code acts at times that the kernel does not know. Examples are a caller of sc_start for a while
    // that reads figures or notifies events in between, and a user of async_request_update.
    void allow_quantum(std::uint64_t ps);

    // --- the host's clock ---

    // Adds a watcher, for code that must notice a long real time without progress. `what` must not wait; the queue
    // calls it between two actions. forget_watcher() removes the watcher.
    void watch(const void *watcher, std::function<void()> what) { watchers_[watcher] = std::move(what); }
    static void forget_watcher(const void *watcher);

    // Reports that nothing moves: the queue calls the watchers before the next action. With `again`, the watchers did
    // not help, and the simulation ends with an error. A signal handler may call it too.
    static void nothing_moves(bool again) { still_ = again ? 2 : 1; }

    // --- islands (event_queue.h) ---

    // Modules that are constructed, and resources that are made, between the two calls lie on a new island.
    std::uint32_t begin_island();
    void end_island() { building_ = 0; }
    static std::uint32_t island_being_built();

    // Call it from an action of the island. Until until_ps, the island's resources have only events of their own, which
    // notify no process and concern no other resource, unless an outside caller arrives. The queue leaves the island
    // until then, if possible.
    void leave_until(std::uint32_t island, std::uint64_t until_ps);

    // Call it when a caller arrives at a module of the island. If the queue has left the island, the island catches up,
    // except for a caller of its own.
    void come_to(std::uint32_t island) {
        if (island && island != acting_island_ && tla_event_queue_is_left(events_.get(), island)) catch_up(island);
    }

    // Call catch_up_all when an observer reads modules now. Call keep_in_step when an observer reads modules at all
    // times from now on; the queue then leaves no island any more. If no module has asked for a queue, the calls have
    // no effect.
    static void catch_up_all();
    static void keep_in_step();

  private:
    friend class shared_resource;
    time_queue();
    void put_on_island(std::uint32_t resource, std::uint32_t island);
    void drive();
    bool take_next();
    void tell_watchers();
    void act(tla_event &event);
    std::uint64_t not_before_latest(std::uint64_t at_ps);
    std::uint64_t come_late(std::uint64_t at_ps, std::uint64_t latest_ps);
    void catch_up(std::uint32_t island);
    bool wake_next();
    void take_from_thread(std::uint64_t at_ps);
    bool may_run(std::uint64_t at_ps) const;
    std::uint64_t next_process_ps(std::uint64_t now_ps) const;
    void wake_at(std::uint64_t at_ps);
    void wake_for_next();
    static time_queue *of_this_simulation_if_any();
    static void find_or_make();

    std::unique_ptr<tla_event_queue, void (*)(tla_event_queue *)> events_{nullptr, tla_event_queue_destroy};
    sc_core::sc_event wake_;
    bool may_be_due_ = false; // wake_ has been notified since it was cancelled
    std::uint64_t quantum_ps_ = 0;
    const bool *entered_ = nullptr;                 // of a thread that runs ahead: whether its answer is ready
    std::uint64_t entered_ps_ = 0;                  // entered_: the kernel's time
    std::uint64_t entry_limit_ps_ = 0;              // entered_: earlier actions run, whatever processes do
    tla_event *acting_on_ = nullptr;                // the running action; null: no action runs
    std::vector<shared_resource *> without_number_; // in the order of their construction
    std::uint32_t next_number_ = 1;                 // of a resource
    std::uint32_t building_ = 0, acting_island_ = 0;
    bool has_driven_ = false;
    std::uint64_t driven_ps_ = 0; // time of the last action in its turn
    unsigned depth_ = 0;          // of continued actions
    late_figures late_;
    struct absence {
        time_queue *queue;
        std::uint32_t island;
        std::uint64_t until_ps;
    };
    std::deque<absence> absences_; // one for each island
    std::uint32_t left_ = 0;       // number of islands left
    bool in_step_ = false;
    using place = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>;       // time, resource, port
    std::multimap<std::pair<std::uint64_t, caller>, sc_core::sc_event *> turns_; // by time
    std::map<place, std::multimap<caller, std::pair<tla_event_action, void *>>> from_threads_;
    std::map<const void *, std::function<void()>> watchers_;
    static volatile std::sig_atomic_t still_;
    static const sc_core::sc_simcontext *last_asked_;
    static time_queue *last_given_;
};

// --- Resources ---
//
// The order in which several resources act at one time.

// A resource, or several resources side by side, that accept requests in the order of time. Their kind and name decide
// between requests of one time; the time of their construction does not.
class shared_resource {
  public:
    // In the order in which they act.
    enum class kind { memory, controller, translation, dma, gate, fabric, messages, foreign_target };

    // `name` is the name of the module, or of a part with a name of its own. Resources of one kind and name belong to
    // one module, and act in the order of their construction.
    shared_resource(kind what, std::string name, std::uint32_t count = 1);
    ~shared_resource();
    shared_resource(const shared_resource &) = delete;
    shared_resource &operator=(const shared_resource &) = delete;

    // The number of the first resource in the event queue; the others follow it. The first request for a number assigns
    // numbers to all existing resources. It occurs at the first event, when all modules exist. Later resources follow
    // these.
    std::uint32_t number() const {
        if (number_ == 0) give_numbers();
        return number_;
    }

    // Puts the resource `which` on this island instead of the island of its construction. Call it before the resource
    // has a number.
    void put_on_island(std::uint32_t which, std::uint32_t island) { elsewhere_.emplace_back(which, island); }

  private:
    void give_numbers() const;

    time_queue &queue_;
    const kind kind_;
    const std::string name_;
    const std::uint32_t count_, island_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> elsewhere_; // moved resources, and their islands
    std::uint32_t number_ = 0;                                       // 0: none yet
};

// --- Arrival gates ---
//
// Arrival gates order the threads that arrive at one time by the event queue's ties instead of the kernel's order.

// The kernel runs the processes that are due at one time in an arbitrary order, which changes with other activity.
// Threads that arrive at a gate continue in no time, but one after the other. The order is by time, then by port, then
// by the name of the caller (in_order.hpp).
class arrival_gate {
    struct place {
        explicit place(arrival_gate &of) : gate(of) {}
        arrival_gate &gate;
        sc_core::sc_event go;
        bool arrived = false, left = false;
    };

  public:
    // A thread is in the gate from construction to leave(). Other arrived threads wait meanwhile; call leave() before
    // you wait.
    class passage {
      public:
        passage(arrival_gate &gate, unsigned port);
        ~passage() { leave(); }
        passage(const passage &) = delete;
        passage &operator=(const passage &) = delete;

        void leave();

      private:
        place *place_; // null: the thread has left
    };

    // `name`: name of the gate's owner.
    explicit arrival_gate(std::string name) : resource_(shared_resource::kind::gate, std::move(name)) {}

  private:
    place *new_place();
    void admit(place &arriving, std::uint64_t at_ps);
    void leave(place &leaving);

    shared_resource resource_;
    std::deque<place *> inside_; // the first continues, the others wait
    std::vector<std::unique_ptr<place>> places_;
    std::vector<place *> idle_;
};

// --- Turnstiles ---
//
// Turnstiles serialise operations that call out of a module, because the called module may wait.

// Admits one operation at a time, and the others in the order of their arrival. If no operation waits inside, it costs
// two pointers. Methods cannot use it: an operation that arrives while another is inside waits.
class turnstile {
  public:
    // An operation is inside from construction to destruction; the destruction of a killed process counts too.
    class turn {
      public:
        explicit turn(turnstile &gate) : turn(gate, [] {}) {}
        // Calls `joined` when the turn is in the row, before it waits.
        template <typename Joined>
        turn(turnstile &gate, Joined joined) : gate_(gate), process_(sc_core::sc_get_current_process_handle()) {
            turn **last = &gate_.first_;
            while (*last)
                last = &(*last)->next_;
            *last = this;
            joined();
            try {
                while (gate_.first_ != this)
                    sc_core::wait(gate_.left_);
            } catch (...) {
                leave();
                throw;
            }
        }
        ~turn() { leave(); }
        turn(const turn &) = delete;
        turn &operator=(const turn &) = delete;

      private:
        friend class turnstile;
        void leave() {
            turn **me = &gate_.first_;
            while (*me != this)
                me = &(*me)->next_;
            *me = next_;
            if (gate_.first_) gate_.left_.notify();
        }
        turnstile &gate_;
        const sc_core::sc_process_handle process_;
        turn *next_ = nullptr;
    };

    bool busy() const { return first_ != nullptr; }

    // True if the calling process itself is inside: it would wait for itself.
    bool entered_by_caller() const { return first_ && first_->process_ == sc_core::sc_get_current_process_handle(); }

  private:
    turn *first_ = nullptr; // inside; later turns wait
    sc_core::sc_event left_;
};

} // namespace tlmalloc
#endif
