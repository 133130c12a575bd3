// Threads that arrive at one time, in the order of the event queue's ties instead of the kernel's.
#ifndef TLMALLOC_MODULES_DETAIL_ARRIVAL_GATE_HPP
#define TLMALLOC_MODULES_DETAIL_ARRIVAL_GATE_HPP

#include "tlmalloc/modules/detail/shared_resource.hpp"
#include "tlmalloc/modules/systemc.hpp"

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tlmalloc {

// Which of the processes that are due at one time the kernel runs first is arbitrary, and differs with what else there
// is to do. Whoever arrives at a gate goes on in no time, but one after the other: by time, then by port, then by the
// name of the caller (acting_for.hpp).
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

} // namespace tlmalloc
#endif
