// A PE's memory management unit: translates virtual to physical addresses; commands set the mappings.
#ifndef TLMALLOC_MODULES_PE_MMU_HPP
#define TLMALLOC_MODULES_PE_MMU_HPP

#include "tlmalloc/config/parameters.h"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/control_window.hpp"
#include "tlmalloc/modules/detail/time_queue.hpp"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/initiator_socket.hpp"
#include "tlmalloc/modules/instrumented.hpp"
#include "tlmalloc/modules/systemc.hpp"
#include "tlmalloc/modules/target_socket.hpp"
#include "tlmalloc/vm/page_table.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <tlm_utils/simple_initiator_socket.h>

namespace tlmalloc {

// --- Page faults ---
//
// The message that an MMU writes to the host, or to its memory controller, when it needs memory for an address: 16
// bytes, little-endian.

//   0   u64 virtual address of the first byte that is not mapped
//   8   u32 access (TLA_READ, TLA_WRITE; again)
//   12  u32 asid
struct page_fault {
    // Or-ed to the access: the host has already answered a fault for this byte. All mappings that the MMU has received
    // are visible, and the byte is still unmapped. A mapping that was acknowledged before it was visible may have been
    // lost on its way.
    static constexpr std::uint32_t again = std::uint32_t{1} << 31;

    std::uint64_t va;
    std::uint32_t access, asid;

    using bytes = std::array<std::uint8_t, 16>;

    bytes encode() const {
        bytes result;
        for (unsigned i = 0; i < 8; i++)
            result[i] = static_cast<std::uint8_t>(va >> 8 * i);
        for (unsigned i = 0; i < 4; i++) {
            result[8 + i] = static_cast<std::uint8_t>(access >> 8 * i);
            result[12 + i] = static_cast<std::uint8_t>(asid >> 8 * i);
        }
        return result;
    }

    static page_fault decode(const std::uint8_t *bytes) {
        page_fault result{};
        for (unsigned i = 0; i < 8; i++)
            result.va |= std::uint64_t{bytes[i]} << 8 * i;
        for (unsigned i = 0; i < 4; i++) {
            result.access |= std::uint32_t{bytes[8 + i]} << 8 * i;
            result.asid |= std::uint32_t{bytes[12 + i]} << 8 * i;
        }
        return result;
    }
};

// The message that a memory controller writes to the host when it has given a page: 32 bytes, little-endian.

//   0   u64 virtual address of the page
//   8   u64 physical address
//   16  u64 bytes
//   24  u32 asid
//   28  u32 1: mapped; 0: the block could not be freed, and the host has to free it
struct page_notice {
    std::uint64_t va, pa, nbytes;
    std::uint32_t asid;
    bool mapped;

    using bytes = std::array<std::uint8_t, 32>;

    bytes encode() const {
        bytes result;
        for (unsigned i = 0; i < 8; i++) {
            result[i] = static_cast<std::uint8_t>(va >> 8 * i);
            result[8 + i] = static_cast<std::uint8_t>(pa >> 8 * i);
            result[16 + i] = static_cast<std::uint8_t>(nbytes >> 8 * i);
        }
        for (unsigned i = 0; i < 4; i++) {
            result[24 + i] = static_cast<std::uint8_t>(asid >> 8 * i);
            result[28 + i] = static_cast<std::uint8_t>(i == 0 && mapped);
        }
        return result;
    }

