// The order of time of a simulation: one event queue (event_queue.h) for all modules, driven by the kernel.
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

// Modules post what happens at a time, and are called when that time has come: when no process of the kernel can do
// anything earlier any more. Actions run in one method process, or in the thread of a caller that runs ahead, and must
// not call wait(). Where no process is due, they run ahead of the kernel's time; their order does not depend on it.
class time_queue {
  public:
    // The queue of the current simulation; it is made when the first module asks, while that is constructed.
    static time_queue &of_simulation() { // every hop of a request asks
        if (!last_given_ || last_asked_ != sc_core::sc_get_curr_simcontext()) find_or_make();
        return *last_given_;
    }

    time_queue(const time_queue &) = delete;
    time_queue &operator=(const time_queue &) = delete;

    // action(context, at_ps) is called at at_ps, which must not lie before now_ps(). What comes at one time is called
    // in the order of the resources (shared_resource; 0 is that of threads which call a module), then of the ports,
    // then of the posts.
    void post(std::uint64_t at_ps, std::uint32_t resource, std::uint32_t port, tla_event_action action, void *context);

    // On whose behalf a thread calls: the name of a socket or of a process, and the number of the call among its calls.
    struct caller {
        std::string name;
        std::uint64_t call = 0;
        bool operator<(const caller &other) const { return std::tie(name, call) < std::tie(other.name, other.call); }
    };
    // The same from a thread. The kernel wakes the threads of one time in any order, so that of all actions which are
    // posted here for one time, resource and port the one of the lower caller comes first.
    void post_from_thread(std::uint64_t at_ps, std::uint32_t resource, std::uint32_t port, caller who,
                          tla_event_action action, void *context);

    // From an action, as the last thing that it does: as post(), but where nothing else is due before at_ps, the action
    // is called at once.
    void go_on(std::uint64_t at_ps, std::uint32_t resource, std::uint32_t port, tla_event_action action, void *context);

    // From a thread, at the kernel's now_ps: posts for resource 0, and takes actions until `done`, as long as no
    // process can do anything before them. look_ahead_ps: processes that are due within that time from now are passed
    // too. Where `done` is still false afterwards, the queue goes on in its turn, and the caller waits. who(): asked
    // only where others post for that time.
    void run_ahead(std::uint64_t now_ps, std::uint64_t at_ps, std::uint32_t port, caller (*who)(),
                   tla_event_action action, void *context, std::uint64_t look_ahead_ps, const bool &done);

    // Counts what comes when actions of a later time have run, and is then taken to come at the time of the latest. It
    // happens where a caller looked ahead, where a thread goes back behind the delay of its last answer, and where a
    // process acts that the kernel did not know to be due.
    struct late_figures {
        std::uint64_t late = 0;         // posts
        std::uint64_t displaced_ps = 0; // by how much, summed
        std::uint64_t worst_ps = 0;     // the most
    };
    static late_figures get_late();

    // For a caller with a clock of its own, which may be behind the kernel's: when what it does at at_ps comes. Counted
    // where that is later.
    std::uint64_t admit(std::uint64_t at_ps);

    // The time of the action that runs; else the kernel's.
    std::uint64_t now_ps() const;

    // Wakes whoever waits for `event` at at_ps (not before now_ps()), on the kernel's time.
    void notify(sc_core::sc_event &event, std::uint64_t at_ps) const;

    // The same for threads that call foreign code: those of one time are woken one after the other, that of the lower
    // caller first, each when the kernel has nothing else to do at this time.
    void notify_in_turn(sc_core::sc_event &event, std::uint64_t at_ps, caller who);

    // How far the queue may be ahead of the kernel's time in its turn, where no process is due; the largest value that
    // was asked for. 0 where somebody acts whom the kernel does not know to be due: who calls sc_start for a while,
    // looks at figures or notifies events in between, or uses async_request_update.
    void allow_quantum(std::uint64_t ps);

    // --- the host's clock ---

    // For whom it matters that nothing has moved for a long real time. `what` must not wait; it is called between two
    // actions, and forgotten with forget_watcher().
    void watch(const void *watcher, std::function<void()> what) { watchers_[watcher] = std::move(what); }
    static void forget_watcher(const void *watcher);

    // Nothing has moved: the watchers are told before the next action. `again`: and that has not helped; the simulation
    // ends with an error. From a signal handler too.
    static void nothing_moves(bool again) { still_ = again ? 2 : 1; }

    // --- islands (event_queue.h) ---

    // Modules that are constructed, and resources that are made, between the two lie on a new island.
    std::uint32_t begin_island();
    void end_island() { building_ = 0; }
    static std::uint32_t island_being_built();

    // From an action of the island: its resources have only events of their own until until_ps, that notify nobody and
    // concern no other resource, unless somebody else comes. Leaves it behind until then, if it can be left.
    void leave_until(std::uint32_t island, std::uint64_t until_ps);

