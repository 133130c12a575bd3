// Which programs of a launch run where, what they have sent each other, and whether any of them can go on.
#ifndef TLMALLOC_MODULES_MESSAGE_LEDGER_HPP
#define TLMALLOC_MODULES_MESSAGE_LEDGER_HPP

#include "tlmalloc/kernel/types.h"
#include "tlmalloc/modules/runtime.hpp"
#include "tlmalloc/modules/systemc.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tlmalloc {

class pe_ipcq;

// One for all PEs of a platform. It takes no time and moves nothing: it stands for the tables that a host writes when
// it sets up a process group, and it looks on. A launch has an id, its correlation id; its programs are known from
// their LAUNCH on, and all of it is forgotten when the last of them has ended, but for what went wrong. It is told
// everything from actions of the event queue (time_queue.hpp), in the order of time.
class message_ledger {
  public:
    message_ledger() = default;
    message_ledger(const message_ledger &) = delete;
    message_ledger &operator=(const message_ledger &) = delete;

    // What a kernel waits for that is not there.
    struct wait {
        pe_location who, peer;
        std::uint32_t program, peer_program;
        const char *call; // of the kernel (kernel/messages.h)
        bool for_credit;  // else for a message
        std::uint64_t nbytes;
    };
    static std::string text(const wait &of);

    // Messages that were sent and not received.
    struct lost {
        pe_location from, to;
        std::uint64_t messages, nbytes;
    };

    // All that one PE has sent another, and has received whole there: from the call to the return.
    struct path {
        pe_location from, to;
        std::uint64_t messages = 0, nbytes = 0, least_ps = UINT64_MAX, most_ps = 0, sum_ps = 0;
    };

    // A message that has been received whole; to be told, if anybody wants to know.
    struct delivery {
        pe_location from, to;
        std::uint64_t nbytes, sent_ps, received_ps; // from the call to the return
    };
    std::function<void(const delivery &)> delivered;

    // --- programs ---
    void enter(std::uint32_t launch, std::uint32_t program, std::uint32_t programs, pe_ipcq &unit);
    void leave(std::uint32_t launch, std::uint32_t program);
    // Where a program runs, or ran; null before its LAUNCH.
    pe_ipcq *unit_of(std::uint32_t launch, std::uint32_t program) const;
    // Whether the LAUNCH of every program has come; and the program that runs there, `none` where there is no one.
    static constexpr std::uint32_t none = UINT32_MAX;
    bool is_complete(std::uint32_t launch) const;
    std::uint32_t program_at(std::uint32_t launch, const pe_location &where) const;
    void wait_for_programs(pe_ipcq &unit_that_waits); // which looks again when a LAUNCH has come
    void forget_launches() { launches_.clear(); }     // a reset of all PEs: none of their programs runs any more

    // --- what is on its way: a piece, a credit, a request for slots until it is answered ---
    void depart(std::uint32_t launch);
    void arrive(std::uint32_t launch);

    // --- waits ---
    // A program waits; `can_go_on` says whether what it waits for is there meanwhile. When all programs of the launch
    // that have not ended wait, nothing is on its way and none can go on, it is a deadlock: all are woken.
    void begin_wait(std::uint32_t launch, const wait &what, std::function<bool()> can_go_on);
    void end_wait(std::uint32_t launch, std::uint32_t program);
    bool is_deadlocked(std::uint32_t launch) const;

    // --- messages ---
    void sent(std::uint32_t launch, std::uint32_t from, std::uint32_t to, std::uint64_t nbytes, std::uint64_t at_ps);
    void received(std::uint32_t launch, std::uint32_t from, std::uint32_t to, std::uint64_t at_ps);

    // --- what there is to tell, of all launches so far ---
    const std::vector<wait> &deadlocked() const { return deadlocked_; } // who waited when nobody could go on
    const std::vector<lost> &never_received() const { return lost_; }
    std::vector<path> paths() const; // in the order of senders, then of receivers

  private:
    struct message {
        std::uint64_t nbytes, at_ps;
    };
    struct launch_state {
        std::vector<pe_ipcq *> units; // by program
        std::vector<pe_location> places;
        std::vector<bool> ended;
        std::size_t entered = 0, left = 0;
        std::uint64_t under_way = 0;
        std::map<std::uint32_t, std::pair<wait, std::function<bool()>>> waits; // by program
        bool deadlocked = false;
        std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<message>> pending; // from, to: not received
    };

    void consider(launch_state &of);
    void close(const launch_state &of);

    std::map<std::uint32_t, launch_state> launches_;
    std::vector<pe_ipcq *> waiting_; // for programs
    std::vector<wait> deadlocked_;
    std::vector<lost> lost_;
    std::map<std::pair<std::uint64_t, std::uint64_t>, path> paths_; // by numbers of places
};

} // namespace tlmalloc
#endif
