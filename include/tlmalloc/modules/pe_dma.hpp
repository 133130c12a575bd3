// A PE's DMA engine: moves rows between virtual memory and the PE's TCM in chunks.
#ifndef TLMALLOC_MODULES_PE_DMA_HPP
#define TLMALLOC_MODULES_PE_DMA_HPP

#include "tlmalloc/base/phys_addr.h"
#include "tlmalloc/base/time_account.h"
#include "tlmalloc/config/parameters.h"
#include "tlmalloc/modules/detail/in_order.hpp"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/initiator_socket.hpp"
#include "tlmalloc/modules/instrumented.hpp"
#include "tlmalloc/modules/resettable.hpp"
#include "tlmalloc/modules/systemc.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace tlmalloc {

// The engine has one read and one write channel. A channel issues a chunk when it has issued the previous chunk (chunk
// / bandwidth) and the chunk `outstanding` places earlier is over. It processes transfers in the order in which they
// start. `out` leads to the MMU, `local` to the TCM by physical address. A reset (resettable.hpp) completes the issued
// chunks, issues no other chunk, and ends the transfer with TLA_RESET. The amount already moved is undefined; repeat
// the whole transfer.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/pe/PE_DMA.md.
class pe_dma : public instrumented, public resettable {
  public:
    struct config : tla_dma_parameters {
        config() { tla_dma_defaults(this); }
        explicit config(const tla_dma_parameters &parameters) : tla_dma_parameters(parameters) {}

        std::uint32_t initiator = 0; // own number in requester extensions
        bool overlaps = false;       // the TCM's side of a transfer takes no time of the TCM (requester::overlaps)
    };

    enum class direction { read, write }; // read: virtual memory -> TCM

    // `rows` rows of row_bytes each: at va + r * pitch in virtual memory, at tile + r * row_bytes in the TCM. Without
    // the TCM (`has_tile` false, KernBench's PeDmaMsg), a write writes bytes of `pattern`, and a read drops its bytes.
    struct request {
        direction way;
        tla_vaddr va;
        tla_paddr tile;
        std::uint64_t rows, row_bytes, pitch; // a count, and bytes; with 0 rows or row_bytes nothing moves
        bool has_tile = true;
        std::uint8_t pattern = 0;
        bool posted = false;            // a write ends when its bytes have arrived: nothing waits for answers
        bool physical = false;          // `va` is a physical address, which the MMU forwards unchanged
        message_token *token = nullptr; // travels with every chunk to memory; the caller owns it
        // For a write: called when the last byte of the tile has been read, with that time, which may lie in the
        // future. A write that fails earlier makes no call. The function must not wait.
        std::function<void(std::uint64_t at_ps)> taken{};
        // Receives the parts of the transfer's time, from its start to its end without gap or overlap. The caller owns
        // it. With null, the engine records no parts.
        std::vector<tla_time_part> *went = nullptr;
        tla_purpose purpose = TLA_PURPOSE_KERNEL; // for which memories count the accesses
    };

    struct statistics {
        std::uint64_t transfers = 0, chunks = 0, bytes_read = 0, bytes_written = 0, errors = 0;
        std::uint64_t latency_ps = 0; // sum over the chunks, from issue to end
    };

    initiator_socket<pe_dma> out{"out"};
    initiator_socket<pe_dma> local{"local"};

    // Called with every transfer that has ended: its start and end, its status, and the times of its chunks in the
    // order of issue. May be empty.
    struct outcome {
        tla_status status;
        std::vector<tla_access_times> chunks;
    };
    std::function<void(const request &what, std::uint64_t start_ps, std::uint64_t end_ps, const outcome &how)> ended;

    // Reports an error /tlmalloc/pe_dma/config if chunk, bandwidth or outstanding is 0.
    pe_dma(sc_core::sc_module_name name, const config &settings);
    ~pe_dma() override;

    // Moves everything; delay is the start of the transfer and, on return, its end. Calls wait(): call it from a
    // thread. Several threads may call at once. Returns TLA_BUS_ERROR if a transaction was answered with an error,
    // TLA_RESET if a reset has ended the transfer or is in progress, and TLA_TIMEOUT after give_up(). After a failure
    // the engine issues no further chunk; issued chunks may have moved their bytes.
    tla_status transfer(const request &what, sc_core::sc_time &delay);

    // Begins a transfer without a waiting thread, at at_ps, which is not before SystemC's time, and after a transfer()
    // of that time. The engine calls `over` once, with the status and the end, which may lie in the future; `over` must
    // not wait. Objects to which the request points must live until then. During a reset it calls `over` at once, with
    // TLA_RESET. Other errors as transfer(). The request has at least one row and one byte.
    using told_end = std::function<void(tla_status, std::uint64_t end_ps)>;
    void begin(const request &what, std::uint64_t at_ps, told_end over);

    // Ends the waits of threads in transfer() early, as a reset does, with TLA_TIMEOUT. Transfers that have begun
    // continue.
    void give_up();

    statistics get_statistics() const;
    std::vector<statistics_group> list_statistics() const override;

    // Describes transfers that concern only the modules of an island (time_queue.hpp), unless another caller arrives.
    // The queue leaves the island while such transfers continue.
    struct inland {
        std::uint32_t island = 0;
        std::function<bool(const request &what, std::uint64_t at_ps)> stays;
        // A lower bound in ps on the time of a chunk of nbytes that is not the first.
        std::function<std::uint64_t(const request &what, std::uint32_t nbytes)> least_ps;
    };
    void lie_on(inland where) { inland_ = std::move(where); }

  private:
    class mover;   // the work of a direction
    struct chunk { // its place in virtual memory and in the TCM
        std::uint64_t va, tile;
        std::uint32_t nbytes;
    };

    void start_of_simulation() override;
    void begin_reset() override;
    void make_new() override;
    bool is_busy() const override;
    tla_status move(const request &what, sc_core::sc_time &delay, std::vector<tla_access_times> *chunks);
    std::uint32_t chunk_at(std::uint64_t va, std::uint64_t left) const;
    void tell_extents(const request &transfer, const chunk &what, transfer_extent &there, transfer_extent &here) const;
    void count(direction way, bool ok, std::uint64_t start_ps, std::uint64_t end_ps, std::uint32_t nbytes);

    const config config_;
    requester &who(const request &what, bool to_memory) { return requesters_[to_memory][what.physical][what.purpose]; }

    requester requesters_[2][2][TLA_PURPOSE_COUNT]; // to the TCM, to memory; of virtual addresses, of physical ones
    std::unique_ptr<mover> movers_[2];
    inland inland_;
    outlet to_memory_, to_tcm_;
    statistics statistics_;
    figure bytes_read_{*this, "bytes_read", 64}, bytes_written_{*this, "bytes_written", 64},
        in_flight_{*this, "chunks_in_flight", 16};
};

} // namespace tlmalloc
#endif
