// A PE's message unit: sends tiles to other PEs, and keeps received tiles until its kernel reads them.
#ifndef TLMALLOC_MODULES_PE_IPCQ_HPP
#define TLMALLOC_MODULES_PE_IPCQ_HPP

#include "tlmalloc/base/time_account.h"
#include "tlmalloc/command/command.h"
#include "tlmalloc/config/parameters.h"
#include "tlmalloc/kernel/message_queue.h"
#include "tlmalloc/kernel/types.h"
#include "tlmalloc/modules/detail/in_order.hpp"
#include "tlmalloc/modules/detail/time_queue.hpp"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/initiator_socket.hpp"
#include "tlmalloc/modules/instrumented.hpp"
#include "tlmalloc/modules/pe_dma.hpp"
#include "tlmalloc/modules/runtime.hpp"
#include "tlmalloc/modules/systemc.hpp"
#include "tlmalloc/modules/target_socket.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tlm_utils/simple_initiator_socket.h>
#include <tuple>
#include <utility>
#include <vector>

namespace tlmalloc {

// --- The ledger ---
//
// The ledger records the places of a launch's programs, their messages, and whether any program can continue.

class pe_ipcq;

// One ledger serves all PEs of a platform. It takes no time and moves nothing: it represents the tables that a host
// writes when it sets up a process group, and it observes. The correlation id of a launch is its id. The programs of a
// launch are known from their LAUNCH on. When the last program has ended, the ledger forgets the launch except its
// errors. Actions of the event queue (time_queue.hpp) make all calls, in the order of time.
class message_ledger {
  public:
    message_ledger() = default;
    message_ledger(const message_ledger &) = delete;
    message_ledger &operator=(const message_ledger &) = delete;

    // A message or credit for which a kernel waits.
    struct wait {
        pe_location who, peer;
        std::uint32_t program, peer_program;
        const char *call; // the kernel's call (kernel/messages.h)
        bool for_credit;  // false: for a message
        std::uint64_t nbytes;
    };
    static std::string text(const wait &of);

    // Messages that were sent and not received.
    struct lost {
        pe_location from, to;
        std::uint64_t messages, nbytes;
    };

    // All messages from one PE to another that were received whole. Times are from the call to the return.
    struct path {
        pe_location from, to;
        std::uint64_t messages = 0, nbytes = 0, least_ps = UINT64_MAX, most_ps = 0, sum_ps = 0;
    };

    // A message that was received whole. `delivered`, unless empty, is called with it.
    struct delivery {
        pe_location from, to;
        std::uint64_t nbytes, sent_ps, received_ps; // from the call to the return
    };
    std::function<void(const delivery &)> delivered;

    // --- Programs ---
    // Programs of a launch are numbered from 0, below `programs`. enter: the LAUNCH of a program has arrived at its
    // unit, once for each program. leave: the program has ended, and sends and receives nothing any more.
    void enter(std::uint32_t launch, std::uint32_t program, std::uint32_t programs, pe_ipcq &unit);
    void leave(std::uint32_t launch, std::uint32_t program);
    // The unit on which a program runs, or ran; null before its LAUNCH.
    pe_ipcq *unit_of(std::uint32_t launch, std::uint32_t program) const;
    // Return whether the LAUNCH of every program has arrived, and the program that runs at a place (`none` if no
    // program does).
    static constexpr std::uint32_t none = UINT32_MAX;
    bool is_complete(std::uint32_t launch) const;
    std::uint32_t program_at(std::uint32_t launch, const pe_location &where) const;
    void wait_for_programs(pe_ipcq &unit_that_waits); // it looks again after each LAUNCH
    void forget_launches() { launches_.clear(); }     // after a reset of all PEs, which ends their programs

    // --- Operations in flight: a piece, a credit, a request for slots until its answer ---
    // Each depart is followed by one arrive. For an unknown launch the calls have no effect.
    void depart(std::uint32_t launch);
    void arrive(std::uint32_t launch);