    // Somebody comes to a module of the island: if that has been left, it catches up, but for a comer of its own.
    void come_to(std::uint32_t island) {
        if (island && island != acting_island_ && tla_event_queue_is_left(events_.get(), island)) catch_up(island);
    }

    // Somebody looks at what modules hold, or wants to see it at all times from now on: then no island is left any
    // more. Nothing where no module has asked for a queue.
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
    bool may_be_due_ = false; // it has been notified since it was cancelled
    std::uint64_t quantum_ps_ = 0;
    const bool *entered_ = nullptr;                 // a thread runs ahead: whether it has its answer
    std::uint64_t entered_ps_ = 0;                  // entered_: the kernel's time
    std::uint64_t entry_limit_ps_ = 0;              // entered_: before it actions run, whatever processes do
    tla_event *acting_on_ = nullptr;                // the action that runs; null: none does
    std::vector<shared_resource *> without_number_; // in the order in which they were made
    std::uint32_t next_number_ = 1;                 // of a resource
    std::uint32_t building_ = 0, acting_island_ = 0;
    bool has_driven_ = false;
    std::uint64_t driven_ps_ = 0; // when the last action ran in its turn
    unsigned depth_ = 0;          // of actions that have gone on
    late_figures late_;
    struct absence {
        time_queue *queue;
        std::uint32_t island;
        std::uint64_t until_ps;
    };
    std::deque<absence> absences_; // of each island
    std::uint32_t left_ = 0;       // islands
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
// Which of several resources acts first of what happens at one time.

// A resource, or several side by side, that accept requests in the order of time. What they are and how they are called
// decides between those of one time, and not when they were made.
class shared_resource {
  public:
    // In the order in which they act.
    enum class kind { memory, controller, translation, dma, gate, fabric, messages, foreign_target };

    // `name`: of the module, or of a part of it with a name of its own. Resources of one kind and name are the module's
    // own, and act in the order in which it makes them.
    shared_resource(kind what, std::string name, std::uint32_t count = 1);
    ~shared_resource();
    shared_resource(const shared_resource &) = delete;
    shared_resource &operator=(const shared_resource &) = delete;

    // The number of the first in the event queue; the others follow it. When one is asked for its number, all that were
    // made by then get theirs: first when all modules are there, which is when something happens. What is made later
    // comes behind.
    std::uint32_t number() const {
        if (number_ == 0) give_numbers();
        return number_;
    }

    // The resource `which` lies on this island instead of the one that was being built when it was made; before it has
    // a number.
    void put_on_island(std::uint32_t which, std::uint32_t island) { elsewhere_.emplace_back(which, island); }

  private:
    void give_numbers() const;

    time_queue &queue_;
    const kind kind_;
    const std::string name_;
    const std::uint32_t count_, island_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> elsewhere_; // which ones, and their islands
    std::uint32_t number_ = 0;                                       // 0: none yet
};

// --- Threads of one time ---
//
// Threads that arrive at one time, in the order of the event queue's ties instead of the kernel's.

// Which of the processes that are due at one time the kernel runs first is arbitrary, and differs with what else there
// is to do. Whoever arrives at a gate goes on in no time, but one after the other: by time, then by port, then by the
// name of the caller (in_order.hpp).
class arrival_gate {
    struct place {
        explicit place(arrival_gate &of) : gate(of) {}
        arrival_gate &gate;
        sc_core::sc_event go;
        bool arrived = false, left = false;
    };

  public:
    // In the gate from construction to leave(); others that have arrived wait meanwhile, so leave before you wait.
    class passage {
      public:
        passage(arrival_gate &gate, unsigned port);
        ~passage() { leave(); }
        passage(const passage &) = delete;
        passage &operator=(const passage &) = delete;

        void leave();

      private:
        place *place_; // null: has left
    };

    // `name`: of whoever has the gate.
    explicit arrival_gate(std::string name) : resource_(shared_resource::kind::gate, std::move(name)) {}

  private:
    place *new_place();
    void admit(place &arriving, std::uint64_t at_ps);
    void leave(place &leaving);

    shared_resource resource_;
    std::deque<place *> inside_; // the first goes on, the others wait
    std::vector<std::unique_ptr<place>> places_;
    std::vector<place *> idle_;
};

// --- Threads that wait for each other ---
//
// One after the other: for operations that call out of a module, where whoever is called may wait.

// Lets one operation in at a time, the others in the order in which they came. Where nobody waits inside it costs two
// pointers. Not for methods: who comes while somebody is inside waits.
class turnstile {
  public:
    // Inside from construction to destruction, which may be that of a process that is killed.
    class turn {
      public:
        explicit turn(turnstile &gate) : turn(gate, [] {}) {}
        // `joined` is called when it stands in the row, before it waits.
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

    // The calling process itself is inside: it would wait for itself.
    bool entered_by_caller() const { return first_ && first_->process_ == sc_core::sc_get_current_process_handle(); }

  private:
    turn *first_ = nullptr; // inside; those behind it wait
    sc_core::sc_event left_;
};

} // namespace tlmalloc
#endif
