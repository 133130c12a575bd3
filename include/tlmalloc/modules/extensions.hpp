// Extensions of the generic payload that describe an access: its initiator, and its transfer, transaction or message.
// Every module may ignore these extensions.
#ifndef TLMALLOC_MODULES_EXTENSIONS_HPP
#define TLMALLOC_MODULES_EXTENSIONS_HPP

#include "tlmalloc/base/purpose.h"
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

// --- Requesters ---

// The initiator on whose behalf a transaction is made. A payload without this extension comes from an unknown
// initiator, which no address space restricts. Trusted hardware is not restricted either: it works for all address
// spaces (a host's DMA, an MMU's walks). Blocks that a trusted requester allocates still belong to `asid`. A module
// that forwards a payload leaves the extension in place. A module that makes its own payload on behalf of another
// initiator copies the extension.
struct requester : tlm::tlm_extension<requester> {
    std::uint32_t asid = 0;      // address space, as in page tables, at most TLA_ASID_HARDWARE (guard.h)
    std::uint32_t initiator = 0; // the platform's number of the initiator, for messages
    bool trusted = false;
    bool anonymous = false; // no address space is known: restricted to none, and owns nothing
    std::uint32_t privilege = 0;
    // A read that reserves its bytes for `initiator`, or a write that is executed only while `initiator` holds the
    // reservation. A memory_controller keeps the reservations of its memories. It clears the flag of a write that it
    // did not execute, and answers TLM_OK_RESPONSE. A target without reservations rejects the access with
    // TLM_COMMAND_ERROR_RESPONSE.
    bool exclusive = false;
    bool waits = false;      // the call must wait: no other action may run in its thread (target_socket.hpp)
    bool translated = false; // the addresses are physical: MMUs forward them unchanged
    // The bytes pass a TCM while they travel (links.transport once): the access takes nothing of its channels' time.
    bool overlaps = false;
    tla_purpose purpose = TLA_PURPOSE_KERNEL; // for which memories count the access
    // For an access to page tables: the MMU that makes it, and the requester for whom the MMU works, if known. The
    // requester lives as long as the access. An MMU that receives its own access again could only wait for itself.
    const void *walker = nullptr;
    const requester *walks_for = nullptr;

    requester() = default;
    requester(std::uint32_t space, std::uint32_t number, bool is_trusted = false)
        : asid(space), initiator(number), trusted(is_trusted) {}

    // True if `mmu` makes this access to its tables, or if the access serves such an access.
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
        overlaps = from.overlaps;
        purpose = from.purpose;
        walker = from.walker;
        walks_for = from.walks_for;
    }
};

// tla_who of a payload; TLA_WHO_UNKNOWN without the extension.
inline std::uint64_t who_asks(const tlm::tlm_generic_payload &payload) {
    const requester *who = payload.get_extension<requester>();
    return who && !who->anonymous ? tla_who(who->asid, who->initiator) | (who->trusted ? TLA_WHO_TRUSTED : 0)
                                  : TLA_WHO_UNKNOWN;
}

// The purpose of an access; without the extension a kernel's.
inline tla_purpose purpose_of(const tlm::tlm_generic_payload &payload) {
    const requester *who = payload.get_extension<requester>();
    return who ? who->purpose : TLA_PURPOSE_KERNEL;
}

// Rejects an exclusive access at a target without reservations: answers the access and returns true.
inline bool refuses_exclusive(tlm::tlm_generic_payload &payload) {
    const requester *who = payload.get_extension<requester>();
    if (!who || !who->exclusive) return false;
    payload.set_response_status(tlm::TLM_COMMAND_ERROR_RESPONSE);
    return true;
}

// --- Extensions of your own ---
//
// The initiator of an access, and its exclusiveness, as a platform's own extension of the payload describes them.

struct access_rights {
    bool has_asid = false;  // the address space is known; otherwise no address space restricts the access
    std::uint32_t asid = 0; // below TLA_ASID_HARDWARE
    std::uint32_t core = 0; // the initiator's number, which owns reservations of exclusive accesses
    std::uint32_t privilege = 0;
    bool trusted = false;   // hardware that works for every address space
    bool exclusive = false; // a read reserves; a write is executed only while the reservation stands
};

// The interface that a platform implements for its extension (VCML's sbiattr, ids of AXI), and passes to the sockets of
// modules:
//
//     controller.in.read_rights(rights);
//     controller.control.read_rights(rights);
//
// The reader must outlive the sockets. A socket calls it for each access (b_transport, the four phases, DMI; not for
// debug accesses) without a `requester` extension. The reader must not wait.
class rights_reader {
  public:
    virtual ~rights_reader() = default;

    virtual access_rights read(const tlm::tlm_generic_payload &payload) const = 0;

