// What an access says of itself, in extensions of the generic payload that every module may ignore: who makes it, and
// of which transfer, transaction or message it is a part.
#ifndef TLMALLOC_MODULES_EXTENSIONS_HPP
#define TLMALLOC_MODULES_EXTENSIONS_HPP

#include "tlmalloc/base/time_account.h"
#include "tlmalloc/fabric/fabric.h"
#include "tlmalloc/kernel/message_queue.h"
#include "tlmalloc/kernel/types.h"
#include "tlmalloc/memory/guard.h"
#include "tlmalloc/modules/systemc.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>

namespace tlmalloc {

// --- Who asks ---

// For whom a transaction is made. A payload without it comes from somebody unknown, who is never held to an address
// space, and neither is hardware that says that it is trusted: it works for all of them (a host's DMA, an MMU's walks).
// Blocks that a trusted requester allocates belong to `asid` all the same. What passes a payload on leaves the
// extension where it is; what makes a payload of its own on behalf of another copies it.
struct requester : tlm::tlm_extension<requester> {
    std::uint32_t asid = 0;      // address space, as in page tables
    std::uint32_t initiator = 0; // the platform's number of the initiator, for messages
    bool trusted = false;
    bool anonymous = false; // no address space was said: held to none, and owns nothing
    std::uint32_t privilege = 0;
    // A read that reserves its bytes for `initiator`, or a write that is made only while they are reserved for it.
    // A memory_controller keeps the reservations of what it owns; it clears the flag of a write that was not made,
    // whose response is TLM_OK_RESPONSE. Whoever keeps none refuses with TLM_COMMAND_ERROR_RESPONSE.
    bool exclusive = false;
    bool waits = false;      // the call is to wait: no action of others may run in its thread (target_socket.hpp)
    bool translated = false; // the addresses are physical already: MMUs let them pass
    // Of an access to page tables: the MMU that makes it, and for whom it does, if that was said (it lives as long as
    // the access). An MMU that such an access comes back to could only wait for itself.
    const void *walker = nullptr;
    const requester *walks_for = nullptr;

    requester() = default;
    requester(std::uint32_t space, std::uint32_t number, bool is_trusted = false)
        : asid(space), initiator(number), trusted(is_trusted) {}

    // Whether this access is one of `mmu` to its tables, or is made for one.
    bool is_walk_of(const void *mmu) const { return mmu == walker || (walks_for && walks_for->is_walk_of(mmu)); }

    tlm::tlm_extension_base *clone() const override {
        auto *const copy = new requester;
        copy->copy_from(*this);
        return copy;
    }
    void copy_from(const tlm::tlm_extension_base &other) override {
        const auto &from = static_cast<const requester &>(other);
        asid = from.asid;
        initiator = from.initiator;
        trusted = from.trusted;
        anonymous = from.anonymous;
        privilege = from.privilege;
        exclusive = from.exclusive;
        waits = from.waits;
        translated = from.translated;
        walker = from.walker;
        walks_for = from.walks_for;
    }
};

// tla_who of a payload: TLA_WHO_UNKNOWN without the extension.
inline std::uint64_t who_asks(const tlm::tlm_generic_payload &payload) {
    const requester *who = payload.get_extension<requester>();
    return who && !who->anonymous ? tla_who(who->asid, who->initiator) | (who->trusted ? TLA_WHO_TRUSTED : 0)
                                  : TLA_WHO_UNKNOWN;
}

// An exclusive access has come where nobody keeps reservations: it is answered, and true.
inline bool refuses_exclusive(tlm::tlm_generic_payload &payload) {
    const requester *who = payload.get_extension<requester>();
    if (!who || !who->exclusive) return false;
    payload.set_response_status(tlm::TLM_COMMAND_ERROR_RESPONSE);
    return true;
}

// --- By an extension of your own ---
//
// Who makes an access, and whether it is exclusive: as a platform's own extension of the payload says it.

struct access_rights {
    bool has_asid = false;  // somebody has said whose address space it is; else the access is held to none
    std::uint32_t asid = 0; // below TLA_ASID_HARDWARE
    std::uint32_t core = 0; // the initiator's number: reservations of exclusive accesses are its
    std::uint32_t privilege = 0;
    bool trusted = false;   // hardware that works for every address space
    bool exclusive = false; // of a read: reserves; of a write: made only while the reservation stands
};

// What a platform implements for its extension (VCML's sbiattr, ids of AXI), and gives to the sockets of modules:
//
//     controller.in.read_rights(rights);
//     controller.control.read_rights(rights);
//
// It must outlive them. Calls are made for each access (b_transport, the four phases, DMI; not for debug accesses) that
// has no `requester` extension yet, and must not wait.
class rights_reader {
  public:
    virtual ~rights_reader() = default;

    virtual access_rights read(const tlm::tlm_generic_payload &payload) const = 0;