    // --- Waits ---
    // A program waits; `can_go_on` returns whether it can continue now. A launch is deadlocked if all its running
    // programs wait, nothing is in flight, and no program can continue. The ledger then wakes all programs of the
    // launch.
    void begin_wait(std::uint32_t launch, const wait &what, std::function<bool()> can_go_on);
    void end_wait(std::uint32_t launch, std::uint32_t program);
    bool is_deadlocked(std::uint32_t launch) const;

    // --- Messages ---
    // sent: a program has called for the sending of nbytes, at at_ps. received: the oldest message from one program to
    // another that was sent and not received has been received whole; such a message exists.
    void sent(std::uint32_t launch, std::uint32_t from, std::uint32_t to, std::uint64_t nbytes, std::uint64_t at_ps);
    void received(std::uint32_t launch, std::uint32_t from, std::uint32_t to, std::uint64_t at_ps);

    // --- Results of all launches so far ---
    const std::vector<wait> &deadlocked() const { return deadlocked_; } // waits at a deadlock
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

// --- The module ---

// KernBench's IPCQ (ADR-0023). The first tl_send between two programs of a launch asks the receiver for slots. The
// receiver's unit allocates the slots and answers with credits. The sender's DMA writes pieces of at most a slot each
// through `in` of the receiver's unit. A piece has arrived when all its bytes are in the slot; a credit returns when
// the kernel has read the piece. The unit frees the slots when the receiver's kernel ends. The event queue decides
// everything (time_queue.hpp). Threads wait for its decisions, or send commands to the controller.
//
// `in` is a window of physical addresses. Pieces lie in the first half, at slot * slot_size; all other writes lie after
// that half. Other accesses get TLM_COMMAND_ERROR_RESPONSE or TLM_ADDRESS_ERROR_RESPONSE.
//
// A reset (resettable.hpp) of the unit or of its processing_element ends a call of the kernel with TLA_RESET.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/pe/PE_IPCQ.md.
class pe_ipcq : public instrumented, public resettable, private untimed_target, private in_order_target {
  public:
    struct config : tla_message_parameters {
        config() { tla_messages_defaults(this); }
        explicit config(const tla_message_parameters &parameters) : tla_message_parameters(parameters) {}

        pe_location where{};         // own PE
        unsigned allocator_port = 0; // this unit's control port at the controller of the slots' memory
        std::uint32_t initiator = 0; // own number in requester extensions
    };

    struct statistics {
        std::uint64_t sent = 0, sent_bytes = 0, received = 0, received_bytes = 0; // messages, from call to return
        std::uint64_t credit_waits = 0, credit_wait_ps = 0;                       // of senders, including the slots'
                                                                                  // allocation
        std::uint64_t polls = 0;                                                  // checks by senders that poll
        std::uint64_t data_waits = 0, data_wait_ps = 0;                           // of receivers
        std::uint64_t slot_allocs = 0, slot_failures = 0;                         // blocks of slots
        std::uint64_t dropped_bytes = 0; // bytes that arrived for a kernel that had ended
        std::uint64_t errors = 0;        // accesses rejected at `in`
    };

    target_socket<> in;
    tlm_utils::simple_initiator_socket<pe_ipcq> local{"local"}, allocator{"allocator"};
    optional_initiator_socket<tlm_utils::simple_initiator_socket<pe_ipcq>> memory{"memory"};

    // `dma` and `ledger` outlive the unit. Reports an error /tlmalloc/pe_ipcq/config unless slots is 1 ..
    // TLA_MESSAGE_SLOTS_MAX and slot_size above 0, with at most TLA_MESSAGE_WINDOW_BYTES of slots in a direction. The
    // same error reports credit_bytes out of 1 .. TLA_MESSAGE_WINDOW_BYTES, and a poll_ps of 0. At the start of the
    // simulation it reports an unbound `memory` if the slots lie outside the TCM.
    pe_ipcq(sc_core::sc_module_name name, const config &settings, pe_dma &dma, message_ledger &ledger);
    ~pe_ipcq() override;