    static page_notice decode(const std::uint8_t *bytes) {
        page_notice result{};
        for (unsigned i = 0; i < 8; i++) {
            result.va |= std::uint64_t{bytes[i]} << 8 * i;
            result.pa |= std::uint64_t{bytes[8 + i]} << 8 * i;
            result.nbytes |= std::uint64_t{bytes[16 + i]} << 8 * i;
        }
        for (unsigned i = 0; i < 4; i++)
            result.asid |= std::uint32_t{bytes[24 + i]} << 8 * i;
        result.mapped = bytes[28] != 0;
        return result;
    }
};

// --- The module ---

class dmi_record;
class page_marks;

// Every access through `in` costs a fixed overhead (unless its calls pay it, config::overhead_at) and is translated.
// The translation takes no further time (KernBench ADR-0039), or uses a TLB and walkers (mmu.h decides). With
// TLA_WALK_MEMORY, walks read over `walk`, and the MMU allocates tables over `allocator`. The `requester` extension
// names the address space; without it, the address space is 0.
//
// An access with an unmapped byte gets TLM_ADDRESS_ERROR_RESPONSE, and an access that the mapping forbids gets
// TLM_COMMAND_ERROR_RESPONSE. A failed walk gets TLM_GENERIC_ERROR_RESPONSE. With config::unmapped the MMU may instead
// use the address as physical, or ask the host over `fault`.
//
// `control` accepts MAP, UNMAP, REMAP, INVALIDATE and TAKE_BACK, with config::pauses also PAUSE and RESUME (command.h).
// A command that fails changes nothing. An access before a MAP, UNMAP or REMAP is done uses the old mapping. The MMU
// passes on DMI that `out` grants, page by page; a MAP or UNMAP withdraws it. A reset (resettable.hpp) forgets all
// mappings.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/translation/PE_MMU.md.
class pe_mmu : public instrumented,
               public resettable,
               private command_handler,
               private untimed_target,
               private in_order_target {
  public:
    struct config : tla_mmu_parameters {
        config() { tla_mmu_defaults(this); }
        explicit config(const tla_mmu_parameters &parameters) : tla_mmu_parameters(parameters) {}

        unsigned allocator_port = 0; // memory: this MMU's control port
        std::uint32_t initiator = 0; // memory: own number (extensions.hpp), trusted hardware that works for every asid
        // AT: accepted requests per initiator without END_RESP, at least 1; more wait for END_REQ.
        unsigned outstanding = 64;
        bool dmi = true;     // forward DMI
        bool pauses = false; // accept PAUSE and RESUME: the blocks behind its mappings may move
        // Bytes of the pages that the host evicts, a power of two, or 0: none. The MMU cuts accesses at the ends of
        // such pages, keeps their bits of use, and passes on no DMI.
        std::uint64_t evicted_page = 0;
        std::uint64_t slice_bytes = 0; // bytes of a PE's HBM slice, at whose end it cuts accesses; 0: unknown
        // How long in ps an access waits for the mapping after the host has answered its fault with OK; a posted
        // command is acknowledged before it arrives. After that time the access fails.
        std::uint64_t fault_patience_ps = 1'000'000'000;
    };

    struct statistics : command_counts {
        std::uint64_t lookups = 0;               // translated accesses
        std::uint64_t splits = 0;                // accesses that became several accesses
        std::uint64_t maps = 0;                  // entries mapped
        std::uint64_t unmaps = 0;                // ranges unmapped
        std::uint64_t faults = 0;                // accesses answered with an error
        std::uint64_t pa_fallbacks = 0;          // pieces whose virtual address was used as physical
        std::uint64_t invalidates = 0;           // INVALIDATE commands
        std::uint64_t taken_back = 0;            // MAP and UNMAP commands undone because another MMU rejected them
        std::uint64_t stale_accesses = 0;        // through removed mappings whose removal was not visible yet
        std::uint64_t demand_faults = 0;         // faults that the MMU sent
        std::uint64_t hits = 0, misses = 0;      // of the TLB; of TLB and ranges
        std::uint64_t walk_errors = 0;           // walks that read something else than the table contains
        std::uint64_t repeated = 0;              // repeated lookups, because of a change during their walk
        std::uint64_t retries = 0;               // repeated ALLOC and FREE commands
        std::uint64_t pauses = 0, remaps = 0;    // PAUSE commands, and ranges remapped
        std::uint64_t paused = 0, paused_ps = 0; // accesses that waited for a RESUME, and their time
        tla_ranges_stats ranges{};
        tla_walkers_stats walkers{};
        tla_page_table_stats table{};
    };

    // The events of an access that is not a plain translation.
    enum class trouble {
        stale,    // it used a removed mapping whose removal was not visible yet
        fault,    // it got an error
        fallback, // the address of one of its pieces was used as physical
        demand    // the MMU asked the host for its page
    };
    struct troubled_access {
        trouble what;
        tla_mmu_access access; // for a demand fault: the byte that was not mapped
        std::uint64_t at_ps;
    };
    // Called with every such event, as statistics count them. Set it before the simulation runs. If it is empty, the
    // MMU makes no call.
    std::function<void(const troubled_access &)> troubled;

    bool asks_for_pages() const { return config_.unmapped == TLA_UNMAPPED_DEMAND; }

    target_socket<> in;
    initiator_socket<pe_mmu> out{"out"};
    optional_initiator_socket<tlm_utils::simple_initiator_socket<pe_mmu>> walk{"walk"};           // TLA_WALK_MEMORY
    optional_initiator_socket<tlm_utils::simple_initiator_socket<pe_mmu>> allocator{"allocator"}; // TLA_WALK_MEMORY
    optional_initiator_socket<tlm_utils::simple_initiator_socket<pe_mmu>> fault{"fault"};         // TLA_UNMAPPED_DEMAND

    control_window control;

    // Reports an error /tlmalloc/pe_mmu/config unless page_size is a power of two from 4 KiB to 1 GiB, and for a
    // configuration that tla_mmu_create rejects. The same error reports `ports` or queue_depth out of range
    // (control_window.hpp). With TLA_WALK_MEMORY it also reports, at the start of the simulation, unbound sockets or an
    // unknown allocator_port.
    pe_mmu(sc_core::sc_module_name name, const config &settings);
    ~pe_mmu() override;

    statistics get_statistics() const;
    std::vector<statistics_group> list_statistics() const override;

    // Returns whether accesses of an address space to nbytes at va lead to `room` bytes of physical addresses from
    // `first` on. The result holds from at_ps (ps) on, until a mapping changes. access: TLA_READ, TLA_WRITE or both.
    // False for an unmapped byte, and for an access that the mapping forbids.
    bool leads_into(std::uint32_t asid, tla_vaddr va, std::uint64_t nbytes, std::uint32_t access, std::uint64_t at_ps,
                    std::uint64_t first, std::uint64_t room) const;

  private:
    struct route { // destination of an access; most are one piece, without allocation or copy
        tla_mmu_piece first;
        std::vector<tla_mmu_piece> rest;
        bool stale = false;

        std::size_t count() const { return 1 + rest.size(); }
        const tla_mmu_piece &at(std::size_t i) const { return i ? rest[i - 1] : first; }
        tla_mmu_piece &last() { return rest.empty() ? first : rest.back(); }
    };
    class steps;

    void start_of_simulation() override;
    void begin_reset() override;
    void make_new() override;
    tla_status make_front_end(tla_error *error);

    void begin(in_order_request &request, unsigned port) override;
    unsigned debug(tlm::tlm_generic_payload &payload) override;
    bool grant_dmi(unsigned input, tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) override;
    void invalidate_direct_mem_ptr(sc_dt::uint64 first, sc_dt::uint64 last);
    void withdraw_dmi(const tla_command &command);
    void refuse_until(std::uint64_t va, std::uint64_t until_ps);
    void withdraw_refusals();
    std::uint64_t execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) override;
    bool makes_transactions(const tla_command &command) const override {
        return config_.walk == TLA_WALK_MEMORY || command.opcode == TLA_OP_PAUSE || command.opcode == TLA_OP_RESUME;
    }
    bool grants_dmi() const { return config_.dmi && config_.asids == 1 && config_.evicted_page == 0; }
    std::uint64_t use_of_pages(const tla_command &command);
    bool sender_expects(const tla_command &command, tla_status error) const;
    tla_mmu_config front_end() const;
    tla_status command_allocator(tla_command &command, tla_completion &completion, std::uint64_t &at_ps);
    void write_table(tla_paddr pa, const std::uint8_t *bytes, std::uint32_t nbytes, std::uint64_t &at_ps);
    tla_status allocate_table(std::uint64_t nbytes, tla_paddr &pa, std::uint64_t &at_ps);
    void give_back_table(tla_paddr pa, std::uint64_t nbytes, std::uint64_t &at_ps);
    tla_status free_table(tla_command command, std::uint64_t &at_ps);
    void free_owed(std::uint64_t &at_ps);
    static std::uint32_t asid_of(const tlm::tlm_generic_payload &payload);
    tla_mmu_access wanted_by(const tlm::tlm_generic_payload &payload) const;
    void append(route &where, const tla_mmu_piece &found) const;
    void cut(route &where) const;
    void count(const tla_mmu_access &wanted, const route &where, std::uint64_t at_ps);
    void tell(trouble what, const tla_mmu_access &access, std::uint64_t at_ps) const {
        if (troubled) troubled({what, access, at_ps});
    }
    static void note_translation(const tlm::tlm_generic_payload &payload, const route &where, std::uint64_t at_ps);
    bool hides_dmi(const route &where) const;
    tla_status change(unsigned port, const tla_command &command, std::uint64_t &at_ps, tla_work &work,
                      tla_error &error);
    std::uint64_t complete(unsigned port, const tla_command &command, std::uint64_t arrival_ps, std::uint64_t bus_ps,
                           tla_status status, const tla_work &work, const tla_error &error);
    void refuse(tlm::tlm_generic_payload &payload, tla_status status, const sc_core::sc_time &delay);
    void show_lookup(const tla_mmu_piece &found, std::uint64_t at_ps);
    std::vector<transfer_extent> extents(const tlm::tlm_generic_payload &payload, const route &where,
                                         std::uint64_t at_ps);
    transfer_extent cut(const tla_mmu_access &transfer, std::uint64_t va, std::uint64_t nbytes, std::uint64_t at_ps);

