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

// One read and one write channel. A channel issues a chunk when the chunk before has been issued (chunk / bandwidth)
// and the chunk that was issued `outstanding` before it is over. It takes transfers in the order in which they start.
// `out` leads to the MMU, `local` to the TCM by physical address. A reset (resettable.hpp) completes the chunks that
// have been issued, issues no other, and ends the transfer with TLA_RESET. The amount already moved is undefined;
// repeat the whole transfer.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/pe/PE_DMA.md.
class pe_dma : public instrumented, public resettable {
  public:
    struct config : tla_dma_parameters {
        config() { tla_dma_defaults(this); }
        explicit config(const tla_dma_parameters &parameters) : tla_dma_parameters(parameters) {}

        std::uint32_t initiator = 0; // its number in requester extensions
    };

    enum class direction { read, write }; // read: virtual memory -> TCM

    // `rows` rows of row_bytes each: va + r * pitch in virtual memory, tile + r * row_bytes in the TCM. Without the TCM
    // (`has_tile` false, KernBench's PeDmaMsg) bytes of `pattern` are written, and what is read is dropped.
    struct request {
        direction way;
        tla_vaddr va;
        tla_paddr tile;
        std::uint64_t rows, row_bytes, pitch;
        bool has_tile = true;
        std::uint8_t pattern = 0;
        bool physical = false;          // `va` is a physical address, which the MMU lets pass
        message_token *token = nullptr; // what travels with every chunk to memory; the caller's
        // Of a write, told when the last byte of the tile has been read, which may lie ahead; not of one that fails
        // before. Must not wait.
        std::function<void(std::uint64_t at_ps)> taken{};
        // Where its time went is added, from its start to its end without gap or overlap; the caller's. Null: nobody
        // wants to know.
        std::vector<tla_time_part> *went = nullptr;
    };

    struct statistics {
        std::uint64_t transfers = 0, chunks = 0, bytes_read = 0, bytes_written = 0, errors = 0;
        std::uint64_t latency_ps = 0; // sum over the chunks, from issue to end
    };

    initiator_socket<pe_dma> out{"out"};
    initiator_socket<pe_dma> local{"local"};

    // Told of every transfer that has ended, if anybody wants to know: when it started and ended, how, and what its
    // chunks have met, in the order of issue.
    struct outcome {
        tla_status status;
        std::vector<tla_access_times> chunks;
    };
    std::function<void(const request &what, std::uint64_t start_ps, std::uint64_t end_ps, const outcome &how)> ended;

    pe_dma(sc_core::sc_module_name name, const config &settings);
    ~pe_dma() override;

    // Moves everything; delay is where the transfer starts and, on return, where it ends. Calls wait(): from a thread,
    // and from several at once if need be. TLA_BUS_ERROR when a transaction was answered with an error; no further
    // chunk is issued then. TLA_RESET when a reset has ended it.
    tla_status transfer(const request &what, sc_core::sc_time &delay);

    // The same without a thread that waits: begins at at_ps, not before SystemC's time, behind a transfer() of that
    // time. `over` is told once of the status and of the end, which may lie ahead; it must not wait. What the request
    // points to lives until then.
    using told_end = std::function<void(tla_status, std::uint64_t end_ps)>;
    void begin(const request &what, std::uint64_t at_ps, told_end over);

    // What threads wait for in transfer() ends early, as in a reset, with TLA_TIMEOUT. What was begun goes on.
    void give_up();

    statistics get_statistics() const;
    std::vector<statistics_group> list_statistics() const override;

    // Which transfers concern nobody but the modules of an island (time_queue.hpp), unless somebody comes: the
    // island is left while they go on.
    struct inland {
        std::uint32_t island = 0;
        std::function<bool(const request &what, std::uint64_t at_ps)> stays;
        // At least what a chunk takes that is not the first.
        std::function<std::uint64_t(const request &what, std::uint32_t nbytes)> least_ps;
    };
    void lie_on(inland where) { inland_ = std::move(where); }

  private:
    class mover;   // what a direction has to do
    struct chunk { // where it is in virtual memory and in the TCM
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
    requester &who(const request &what) { return what.physical ? physical_ : requester_; }

    requester requester_, physical_;
    std::unique_ptr<mover> movers_[2];
    inland inland_;
    outlet to_memory_, to_tcm_;
    statistics statistics_;
    figure bytes_read_{*this, "bytes_read", 64}, bytes_written_{*this, "bytes_written", 64},
        in_flight_{*this, "chunks_in_flight", 16};
};

} // namespace tlmalloc
#endif