    const pe_location &where() const { return config_.where; }

    // --- Calls from the processing_element ---
    // begin_kernel: a LAUNCH has arrived at at_ps. end_kernel: the kernel has ended; waits until no operation of the
    // kernel is in flight, and frees its slots. Its delay is the start of this work and, on return, the end. It returns
    // the first failure of a send.
    void begin_kernel(std::uint32_t launch, std::uint32_t program, std::uint32_t programs, std::uint64_t at_ps);
    tla_status end_kernel(sc_core::sc_time &delay, tla_error *error);

    // tl_send and tl_recv (kernel/messages.h), in the kernel's thread, with the errors of these calls. TLA_DEADLOCK:
    // the caller must end the kernel. TLA_TIMEOUT after give_up(), TLA_RESET in a reset. An exception that is thrown
    // into the thread meanwhile ends the call; call drop_receives() before the tile is destroyed.
    tla_status send(std::uint32_t peer, const tl_tile &tile, sc_core::sc_time &delay, tla_error *error);
    tla_status receive(std::uint32_t peer, const tl_tile &tile, sc_core::sc_time &delay, tla_error *error);

    // A message that the unit receives while the kernel continues. Messages of a program are received in the order in
    // which their receives began, tl_recv included.
    struct receiving {
        const char *call; // the kernel's call, for reports about it
        std::uint32_t peer;
        tl_tile tile;
        bool waited_for = false; // the kernel waits for this message only
        tla_status status = TLA_OK;
        tla_error why{};                           // reason of a failure
        std::uint64_t arrived_ps = 0, sent_ps = 0; // of its last piece
        bool done = false, dropped = false;
    };
    using receiving_ptr = std::shared_ptr<receiving>;
    // tl_recv_async, which begins at delay; on failure nothing has begun.
    tla_status begin_receive(const receiving_ptr &what, sc_core::sc_time &delay, tla_error *error);
    // Waits until the receive is done, in a call of the kernel. Returns its status, or TLA_DEADLOCK if it can never be
    // done.
    tla_status wait_for(const receiving_ptr &what, const char *call, sc_core::sc_time &delay, tla_error *error);
    // Drops all receives that have begun: all are done when this returns.
    void drop_receives(sc_core::sc_time &delay);

    // The program of this launch that runs on a PE; message_ledger::none if no program does. Waits until all programs
    // have arrived.
    std::uint32_t program_at(const pe_location &place, sc_core::sc_time &delay);

    // The place of a program of this launch; waits until the program has arrived. In a reset it may return the own
    // place.
    pe_location place_of(std::uint32_t program, sc_core::sc_time &delay);

    // Ends the current call with TLA_TIMEOUT if it waits for another unit: the kernel's time is over.
    void give_up();

    // From an action of the queue: the message or credit for which the kernel waits may have arrived, or may never
    // arrive.
    void look_again();

    // From now on, charges the kernel's sends and receives to this account (null: to none).
    void charge(tla_time_account *account) { account_ = account; }

    bool was_used() const { return used_; }
    const statistics &get_statistics() const { return statistics_; }
    std::vector<statistics_group> list_statistics() const override;

  private:
    // The order of events at a unit at one time.
    enum turn : std::uint32_t {
        launch_comes,
        access_comes, // followed by accesses of further inputs
        piece_is_there = 64,
        write_ends,
        slots_are_there,
        receive_goes_on,
        kernel_calls,
        kernel_looks
    };
    using step = std::function<void(std::uint64_t at_ps)>;
    struct posted {
        pe_ipcq *unit;
        step what;
        std::list<posted>::iterator self;
    };

    // A call in which the kernel waits. `go` checks whether the call can continue, after every change; it ends the
    // call, at that time or later.
    struct kernel_call {
        std::function<void(std::uint64_t at_ps)> go;
        bool begun = false, done = false;
        bool lasts = false; // neither a reset nor a time limit ends it
        tla_status status = TLA_OK;
        tla_error why{};
        std::uint64_t end_ps = 0;
    };

