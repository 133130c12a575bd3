// One after the other: for operations that call out of a module, where whoever is called may wait.
#ifndef TLMALLOC_MODULES_DETAIL_TURNSTILE_HPP
#define TLMALLOC_MODULES_DETAIL_TURNSTILE_HPP

#include "tlmalloc/modules/systemc.hpp"

namespace tlmalloc {

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
