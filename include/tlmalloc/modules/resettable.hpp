// A module that can be reset: by a call, by a signal at its reset input, or with the module that contains it.
#ifndef TLMALLOC_MODULES_RESETTABLE_HPP
#define TLMALLOC_MODULES_RESETTABLE_HPP

#include "tlmalloc/base/status.h"
#include "tlmalloc/modules/systemc.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace tlmalloc {

// The reset input: active high at every time; it may stay unbound.
class reset_input : public sc_core::sc_port<sc_core::sc_signal_in_if<bool>, 1, sc_core::SC_ZERO_OR_MORE_BOUND> {
  public:
    // Calls `changed` with the level, at the beginning of time and whenever the level changes.
    reset_input(const char *name, std::function<void(bool)> changed);

  private:
    void end_of_elaboration() override;
    const std::function<void(bool)> changed_;
};

// A reset affects every module alike:
//
// - Commands: from that moment on, every control port that has received a command answers TLA_RESET until the next
//   command. The results of earlier commands are lost. The port forgets a partly written descriptor.
// - Accesses: the module still answers the accesses that it has accepted, as without the reset. No protocol is broken,
//   and no initiator hangs. An access that arrives before the last accepted access is finished, or while the input is
//   active, gets TLM_GENERIC_ERROR_RESPONSE. Such an access touches nothing. The module has finished an access when it
//   knows the time of the answer; it may deliver the answer later. Control ports can still be read, and debug accesses
//   are served.
// - DMI: the module withdraws all pointers at that moment. It grants no pointer until it is as new.
// - State: the module is as new when nothing is in flight any more, in most cases at once. It then answers as a module
//   that was never used. Bytes of memories read as zero, free lists are one block, no mapping exists, and queues are
//   empty. Times are those of an idle module. Counters continue, except those of lists, channels, TLBs and walkers,
//   which restart with these parts.
//
// A reset during a reset changes nothing. A module forwards its reset to its parts (npu, host), and to no other module.
// The reset of a single module leaves its neighbours unchanged. A pe_mmu whose tables lie in memory forgets the tables,
// and a memory_controller that is not reset keeps them allocated.
class resettable {
  public:
    reset_input reset_in{"reset_in", [this](bool level) { level ? hold(by_input) : let_go(by_input); }};

    // Makes a reset pulse. If the input is active, the pulse changes nothing, and the reset lasts until the input is
    // low. Call it from any process, or between two calls of sc_start. A call before the simulation runs is an error,
    // and changes nothing.
    void reset();

    // True from the beginning of a reset until the module is as new and the input is inactive.
    bool in_reset() const { return holders_ != 0 || clearing_; }

    // Returns when the module is in no reset; outside a reset it returns at once. Call it from a thread.
    void wait_for_reset();

    std::uint64_t resets() const { return resets_; } // number of resets that have begun

    // An activity of the module, from construction to destruction. A reset waits for its end. With null, the visit has
    // no effect.
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

    // Answers an access that arrives during a reset, and returns true. Returns false outside a reset.
    bool refuses(tlm::tlm_generic_payload &payload) const {
        if (!in_reset()) return false;
        payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
        return true;
    }

  protected:
    resettable() = default;
    ~resettable() = default;

    // Begins a reset: ends waiting operations and withdraws pointers.
    virtual void begin_reset() = 0;

    // Rebuilds the module's state. All operations that had begun are complete, and all parts are as new.
    virtual void make_new() = 0;

    // Ends the reset: the module is as new, and the input is inactive.
    virtual void end_reset() {}

    // Returns whether the module has outstanding work besides the activities of begun(). A module that returns true
    // calls may_be_idle() later.
    virtual bool is_busy() const { return false; }

    void begun() { under_way_++; }
    void ended() {
        under_way_--;
        if (clearing_) may_be_idle();
    }
    void may_be_idle();

    // Adds a part, which belongs to this module only and lives as long as it. A reset of this module resets each part,
    // in the order of these calls, after this module's begin_reset(). The parts stay in reset until this reset is over.
    // Call it before the simulation runs.
    void reset_with(resettable &part);

  private:
    enum holder : unsigned { by_input = 1, by_call = 2, by_whole = 4 };

    void hold(holder who);
    void let_go(holder who);
    void clear_if_idle();
    void is_over();

    std::uint64_t under_way_ = 0, resets_ = 0;
    unsigned holders_ = 0;                    // holders that keep the reset from ending, a bit each
    bool clearing_ = false;                   // not as new yet
    bool looking_ = false;                    // a process will check whether the module is idle
    std::uint64_t idle_ps_ = 0;               // end of the latest ended activity; it may lie in the future
    resettable *whole_ = nullptr;             // the module that contains this part
    std::vector<resettable *> parts_;         // in the order of their resets
    std::unique_ptr<sc_core::sc_event> over_; // exists once a thread has waited for it
};

} // namespace tlmalloc
#endif
