// A kernel that runs on a PE: its arguments, its current call, and its end.
#ifndef TLMALLOC_MODULES_PE_KERNEL_PROGRAM_HPP
#define TLMALLOC_MODULES_PE_KERNEL_PROGRAM_HPP

#include "kernel_stack.hpp"
#include "tlmalloc/modules/processing_element.hpp"

#include <atomic>
#include <string>

namespace tlmalloc {

// The kernel's tl_context, and the implementation of its table. A call first copies the objects to which the kernel's
// pointers lead, as code of the kernel, so that an invalid pointer is a fault of the kernel. Then the element works.
class kernel_program : public tl_context {
  public:
    kernel_program(processing_element &element, kernel_stack &stack);

    // Runs the kernel to its end; its status, or TLA_CRASHED or TLA_TIMEOUT with the element's problem in words.
    tla_status run(tl_kernel kernel, std::uint64_t host_limit_ps);
    bool was_ended() const { return ended_; }

    // The program that a context is, in a call that has this name and counts.
    static kernel_program &in_call(tl_context *context, const char *name) {
        auto &program = *static_cast<kernel_program *>(context);
        program.call_ = name;
        program.calls_made_ = program.calls_made_ + 1;
        program.in_call_ = true;
        std::atomic_signal_fence(std::memory_order_seq_cst); // a fault behind this is one of the call
        return program;
    }

    // The element's part of the call, with copied arguments. The kernel ends here when its time is over.
    template <typename Work>
    tla_status outside(Work work) {
        stack_.leave();
        element_.call_ = call_;
        const tla_status status = element_.in_words(work);
        if (status && status != TLA_DEADLOCK) element_.note_failed_call();
        const bool in_reset = element_.in_reset();
        if (status == TLA_DEADLOCK) wanted_ = status;
        if (in_reset) wanted_ = element_.fail(TLA_RESET, tla_status_text(TLA_RESET));
        if (status == TLA_DEADLOCK || in_reset || element_.is_over_time()) stack_.stop();
        stack_.enter(call_, calls_made_);
        return status;
    }

    // The kernel ends with a status that it has asked for; not TLA_OK. Does not return.
    void end(tla_status status, const char *why);

    // The call is over.
    tla_status back(tla_status status) {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        in_call_ = false;
        return status;
    }

    const processing_element &element() const { return element_; }

  private:
    tla_status say(const kernel_stack::outcome &outcome);
    std::string place() const;

    processing_element &element_;
    kernel_stack &stack_;
    const char *volatile call_ = nullptr; // the last one
    volatile std::uint64_t calls_made_ = 0;
    volatile bool in_call_ = false;
    bool ended_ = false;
    tla_status wanted_ = TLA_OK; // by a kernel that has ended itself in a call
};

} // namespace tlmalloc
#endif