    struct outgoing { // to a program
        tla_message_sender queue{};
        std::uint64_t window = 0; // of the receiver's unit
        struct credit {
            std::uint64_t there_ps, sent_ps; // sent_ps 0: the receiver's kernel did not send it
        };
        std::deque<credit> credits; // with the times at which they arrived
        bool gone = false;
        message_token refusal{};               // status of the slots' allocation
        std::vector<tla_time_part> allocation; // time of the slots' allocation, once it is known
    };
    struct reading;   // a read of a piece out of its slot
    struct incoming { // from a program
        std::uint32_t peer = 0;
        tla_message_receiver queue{};
        bool has_slots = false;
        tla_paddr slots{};
        std::uint64_t arrived_ps[TLA_MESSAGE_SLOTS_MAX]{}; // of the pieces in the slots
        bool is_there[TLA_MESSAGE_SLOTS_MAX]{};            // since turn::piece_is_there of that time
        std::uint64_t sent_ps[TLA_MESSAGE_SLOTS_MAX]{};
        tl_dtype dtype[TLA_MESSAGE_SLOTS_MAX]{};
        std::deque<receiving_ptr> receivings; // begun and not done
        bool serving = false;                 // a piece of the first receive is being read
        std::shared_ptr<reading> read;        // the last one
        std::uint64_t since_ps = UINT64_MAX;  // when the kernel has called for the next piece; not yet: UINT64_MAX
        bool waits = false;                   // the piece was missing then
    };
    struct errand { // a write to another unit
        std::vector<pe_dma::request> parts;
        message_token token;
        std::size_t next = 0; // index in parts
        tla_status status = TLA_OK;
        std::function<void(tla_status, std::uint64_t end_ps)> ended; // called at its end; may be empty
    };
    struct sending { // a message, while the kernel waits for its tile to be read
        std::uint32_t peer;
        tl_tile tile;
        std::uint64_t called_ps = 0, since_ps = 0, look_ps = 0; // of the wait for a credit
        bool begun = false, told = false, waits = false;
        unsigned unread = 0; // pieces not read out yet
    };
    using write = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>; // launch, program, number

    void start_of_simulation() override;
    void begin_reset() override;
    void make_new() override;
    bool is_busy() const override;

    void post(std::uint64_t at_ps, std::uint32_t order, step what);

    // --- the window
    void begin(in_order_request &request, unsigned port) override;
    void arrive(in_order_request &request);
    message_token *check(tlm::tlm_generic_payload &payload);
    incoming *home_of(const message_token &token);
    void place(const incoming &to, tlm::tlm_generic_payload &payload);
    std::uint64_t take_bytes(const message_token &token, std::uint64_t nbytes, std::uint64_t at_ps);
    void take_part(const message_token &token, std::uint32_t nbytes, std::uint64_t at_ps);
    void take(const message_token &token, std::uint64_t at_ps);

    // --- writes to other units
    void run(const std::shared_ptr<errand> &what, std::uint64_t at_ps);
    void go_on(const std::shared_ptr<errand> &what, std::uint64_t at_ps);
    message_token token_to(std::uint32_t peer, message_token::kind what) const;
    void tell(message_token what, std::uint64_t at_ps, step ended = {});

    // --- the kernel
    tla_status perform(const std::shared_ptr<kernel_call> &what, sc_core::sc_time &delay, tla_error *error);
    void end_early(tla_status status);
    void end_call(tla_status status, std::uint64_t at_ps, const tla_error &why = {});
    void look(std::uint64_t at_ps);
    bool is_settled() const;
    tla_status check_peer(const char *call, std::uint32_t peer, const tl_tile &tile, tla_error *error) const;
    message_ledger::wait waiting(const char *call, std::uint32_t peer, std::uint64_t nbytes, bool for_credit) const;
    static tla_error deadlock(const message_ledger::wait &what);
    void wait_for_programs(const std::function<bool()> &known, sc_core::sc_time &delay);
    void charge_wait(std::uint32_t peer, std::uint64_t sent_ps, std::uint64_t arrived_ps, tla_time_kind until_sent);

