// A module that can be reset: by a call, by a signal at its reset input, or with the module that it is a part of.
#ifndef TLMALLOC_MODULES_RESETTABLE_HPP
#define TLMALLOC_MODULES_RESETTABLE_HPP

#include "tlmalloc/base/status.h"
#include "tlmalloc/modules/systemc.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

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
//   nobody hangs. An access that arrives before the module has worked off the last of them, or while the input is
//   active, is answered with TLM_GENERIC_ERROR_RESPONSE and touches nothing. The module has worked off an access when
//   it knows the time of the answer; the answer may be delivered later. Control ports can be read, debug accesses are
//   served.
// - DMI pointers are withdrawn at that moment; none is granted until the module is as new.
// - When nothing is under way any more, which is mostly at once, the module is as new: it answers what one answers that
//   was never used. Bytes of memories read as zero, free lists are one block, there are no mappings, nothing is queued.
//   Times are those of an idle module. What a module counts goes on, but for what its lists, channels, TLBs and walkers
//   count, which begins anew with them.
//
// A reset during a reset changes nothing. A module passes its reset on to its parts (npu, host), and to nobody else:
// who resets a module alone leaves its neighbours as they are (a pe_mmu whose tables lie in memory loses them there).
class resettable {
  public:
    reset_input reset_in{"reset_in", [this](bool level) { level ? hold(by_input) : let_go(by_input); }};

    // A pulse; where the input is active it changes nothing, and the reset lasts until the input is low. From any
    // process, or between two calls of sc_start; before the simulation runs it is an error, and changes nothing.
    void reset();

    // From the beginning of a reset until the module is as new and the input is not active.
    bool in_reset() const { return holders_ != 0 || clearing_; }

    // Returns when the module is in no reset: at once if it is in none. From a thread.
    void wait_for_reset();

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

    // Nothing that was begun is under way, and all parts are as new: everything is made anew.
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

    // A part, of this module only, which lives as long. When a reset of this module begins, one of each part does, in
    // the order in which they were named, after begin_reset() here; the parts stay in theirs until this one is over.
    // Before the simulation runs.
    void reset_with(resettable &part);

  private:
    enum holder : unsigned { by_input = 1, by_call = 2, by_whole = 4 };

    void hold(holder who);
    void let_go(holder who);
    void clear_if_idle();
    void is_over();

    std::uint64_t under_way_ = 0, resets_ = 0;
    unsigned holders_ = 0;                    // who does not let the reset end, a bit each
    bool clearing_ = false;                   // not as new yet
    bool looking_ = false;                    // a process will look whether it is idle
    std::uint64_t idle_ps_ = 0;               // when what has ended last did, also where that lies ahead
    resettable *whole_ = nullptr;             // of which it is a part
    std::vector<resettable *> parts_;         // in the order in which their resets begin
    std::unique_ptr<sc_core::sc_event> over_; // where somebody has waited for it
};

} // namespace tlmalloc
#endif
