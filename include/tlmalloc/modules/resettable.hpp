// A module that can be reset: by a call, or by a signal at its reset input.
#ifndef TLMALLOC_MODULES_RESETTABLE_HPP
#define TLMALLOC_MODULES_RESETTABLE_HPP

#include "tlmalloc/base/status.h"
#include "tlmalloc/modules/systemc.hpp"

#include <cstdint>
#include <functional>

namespace tlmalloc {

// Active high, at every time; may stay unbound.
class reset_input : public sc_core::sc_port<sc_core::sc_signal_in_if<bool>, 1, sc_core::SC_ZERO_OR_MORE_BOUND> {
  public:
    // `changed` is called with the level, at the beginning of time and whenever it changes.
    reset_input(const char *name, std::function<void(bool)> changed);

  private:
    void end_of_elaboration() override;
    const std::function<void(bool)> changed_;
};

// What a reset does, to every module alike:
//
// - Commands: every control port that has had one answers TLA_RESET from that moment on, until the next command; what a
//   command had been given is gone. A descriptor of which only a part was written is forgotten.
// - Accesses that a module has accepted are still answered, as they would have been, so that no protocol is broken and
//   nobody hangs. Those that come before the last of them is over, or while the input is active, are answered with
//   TLM_GENERIC_ERROR_RESPONSE and touch nothing. Control ports can be read, debug accesses are served.
// - DMI pointers are withdrawn at that moment; none is granted until the module is as new.
// - When nothing is under way any more, which is mostly at once, the module is as new: it answers what one answers that
//   was never used. Bytes of memories read as zero, free lists are one block, there are no mappings, nothing is queued.
//   Times are those of an idle module. What a module counts goes on, but for what its lists, channels, TLBs and walkers
//   count, which begins anew with them.
//
// A reset during a reset changes nothing. Nothing is passed on: who resets a module alone leaves its neighbours as they
// are (a pe_mmu whose tables lie in memory loses them there); a platform's reset line is bound to all inputs.
class resettable {
  public:
    reset_input reset_in{"reset_in", [this](bool level) { level ? assert_reset() : release_reset(); }};

    // A pulse; where the input is active it changes nothing, and the reset lasts until the input is low.
    void reset();

    // From the beginning of a reset until the module is as new and the input is not active.
    bool in_reset() const { return held_ || clearing_; }

    std::uint64_t resets() const { return resets_; } // that have begun

    // Something that the module does, from construction to destruction: a reset waits for its end. Null: nobody does.
    class visit {
      public:
        explicit visit(resettable *module) : module_(module) {
            if (module_) module_->begun();
        }
        ~visit() {
            if (module_) module_->ended();
        }
        visit(const visit &) = delete;
        visit &operator=(const visit &) = delete;

      private:
        resettable *const module_;
    };

    // Answers an access that comes during a reset; false when there is none.
    bool refuses(tlm::tlm_generic_payload &payload) const {
        if (!in_reset()) return false;
        payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
        return true;
    }

  protected:
    resettable() = default;
    ~resettable() = default;

    // A reset begins: what waits is ended, pointers are withdrawn.
    virtual void begin_reset() = 0;

    // Nothing that was begun is under way: everything is made anew.
    virtual void make_new() = 0;

    // The reset is over: the module is as new, and the input is not active.
    virtual void end_reset() {}

    // Whether something is under way beside what has been said to have begun; who says yes calls may_be_idle() later.
    virtual bool is_busy() const { return false; }

    void begun() { under_way_++; }
    void ended() {
        under_way_--;
        if (clearing_) may_be_idle();
    }
    void may_be_idle();

  private:
    void assert_reset();
    void release_reset();
    void clear_if_idle();

    std::uint64_t under_way_ = 0, resets_ = 0;
    bool held_ = false;     // the input is active
    bool clearing_ = false; // not as new yet
    bool looking_ = false;  // a process will look whether it is idle
};

} // namespace tlmalloc
#endif