    // An exclusive write was not executed, because its reservation was broken. The reader records this in the extension
    // and returns true; the access gets TLM_OK_RESPONSE, as AXI answers OKAY instead of EXOKAY. False: the extension
    // cannot record it, and the access gets TLM_COMMAND_ERROR_RESPONSE.
    virtual bool tell_failed(tlm::tlm_generic_payload &) const { return false; }
};

// Adds a requester extension from a reader to a payload, for its own lifetime. A payload that has the extension keeps
// it.
class said_requester {
  public:
    said_requester(const rights_reader &reader, std::uint32_t least_privilege, tlm::tlm_generic_payload &payload);
    ~said_requester();
    said_requester(const said_requester &) = delete;
    said_requester &operator=(const said_requester &) = delete;

    // False: the address space is invalid, or the privilege too low, and the payload has its answer.
    bool may_pass() const { return may_pass_; }

    // The access has returned: reports to the reader an exclusive write that was not executed.
    void answered();

  private:
    const rights_reader &reader_;
    tlm::tlm_generic_payload &payload_;
    requester who_;
    bool added_ = false, may_pass_ = true, exclusive_ = false;
};

// --- Transfers ---

// A transfer may be cut into several accesses (pe_dma's chunks). It reaches `before` bytes in front of this access and
// `after` bytes after it, gaps between rows included. A guarded memory thereby detects a transfer that leaves its block
// between two accesses. The addresses are the payload's. A module that shifts all addresses alike leaves the extension
// unchanged. A module that translates addresses (pe_mmu) cuts it to the contiguous part. A module that makes its own
// payloads on behalf of another initiator copies it.
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

// The initiator owns the transaction, which outlives its accesses. The fabric records that the access has entered the
// fabric. A module that makes its own payloads on behalf of another initiator passes the extension on. Without the
// extension, an access is a transaction of its own.
struct transaction_part : tlm::tlm_extension<transaction_part> {
    tla_transaction *of = nullptr;
    bool entered = false;
    tla_access_times *times = nullptr; // for accounts (time_account.h), or null; a split access notes all parts

    transaction_part() = default;
    explicit transaction_part(tla_transaction *transaction) : of(transaction) {}

    // Records that the access was answered at at_ps.
    void answered(std::uint64_t at_ps) const {
        if (of && !entered) tla_transaction_lose(of, at_ps);
    }

    // A copy may outlive the transaction, and is an access of its own.
    tlm::tlm_extension_base *clone() const override { return new transaction_part; }
    void copy_from(const tlm::tlm_extension_base &) override { *this = transaction_part(); }
};

// The destination for the times of an access; null if no account is kept.
inline tla_access_times *times_of(const tlm::tlm_generic_payload &payload) {
    const auto *const part = payload.get_extension<transaction_part>();
    return part ? part->times : nullptr;
}

// In a split access, the last part counts.
inline void note_time(std::uint64_t &noted_ps, std::uint64_t at_ps) {
    noted_ps = std::max(noted_ps, at_ps);
}

struct destroy_transaction {
    void operator()(tla_transaction *transaction) const { tla_transaction_destroy(transaction); }
};
using transaction_ptr = std::unique_ptr<tla_transaction, destroy_transaction>;

// Creates a transaction, as tla_transaction_create (fabric.h). Returns null for a window of 0, and without host memory:
// each access is then a transaction of its own.
inline transaction_ptr new_transaction(std::uint64_t window, bool posted) {
    tla_transaction *made = nullptr;
    tla_transaction_create(window, posted, &made);
    return transaction_ptr(made);
}

// --- Messages ---

// The sender owns the token, which outlives its writes. A PE's message window (pe_ipcq.hpp) rejects a write without a
// token. A write may arrive in several accesses with the same token; the token takes effect when the last byte has
// arrived.
struct message_token : tlm::tlm_extension<message_token> {
    enum class kind {
        piece,   // the access writes bytes of a piece
        connect, // a program wants to send: the receiver must allocate slots
        credit,  // slots are free
        refused, // no slots were allocated
        gone     // the program receives nothing any more
    };

    kind what = kind::piece;
    std::uint32_t launch = 0;       // the correlation id of the programs' launch
    std::uint32_t from = 0, to = 0; // programs: sender and receiver
    tla_message_piece piece{};      // piece
    tl_dtype dtype = TL_F16;        // piece: of the elements
    std::uint64_t sent_ps = 0;      // piece, credit: when the kernel sent it; 0: the kernel did not send it
    std::uint64_t number = 0;       // other than piece: number of the sender's write
    std::uint32_t nbytes = 0;       // other than piece: bytes of the write
    std::uint32_t credits = 0;      // credit: how many
    // credit for newly allocated slots: times of the request, of its service and of its completion
    std::uint64_t asked_ps = 0, served_ps = 0, done_ps = 0;
    tla_status status = TLA_OK; // refused: status of the allocation
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
