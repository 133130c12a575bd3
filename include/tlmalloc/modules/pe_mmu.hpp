// A PE's memory management unit: virtual addresses in, physical addresses out, mappings by command.
#ifndef TLMALLOC_MODULES_PE_MMU_HPP
#define TLMALLOC_MODULES_PE_MMU_HPP

#include "tlmalloc/config/translation.h"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/control_window.hpp"
#include "tlmalloc/modules/detail/time_queue.hpp"
#include "tlmalloc/modules/detail/transfer_extent.hpp"
#include "tlmalloc/modules/initiator_socket.hpp"
#include "tlmalloc/modules/instrumented.hpp"
#include "tlmalloc/modules/requester.hpp"
#include "tlmalloc/modules/target_socket.hpp"

#include <array>
#include <functional>
#include <memory>
#include <set>
#include <tlm_utils/simple_initiator_socket.h>

namespace tlmalloc {

class dmi_record;

// Every access through `in` costs a fixed overhead and is translated: in no further time (KernBench ADR-0039), or by
// TLB and walkers (mmu.h decides). With TLA_WALK_MEMORY every level of a walk is a read over `walk`, entries are
// written over `walk` too, and the tables' memory comes from ALLOC and FREE commands over `allocator`, to port
// `allocator_port` of the memory controller there; a FREE that is refused in spite of all retries is sent again before
// its command is done. An access to a table that comes back to `in`, straight or by way of a walk of another MMU, could
// only wait for itself: it is answered with TLM_GENERIC_ERROR_RESPONSE, and so the walk fails. (Unless whoever leads it
// back goes on in another thread with a payload of its own: it must copy the `requester` extension, as that asks for.)
// The address space of an access is that of its `requester` extension, 0 without one and of hardware that has none. An
// access whose requester says that its address is physical (`translated`) passes at once: it takes no overhead.
//
// An access that crosses pages or regions is split where the physical addresses part, and all of it is translated
// before any of it moves; one that streams over fewer bytes than it has (streaming width below the length) is split
// alike, every part with all its passes. An access with an unmapped byte is answered with TLM_ADDRESS_ERROR_RESPONSE,
// one that the mapping forbids with TLM_COMMAND_ERROR_RESPONSE; with TLA_UNMAPPED_PA_FALLBACK an unmapped byte's
// address is used as physical (KernBench's PageFault path), and counted; with TLA_UNMAPPED_DEMAND the fault goes out
// over `fault` (page_fault.hpp), and the access is made again when that is answered with OK and the mapping is visible;
// one that does not become visible (a posted MAP may be lost) is asked for once more.
// A walk that reads what the table does not say is a walk error: TLM_GENERIC_ERROR_RESPONSE. `control` takes MAP, UNMAP
// and INVALIDATE (command.h); their scope is for the va_manager and not looked at here. A command that fails changes
// nothing. An access before a MAP or UNMAP is done goes where it went before; it is counted as stale when that is a
// mapping that the command has replaced or removed. An INVALIDATE acts when it arrives.
//
// An access that says of which transfer it is a part (transfer_extent.hpp) leaves with as much of it as is contiguous
// around it in physical addresses too.
//
// `in` is approximately timed too (target_socket.hpp), and then calls b_transport on `out`. DMI is what `out` grants,
// page by page (or region by region): at virtual addresses, what the mapping permits, overhead_ps and a hit in the
// nearest TLB level added; nothing where there are several address spaces, since a pointer does not say whose it is,
// and nothing for one that does not exist. Accesses by DMI are not counted as lookups, so an unmapped address that is
// taken as physical is never granted. A MAP or UNMAP withdraws DMI for its addresses, and until it is visible nothing
// of the pages that it touches is granted; what is asked for and refused meanwhile is withdrawn when it is visible, so
// that an initiator that remembers refusals asks again. What `out` withdraws is withdrawn wherever it was granted or
// refused.
//
// Accesses are looked up in the order of their arrival, each read of a walk is made when the one
// before has brought its entry, and any number of walks may be under way. An access does not overtake one that came
// before it and is still being translated if both touch the same bytes of one address space and one of them writes; it
// does when that one waits for the host. An access whose page leads elsewhere when its walk ends than when the walk
// began is looked up again. An access that is answered with an error waits for the lookups of its own pages only.
// With TLA_WALK_MEMORY the thread of `control` makes changes: tables are given back when no walk that began before the
// change is under way, and the change is visible when its entries are written and it has taken its price. The host is
// asked about a page fault from a thread too.
//
// A reset (resettable.hpp) forgets all mappings, TLBs and walks; an access that is being translated goes on to its end,
// one that waits for the host's mapping is answered as unmapped. Blocks of tables in memory are left to the memory
// controller, which is to be reset with it: one that is not keeps them as allocated.
class pe_mmu : public instrumented,
               public resettable,
               private command_handler,
               private untimed_target,
               private in_order_target {
  public:
    struct config : tla_mmu_parameters {
        config() { tla_mmu_defaults(this); }
        explicit config(const tla_mmu_parameters &parameters) : tla_mmu_parameters(parameters) {}

        unsigned allocator_port = 0; // memory: the control port that is this MMU's
        std::uint32_t initiator = 0; // memory: its number (requester.hpp), trusted hardware that works for every asid
        unsigned outstanding = 64;   // AT: accepted requests of an initiator without END_RESP; more wait for END_REQ
        bool dmi = true;             // pass on DMI
        // How long an access waits for the mapping, once the host has answered its fault with OK: a posted
        // command is acknowledged before it is there. Then it is an error.
        std::uint64_t fault_patience_ps = 1'000'000'000;
    };

    struct statistics : command_counts {
        std::uint64_t lookups = 0;          // accesses translated
        std::uint64_t splits = 0;           // accesses that became more than one
        std::uint64_t maps = 0;             // entries mapped
        std::uint64_t unmaps = 0;           // ranges unmapped
        std::uint64_t faults = 0;           // accesses answered with an error
        std::uint64_t pa_fallbacks = 0;     // pieces whose virtual address was taken as physical
        std::uint64_t invalidates = 0;      // INVALIDATE commands
        std::uint64_t taken_back = 0;       // MAP and UNMAP commands undone, because another MMU refused them
        std::uint64_t stale_accesses = 0;   // through mappings that were gone, but not visibly
        std::uint64_t demand_faults = 0;    // faults that the host was asked about
        std::uint64_t hits = 0, misses = 0; // of the TLB
        std::uint64_t walk_errors = 0;      // walks that read what the table does not say
        std::uint64_t repeated = 0;         // lookups made again, because a change came during their walk
        std::uint64_t retries = 0;          // ALLOC and FREE commands that were sent again
        tla_walkers_stats walkers{};
        tla_page_table_stats table{};
    };

    // What an access met that is no plain translation.
    enum class trouble {
        stale,    // it went through a mapping that was gone, but not visibly
        fault,    // it was answered with an error
        fallback, // the address of a piece of it was taken as physical
        demand    // the host was asked for its page
    };
    struct troubled_access {
        trouble what;
        tla_mmu_access access; // of a demand fault the byte that was not mapped
        std::uint64_t at_ps;
    };
    // Told of every one, as statistics count them; to be set before the simulation runs. Empty: nobody is told.
    std::function<void(const troubled_access &)> troubled;

    target_socket<> in;
    initiator_socket<pe_mmu> out{"out"};
    optional_initiator_socket<tlm_utils::simple_initiator_socket<pe_mmu>> walk{"walk"};           // TLA_WALK_MEMORY
    optional_initiator_socket<tlm_utils::simple_initiator_socket<pe_mmu>> allocator{"allocator"}; // TLA_WALK_MEMORY
    optional_initiator_socket<tlm_utils::simple_initiator_socket<pe_mmu>> fault{"fault"};         // TLA_UNMAPPED_DEMAND

    control_window control;

    pe_mmu(sc_core::sc_module_name name, const config &settings);
    ~pe_mmu() override;

    statistics get_statistics() const;
    std::vector<statistics_part> list_statistics() const override;

    // Whether accesses of an address space to nbytes at va, at at_ps and afterwards, if nobody changes mappings, go to
    // physical addresses [first, first + room). access: TLA_READ | TLA_WRITE.
    bool leads_into(std::uint32_t asid, tla_vaddr va, std::uint64_t nbytes, std::uint32_t access, std::uint64_t at_ps,
                    std::uint64_t first, std::uint64_t room) const;

  private:
    struct route { // where an access goes; most are one piece, for which nothing is allocated or copied
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
    bool makes_transactions(const tla_command &) const override { return config_.walk == TLA_WALK_MEMORY; }
    bool grants_dmi() const { return config_.dmi && config_.asids == 1; }
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

    const config config_;
    std::unique_ptr<tla_mmu, void (*)(tla_mmu *)> mmu_{nullptr, tla_mmu_destroy};
    std::unique_ptr<dmi_record> dmi_told_;
    bool dmi_asked_ = false;
    std::set<std::uint64_t> dmi_refused_; // addresses, because a change was not visible yet or under way
    sc_core::sc_event window_closed_;
    requester requester_; // of walks and of commands to the allocator
    struct run {          // of a transfer: what tla_mmu_find_run said last
        tla_mmu_access transfer;
        std::uint64_t first, end;
    } run_{};
    std::uint64_t run_from_ps_ = 0; // no change is hidden from then on, so that a run may be remembered
    std::vector<tla_command> owed_; // FREEs of tables that were refused in spite of all retries
    std::unique_ptr<steps> steps_;
    statistics statistics_;
    figure lookups_{*this, "lookups", 32}, maps_in_flight_{*this, "maps_in_flight", 16},
        mapped_bytes_{*this, "mapped_bytes", 48}, faults_{*this, "faults", 32},
        pa_fallbacks_{*this, "pa_fallbacks", 32};
    const bool has_walkers_ = config_.walk != TLA_WALK_IDEAL;
    figure hits_{*this, "hits", 32, has_walkers_}, walks_in_flight_{*this, "walks_in_flight", 16, has_walkers_},
        stale_{*this, "stale_accesses", 32, has_walkers_};
};

} // namespace tlmalloc
#endif