    std::uint64_t overhead_ps() const { // of an access
        return config_.overhead_at == TLA_OVERHEAD_AT_ACCESS ? config_.overhead_ps : 0;
    }

    const config config_;
    std::unique_ptr<tla_mmu, void (*)(tla_mmu *)> mmu_{nullptr, tla_mmu_destroy};
    std::unique_ptr<dmi_record> dmi_told_;
    std::unique_ptr<page_marks> marks_;
    bool dmi_asked_ = false;
    std::set<std::uint64_t> dmi_refused_; // addresses, because a change was in flight or not visible yet
    sc_core::sc_event window_closed_;
    requester requester_; // for writes of tables and for commands to the allocator; walks have copies
    struct run {          // of a transfer: the latest result of tla_mmu_find_run
        tla_mmu_access transfer;
        std::uint64_t first, end;
    } run_{};
    std::uint64_t run_from_ps_ = 0; // from then on no change is hidden, and a run may be remembered
    std::vector<tla_command> owed_; // FREEs of tables that failed in spite of all retries
    std::unique_ptr<steps> steps_;
    statistics statistics_;
    figure lookups_{*this, "lookups", 32}, maps_in_flight_{*this, "maps_in_flight", 16},
        mapped_bytes_{*this, "mapped_bytes", 48}, faults_{*this, "faults", 32},
        pa_fallbacks_{*this, "pa_fallbacks", 32};
    const bool has_walkers_ = config_.walk != TLA_WALK_IDEAL;
    figure hits_{*this, "hits", 32, has_walkers_}, walks_in_flight_{*this, "walks_in_flight", 16, has_walkers_},
        stale_{*this, "stale_accesses", 32, has_walkers_};
    const bool has_ranges_ = has_walkers_ && config_.ranges > 0;
    figure range_hits_{*this, "range_hits", 32, has_ranges_};
    figure paused_{*this, "paused_accesses", 16, config_.pauses};
    figure page_faults_{*this, "page_faults_in_flight", 16, config_.unmapped == TLA_UNMAPPED_DEMAND};
};

} // namespace tlmalloc
#endif
