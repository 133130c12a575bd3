// One direction of a PE's DMA: transfers one at a time, in the order in which they were asked for.
#ifndef TLMALLOC_MODULES_PE_TRANSFER_QUEUE_HPP
#define TLMALLOC_MODULES_PE_TRANSFER_QUEUE_HPP

#include "tlmalloc/modules/pe_dma.hpp"
#include "tlmalloc/modules/processing_element.hpp"

#include <deque>
#include <functional>
#include <vector>

namespace tlmalloc {

// A transfer occupies its engine until its last byte has arrived; the next transfer begins then. A thread that waits
// for its transfer, and finds the engine free, moves it itself. A thread of the queue moves everything else; it is
// created with the first transfer without a waiting thread.
class transfer_queue {
  public:
    using requests = std::vector<pe_dma::request>; // of one transfer, moved one after the other

    struct queued_transfer {
        requests what{};
        std::uint64_t asked_ps = 0; // it begins no earlier
        tla_status status = TLA_OK;
        std::uint64_t begin_ps = 0, end_ps = 0;
        bool done = false;
        std::function<void()> ended{}; // called when it is done; must not wait
        bool tells = false;
        std::vector<tla_time_part> went{}; // if wanted: from begin_ps to end_ps, back to back
    };

    // Where the last of the bytes in virtual memory ends.
    static std::uint64_t end_of(const requests &what);

    // `quantum_ps`: how far the queue's thread may be ahead of the SystemC kernel. `load` counts the work of the
    // engine.
    transfer_queue(pe_dma &dma, std::uint64_t quantum_ps, unit_load &load)
        : dma_(dma), quantum_ps_(quantum_ps), load_(load) {}

    // Moves everything after the earlier transfers, and waits for it; delay is the time of the call and, on return, the
    // end. TLA_BUS_ERROR as pe_dma::transfer: no further part is moved. Adds the parts of the transfer's time, from its
    // begin on, to `went` unless it is null.
    tla_status move(const requests &what, sc_core::sc_time &delay, std::vector<tla_time_part> *went = nullptr);

    // Adds a transfer, which is moved in its turn and lives until it is done. Its functions are called at once, also
    // for an end that lies ahead of the SystemC kernel.
    void post(queued_transfer &what);

    // Drops transfers that have not begun: they are done with `status`.
    void drop_waiting(tla_status status);

    // The kernel's time is over: the transfer for which it waits issues no further chunk (pe_dma::give_up), and no
    // waiting transfer begins.
    void give_up();

    // Waits until a queued_transfer is done.
    void wait_for(const queued_transfer &what);

    bool is_idle() const { return !moving_ && queued_.empty(); }
    std::uint64_t free_ps() const { return free_ps_; } // when the last transfer that has been moved ended

  private:
    void serve();
    void finish(queued_transfer &what, tla_status status, std::uint64_t end_ps);
    tla_status move_all(const requests &what, sc_core::sc_time &delay, std::vector<tla_time_part> *went);

    pe_dma &dma_;
    const std::uint64_t quantum_ps_;
    unit_load &load_;
    std::deque<queued_transfer *> queued_;
    bool moving_ = false, has_thread_ = false;
    std::uint64_t free_ps_ = 0;
    sc_core::sc_event posted_, done_;
};

} // namespace tlmalloc
#endif