    // An exclusive write was not made, since its reservation was broken. Says so in the extension and returns true: the
    // access is answered with TLM_OK_RESPONSE then, as AXI's OKAY in place of EXOKAY is. False: the extension has no
    // place for it, and the access is answered with TLM_COMMAND_ERROR_RESPONSE.
    virtual bool tell_failed(tlm::tlm_generic_payload &) const { return false; }
};

// For as long as it lives a payload has a requester extension by what a reader says; none where it has one already.
class said_requester {
  public:
    said_requester(const rights_reader &reader, std::uint32_t least_privilege, tlm::tlm_generic_payload &payload);
    ~said_requester();
    said_requester(const said_requester &) = delete;
    said_requester &operator=(const said_requester &) = delete;

    // False: the address space is none, or the privilege too low, and the payload has been answered.
    bool may_pass() const { return may_pass_; }

    // The access has been made: an exclusive write that was not is told to the reader.
    void answered();

  private:
    const rights_reader &reader_;
    tlm::tlm_generic_payload &payload_;
    requester who_;
    bool added_ = false, may_pass_ = true, exclusive_ = false;
};

// --- Transfers ---

// A transfer that is cut into several accesses (pe_dma's chunks) reaches `before` bytes in front of this one and
// `after` bytes behind it, gaps between rows included. With it a guarded memory sees a transfer that leaves its block
// between two accesses. In the addresses of the payload: what shifts all of them alike leaves it as it is, what
// translates them cuts it to what stays contiguous (pe_mmu), and what makes payloads of its own on behalf of another
// copies it.
struct transfer_extent : tlm::tlm_extension<transfer_extent> {
    std::uint64_t before = 0, after = 0;

    transfer_extent() = default;
    transfer_extent(std::uint64_t in_front, std::uint64_t behind) : before(in_front), after(behind) {}

    tlm::tlm_extension_base *clone() const override { return new transfer_extent(before, after); }
    void copy_from(const tlm::tlm_extension_base &other) override {
        const auto &from = static_cast<const transfer_extent &>(other);
        before = from.before;
        after = from.after;
    }
};

// --- Transactions ---

// The initiator's; the fabric says that the access has entered it. What makes payloads of its own on behalf of another
// hands it on. Without it an access is a transaction of its own.
struct transaction_part : tlm::tlm_extension<transaction_part> {
    tla_transaction *of = nullptr;
    bool entered = false;
    tla_access_times *times = nullptr; // who keeps accounts (time_account.h) wants to know; of a split access all parts

    transaction_part() = default;
    explicit transaction_part(tla_transaction *transaction) : of(transaction) {}

    // The access has been answered, at at_ps.
    void answered(std::uint64_t at_ps) const {
        if (of && !entered) tla_transaction_lose(of, at_ps);
    }

    // A copy outlives the transaction, perhaps, and is an access of its own.
    tlm::tlm_extension_base *clone() const override { return new transaction_part; }
    void copy_from(const tlm::tlm_extension_base &) override { *this = transaction_part(); }
};

// Where the times of an access are to be noted; null where nobody wants to know.
inline tla_access_times *times_of(const tlm::tlm_generic_payload &payload) {
    const auto *const part = payload.get_extension<transaction_part>();
    return part ? part->times : nullptr;
}

// Of the parts of a split access the last one counts.
inline void note_time(std::uint64_t &noted_ps, std::uint64_t at_ps) {
    noted_ps = std::max(noted_ps, at_ps);
}

struct destroy_transaction {
    void operator()(tla_transaction *transaction) const { tla_transaction_destroy(transaction); }
};
using transaction_ptr = std::unique_ptr<tla_transaction, destroy_transaction>;

// Null without host memory: accesses are transactions of their own then.
inline transaction_ptr new_transaction(std::uint64_t window, bool posted) {
    tla_transaction *made = nullptr;
    tla_transaction_create(window, posted, &made);
    return transaction_ptr(made);
}

// --- Messages ---

// The sender's. A write to a PE's message window (pe_ipcq.hpp) that has none is refused there. A write may come in
// several accesses, each of which brings the same token: what it says holds when its last byte is there.
struct message_token : tlm::tlm_extension<message_token> {
    enum class kind {
        piece,   // the access writes bytes of a piece
        connect, // a program wants to send: slots are to be allocated
        credit,  // slots are free
        refused, // there are no slots
        gone     // the program receives nothing any more
    };

    kind what = kind::piece;
    std::uint32_t launch = 0;       // the correlation id of the programs' launch
    std::uint32_t from = 0, to = 0; // programs: that sends this, that it is for
    tla_message_piece piece{};      // piece
    tl_dtype dtype = TL_F16;        // piece: of the elements
    std::uint64_t sent_ps = 0;      // piece, credit: when the kernel sent it; 0: it was not the kernel
    std::uint64_t number = 0;       // no piece: which write of the sender this is
    std::uint32_t nbytes = 0;       // no piece: bytes of the write
    std::uint32_t credits = 0;      // credit: how many
    // credit: of slots that were allocated, when that was asked for, served and done
    std::uint64_t asked_ps = 0, served_ps = 0, done_ps = 0;
    tla_status status = TLA_OK; // refused: of the allocation
    std::uint64_t total_free = 0, largest_free = 0;

    tlm::tlm_extension_base *clone() const override {
        auto *const copy = new message_token;
        copy->copy_from(*this);
        return copy;
    }
    void copy_from(const tlm::tlm_extension_base &other) override { *this = static_cast<const message_token &>(other); }
};

} // namespace tlmalloc
#endif
