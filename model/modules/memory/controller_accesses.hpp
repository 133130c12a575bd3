// The accesses that arrive at a memory controller: forwarding by address, guard, exclusive accesses, DMI.
#ifndef TLMALLOC_MODEL_MODULES_MEMORY_CONTROLLER_ACCESSES_HPP
#define TLMALLOC_MODEL_MODULES_MEMORY_CONTROLLER_ACCESSES_HPP

#include "memory/exclusive_monitor.h"
#include "tlmalloc/modules/detail/in_order.hpp"
#include "tlmalloc/modules/detail/time_queue.hpp"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/memory_controller.hpp"

#include <list>

namespace tlmalloc {

class memory_controller::accesses final : public untimed_target, public in_order_target {
  public:
    explicit accesses(memory_controller &of) : of_(of) {}
    accesses(const accesses &) = delete;
    accesses &operator=(const accesses &) = delete;
    ~accesses();

    // To the sockets, when the controller has them.
    void connect();

    // At the start of the simulation: rejects the configuration if a memory is missing or too small.
    void find_memories();

    // These bytes of a block are free again: pointers to them are withdrawn, reservations end.
    void released(tla_memory_kind kind, std::uint64_t offset, std::uint64_t nbytes);

    // A block begins to move: pointers to its bytes are withdrawn. Pointers to its memory are refused meanwhile.
    void moves(tla_memory_kind kind, std::uint64_t offset, std::uint64_t nbytes);
    // It has moved: if no other block moves, who was refused a pointer may ask again.
    void moved();
    // Bytes of a memory are written, or free, or another block's.
    void break_reservations(tla_memory_kind kind, std::uint64_t offset, std::uint64_t nbytes);
    bool is_reserved(tla_memory_kind kind, std::uint64_t offset, std::uint64_t nbytes) const;
    outlet &to_memory(tla_memory_kind kind) { return to_memory_[kind]; }

    void begin_reset();
    void make_new();

    memory_socket &socket_of(tla_memory_kind kind);
    std::uint64_t base(tla_memory_kind kind) const; // physical address of its first byte
    std::uint64_t data_errors() const { return data_errors_; }

    // Accesses that the guard found wrong, of one memory.
    struct guard_counts {
        std::uint64_t use_after_free = 0, out_of_bounds = 0, not_owner = 0, never_written = 0;
    };
    const guard_counts &wrong(tla_memory_kind kind) const { return wrong_[kind]; }

  private:
    struct place { // where an access goes
        tla_memory_kind memory;
        std::uint64_t offset;
    };
    class write_under_way;
    struct passed_on { // an access as it arrived
        std::uint64_t address;
        place where;
        bool exclusive;
        bool noted;             // as in flight, for the pace of pins
        write_under_way *write; // of a write to a memory that makes callers wait
    };
    struct held { // an access behind an exclusive write
        place where;
        std::uint64_t nbytes;
        in_order_request *request;
        unsigned input;
        bool to_note;
    };

    void begin(in_order_request &request, unsigned port) override;
    unsigned debug(tlm::tlm_generic_payload &payload) override;
    bool grant_dmi(unsigned input, tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) override;
    void arrive_in_turn(in_order_request &request); // for accesses in order of arrival
    // In one piece with begin(): most accesses pass all three at once.
    [[gnu::always_inline]] void arrive(in_order_request &request, unsigned input, requester *who);
    [[gnu::always_inline]] void go_on(in_order_request &request, unsigned input, const place &where, bool to_note,
                                      requester *who);
    void end_write(in_order_request &request, passed_on what);
    void go_on_behind_exclusive_writes(std::uint64_t at_ps);
    bool locate(tlm::tlm_generic_payload &payload, place &where);
    static passed_on pass_on(tlm::tlm_generic_payload &payload, const place &where, requester *who);
    bool is_noted(tla_memory_kind kind, std::uint64_t at_ps);
    void came_back(tlm::tlm_generic_payload &payload, const passed_on &what);
    bool answers_exclusive(tlm::tlm_generic_payload &payload, const place &where, requester &who);
    void drop_reservation(std::uint32_t core);
    void not_made(const tlm::tlm_generic_payload &payload);
    void offer_unreserved(tla_memory_kind kind);
    bool is_being_written(tla_memory_kind kind, std::uint64_t first, std::uint64_t last, bool exclusively) const;
    bool has_to_wait(const place &where, std::uint64_t nbytes, bool write) const;
    bool arrives_in_order(const in_order_request &request, const requester *who);
    void invalidate(int kind, sc_dt::uint64 first, sc_dt::uint64 last);
    bool guard_refuses(const place &where, tlm::tlm_generic_payload &payload, std::uint64_t at_ps, bool &to_note);
    tla_guard_access guarded_access(const tlm::tlm_generic_payload &payload, const place &where,
                                    std::uint64_t at_ps) const;
    void note(const place &where, const tlm::tlm_generic_payload &payload, std::uint64_t at_ps);
    void note_debug_write(tla_memory_kind kind, std::uint64_t offset, std::uint64_t nbytes);
    void poison(tla_memory_kind kind, std::uint64_t offset, std::uint64_t nbytes);
    void check_size(tla_memory_kind kind);
    bool is_guarded() const { return of_.config_.guard != TLA_GUARD_OFF; }
    tla_pe_memory *memory() const { return tla_controller_memory(of_.core_.get()); }
    std::uint64_t bytes_of(tla_memory_kind kind) const { return tla_pe_memory_bytes(&of_.config_.memory, kind); }

    memory_controller &of_;
    outlet to_memory_[TLA_MEMORY_KIND_COUNT];
    shared_resource resource_{shared_resource::kind::controller, of_.name()};
    tla_exclusive_monitor monitors_[TLA_MEMORY_KIND_COUNT]{};
    bool reserved_refused_[TLA_MEMORY_KIND_COUNT]{}; // an initiator may remember that DMI was declined for a
                                                     // reservation there
    write_under_way *writes_ = nullptr;              // of callers who wait for their memory
    std::list<held> held_;                           // in the order of their arrival
    bool paces_ = false;                             // pins wait for accesses
    bool keeps_order_ = false;                       // an exclusive access has come
    std::uint64_t written_until_ps_ = 0;             // when the latest write comes that came before it
    bool dmi_granted_ = false;                       // somebody may hold a pointer
    bool moving_refused_ = false;                    // somebody may remember that one was refused for a move
    std::uint64_t slice_base_ = 0;                   // physical address of the slice's first byte, if there is one
    std::uint64_t data_errors_ = 0;
    guard_counts wrong_[TLA_MEMORY_KIND_COUNT];
};

} // namespace tlmalloc
#endif