    // --- sends
    using sending_ptr = std::shared_ptr<sending>;
    outgoing &connect(std::uint32_t peer, std::uint64_t at_ps);
    void begin_send(const sending_ptr &what, std::uint64_t at_ps);
    void go_on(const sending_ptr &what, std::uint64_t at_ps);
    bool has_credit(sending &what, outgoing &to, std::uint64_t at_ps);
    void send_piece(const sending_ptr &what, const tla_message_piece &piece, std::uint64_t at_ps);
    tla_error explain_refusal(std::uint32_t peer);

    // --- receives
    void add_receive(const receiving_ptr &what, std::uint64_t at_ps);
    void go_on(incoming &from, std::uint64_t at_ps);
    bool has_piece(incoming &from, std::uint64_t at_ps, tla_message_piece &piece);
    void read_piece(incoming &from, const tla_message_piece &piece, std::uint64_t at_ps);
    void copy_out(reading &what, std::uint64_t at_ps);
    void load_out(const std::shared_ptr<reading> &what, std::uint64_t at_ps);
    void piece_was_read(incoming &from, const tla_message_piece &piece, tla_status status, std::uint64_t at_ps);
    void piece_is_over(incoming &from, const tla_message_piece &piece, std::uint64_t at_ps);
    void end_receive(incoming &from, tla_status status, const tla_error &why, std::uint64_t at_ps);
    step collecting(const receiving_ptr &what, const char *name);
    void drop_all(std::uint64_t at_ps);
    bool is_taking() const;
    bool takes_something() const; // an asynchronous receive continues by itself
    static bool front_of(const incoming &from, tla_message_piece &piece);

    // --- slots
    void serve_connections();
    void make_next_slots(std::uint64_t at_ps);
    void slots_came(const tla_completion &completion, message_token answer, std::uint64_t at_ps);
    tla_status slots_command(tla_command &descriptor, tla_completion &completion, sc_core::sc_time &delay);

    bool has_tables() const { return config_.costs != TLA_SLOT_COSTS_MEMORY; }
    std::uint64_t slots_bytes() const { return config_.slots * config_.slot_size; }

    const config config_;
    requester requester_, trusted_;
    pe_dma &dma_;
    message_ledger &ledger_;
    outlet to_local_, to_memory_;
    std::optional<shared_resource> resource_; // from the start of the simulation on: it lies on no island
    std::list<posted> posted_;

    bool active_ = false;     // a kernel runs, or will run
    bool has_kernel_ = false; // until the whole kernel has ended
    std::uint32_t launch_ = 0, program_ = 0, programs_ = 0, next_request_ = 1;
    std::shared_ptr<kernel_call> call_; // the kernel's current call
    sc_core::sc_event answered_;
    std::map<std::uint32_t, outgoing> outgoing_; // by program
    std::map<std::uint32_t, incoming> incoming_;
    std::map<write, std::uint32_t> parts_;       // bytes that have arrived of unfinished writes
    std::uint64_t errands_ = 0, forwarding_ = 0; // in flight
    std::uint64_t launched_ps_ = 0, next_write_ = 0;
    tla_status send_failure_ = TLA_OK;
    std::deque<std::uint32_t> asked_; // programs that asked for slots; the first command is in flight while
    bool making_slots_ = false;
    sc_core::sc_event asked_event_;
    bool used_ = false;
    tla_time_account *account_ = nullptr;
    std::uint64_t retries_ = 0;
    statistics statistics_;
    figure waits_for_credit_{*this, "waits_for_credit", 1, config_.signals},
        waits_for_message_{*this, "waits_for_message", 1, config_.signals},
        slots_taken_{*this, "slots_taken", 16, config_.signals}, sent_bytes_{*this, "sent_bytes", 48, config_.signals},
        received_bytes_{*this, "received_bytes", 48, config_.signals},
        slots_allocated_{*this, "slots_allocated", 16, config_.signals};
};

} // namespace tlmalloc
#endif
