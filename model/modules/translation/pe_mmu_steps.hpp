// The work of a pe_mmu in time: accesses and commands that take their time step by step (mmu.h).
#ifndef TLMALLOC_MODULES_TRANSLATION_PE_MMU_STEPS_HPP
#define TLMALLOC_MODULES_TRANSLATION_PE_MMU_STEPS_HPP

#include "split_access.hpp"
#include "tlmalloc/modules/detail/in_order.hpp"
#include "tlmalloc/modules/detail/time_queue.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"
#include "tlmalloc/vm/pauses.h"

#include <deque>
#include <memory>
#include <vector>

namespace tlmalloc {

class pe_mmu::steps final : private in_order_request::holder {
  public:
    explicit steps(pe_mmu &mmu);

    void lead_on(); // where the sockets lead: once they are bound
    void begin(in_order_request &request, unsigned port);
    void end_waiting();                     // a reset begins
    void make_new();                        // and ends
    void changed(std::uint64_t visible_ps); // mappings, as can be seen from then on
    // With the tables in memory, the calling thread waits. at_ps: when it begins, and when it has ended.
    tla_status change(unsigned port, const tla_command &command, std::uint64_t &at_ps, tla_work &work,
                      tla_error &error);
    // The calling thread waits: from at_ps for the price of the command, and pause() then until the accesses before it
    // have left. pause() adds the latter to at_ps.
    tla_status pause(const tla_command &command, std::uint64_t &at_ps, tla_error &error);
    tla_status resume(const tla_command &command, std::uint64_t at_ps, tla_error &error);
    void end_pauses(); // all: a reset begins
    // Whether direct pointers to the bytes are denied because of a pause.
    bool is_paused(std::uint32_t asid, std::uint64_t va, std::uint64_t nbytes) const {
        return pauses_ && tla_pauses_cover(pauses_.get(), asid, {va}, nbytes);
    }

  private:
    struct translation;

    // An access from its arrival to its answer, where accesses can be paused.
    struct visit {
        steps *owner = nullptr;
        in_order_request *request = nullptr;
        translation *again = nullptr; // it waits with its translation: the host has served its fault
        bool inside = false;          // or waits to be; not while the host is asked
        std::uint64_t arrived_ps = 0;
        tla_passage passage{};
    };

    // A request to the MMU for the front of what is left of an access, and the transactions made for it: the reads of
    // its walk, then, of an access that is split, its piece.
    struct part {
        translation *of = nullptr;
        part *after = nullptr; // the next in the order of addresses
        tla_mmu_request lookup{};
        in_order_request request;
        lent_payload payload;
        requester who;                   // of a read of a walk
        std::vector<std::uint8_t> bytes; // the same
        access_part piece;
        transfer_extent extent;
    };

    // An access that is being translated, or whose pieces are on their way.
    struct translation {
        steps *owner = nullptr;
        in_order_request *request = nullptr; // while it is here
        visit *of = nullptr;                 // where accesses can be paused
        tla_mmu_access wanted{};
        part *first = nullptr;
        std::size_t open = 0; // parts that are not done, then pieces that are not answered
        std::uint64_t end_ps = 0;
        tlm::tlm_response_status response = tlm::TLM_OK_RESPONSE;
        route where;
        translation *earlier = nullptr, *later = nullptr; // in the order of arrival, until they move on
        bool held = false;                                // translated, behind an earlier one
        bool asked = false;                               // the host, because of byte asked_va
        bool served = false, asked_again = false;
        std::uint64_t asked_va = 0, patience_ps = 0;
        in_order_request fault;
        tlm::tlm_generic_payload fault_payload;
        page_fault::bytes fault_record{};
    };

    bool cut_at_pages(in_order_request &request, unsigned port);
    void arrive(in_order_request &request);
    void take(in_order_request &request, visit *of, std::uint64_t at_ps);
    void payload_goes(in_order_request &request) override;
    void translate(translation &j, std::uint64_t at_ps);
    part &look_up(translation &j, part *before, std::uint64_t offset, std::uint64_t nbytes, std::uint64_t at_ps);
    void add_rest(part &from, std::uint64_t at_ps);
    void go_on(part &p, std::uint64_t now_ps);
    void step(part &p, std::uint64_t now_ps, const void *bytes);
    void tell_news(std::uint64_t now_ps);
    void show_walks(std::uint64_t now_ps);
    void read(part &p);
    void finish_part(part &p);
    void settle(translation &j);
    void move_on(translation &j, std::uint64_t now_ps);
    bool is_behind(const translation &j) const;
    std::uint64_t sent_before(const translation &j, std::uint64_t now_ps);
    void enter_order(translation &j);
    void leave_order(translation &j);
    void release_held(std::uint64_t now_ps);
    bool ask_host(translation &j, std::uint64_t va);
    bool is_mapped(const translation &j, std::uint64_t at_ps) const;
    void host_answered(translation &j, std::uint64_t at_ps);
    bool wait_for_change(translation &j);
    void lose_patience(std::uint64_t at_ps);
    static void note_fault_is_over(const translation &j, std::uint64_t at_ps);
    void retry(translation &j, std::uint64_t at_ps);
    std::uint64_t price_of_nothing() const;
    bool enter(visit &of, std::uint64_t at_ps);
    visit *begin_visit(in_order_request &request);
    void leave(visit &of, std::uint64_t at_ps);
    void end_visit(visit &of, std::uint64_t at_ps);
    void let_in_by_queue();
    void let_in(std::uint64_t at_ps);
    void pass_on(translation &j);
    bool may_be_cut(translation &j);
    part &begin_piece(translation &j, part *before, std::uint64_t offset, std::uint64_t nbytes, tla_paddr at,
                      const transfer_extent *extent, std::uint64_t at_ps);
    void pass_on_pieces(translation &j);
    void end_piece(part &p);
    void answer(translation &j);

    void perform(const tla_mmu_bus_work &todo);
    static void wait_until(std::uint64_t at_ps);

    translation &new_translation();
    part &new_part(translation &j, part *before);
    void recycle_parts(translation &j);
    void recycle(translation &j);

    pe_mmu &mmu_;
    outlet out_, walk_, fault_;
    shared_resource resource_;
    std::deque<translation> translations_; // all there ever were
    std::deque<part> parts_;
    std::vector<translation *> idle_translations_;
    std::vector<part *> idle_parts_;
    std::vector<translation *> waiting_;             // for a mapping that the host has promised
    translation *first_ = nullptr, *last_ = nullptr; // that have arrived and not moved on
    std::size_t writes_ = 0, held_ = 0;              // among them
    struct leaving {
        tla_mmu_access what;
        std::uint64_t at_ps;
    };
    std::deque<leaving> sent_; // that leave at times which lie ahead
    std::unique_ptr<tla_pauses, void (*)(tla_pauses *)> pauses_{nullptr, tla_pauses_destroy}; // or null
    std::deque<visit> visits_;                                                                // all there ever were
    std::vector<visit *> idle_visits_;
    const tla_command *pausing_ = nullptr; // the PAUSE that waits until accesses have left
    sc_core::sc_event drained_;
    sc_core::sc_event walk_ended_;
    bool draining_ = false;
    std::uint32_t walks_shown_ = 0;
};

} // namespace tlmalloc
#endif
