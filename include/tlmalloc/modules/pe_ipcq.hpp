// A PE's message unit: sends tiles to other PEs, and keeps what they send until its kernel takes it.
#ifndef TLMALLOC_MODULES_PE_IPCQ_HPP
#define TLMALLOC_MODULES_PE_IPCQ_HPP

#include "tlmalloc/detail/in_order.hpp"
#include "tlmalloc/detail/message_token.hpp"
#include "tlmalloc/device/command.h"
#include "tlmalloc/device/message_queue.h"
#include "tlmalloc/modules/initiator_socket.hpp"
#include "tlmalloc/modules/instrumented.hpp"
#include "tlmalloc/modules/message_ledger.hpp"
#include "tlmalloc/modules/pe_dma.hpp"
#include "tlmalloc/modules/requester.hpp"
#include "tlmalloc/modules/target_socket.hpp"
#include "tlmalloc/parameters/messages.h"
#include "tlmalloc/timing/time_account.h"

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <tlm_utils/simple_initiator_socket.h>
#include <vector>

namespace tlmalloc {

// KernBench's IPCQ (ADR-0023). A direction between two programs of a launch comes into being with its first tl_send: a
// write of `credit` bytes asks the receiver for slots, whose unit allocates them (an ALLOC of all slots of the
// direction as one block, at `allocator`, or at the controller of the cube's SRAM), and answers with as many credits.
// Then pieces of at most a slot each are written by the sender's DMA through `in` of the receiver's unit, which writes
// them on to the slot: `local` leads to the PE's own memory controller, for slots in the TCM; `memory`, for others, to
// the fabric. A piece is there when all of its bytes are in the slot; a credit goes back when the kernel has read it
// out. What bytes are of travels with them (message_token.hpp). The slots are freed when the receiver's kernel ends,
// however it does; senders are told, and what they still send is dropped.
//
// `in`: a window of physical addresses. Writes of pieces lie in the first half, at slot * slot_size, all others behind
// it. What has no token, is no write or lies elsewhere is answered with an error: TLM_COMMAND_ERROR_RESPONSE,
// TLM_ADDRESS_ERROR_RESPONSE.
//
// With tables of costs (slot_costs.h) slots are still allocated, and hold the bytes; but writing and reading them takes
// what the table says, and occupies nothing.
//
// A reset (resettable.hpp; that of its processing_element is one, too) ends what the kernel waits for here: its call is
// TLA_RESET, and so the kernel. What is on its way comes to its end, pieces for the kernel are dropped, and its slots
// are freed, as at the end of every kernel; then nobody is connected. What `in` brings is answered meanwhile as ever.
class pe_ipcq : public instrumented, public resettable, private access_target, private in_order_target {
  public:
    struct config : tla_message_parameters {
        config() { tla_messages_defaults(this); }
        explicit config(const tla_message_parameters &parameters) : tla_message_parameters(parameters) {}

        pe_location where{};         // which PE this is
        unsigned allocator_port = 0; // the control port of the controller of the slots' memory that is this unit's
        std::uint32_t initiator = 0; // its number in requester extensions
        time_style style = time_style::fast;
    };

    struct statistics {
        std::uint64_t sent = 0, sent_bytes = 0, received = 0, received_bytes = 0; // messages, from call to return
        std::uint64_t credit_waits = 0, credit_wait_ps = 0;                       // of senders, slots' allocation too
        std::uint64_t polls = 0;                                                  // looks of senders that poll
        std::uint64_t data_waits = 0, data_wait_ps = 0;                           // of receivers
        std::uint64_t slot_allocs = 0, slot_failures = 0;                         // blocks of slots
        std::uint64_t dropped_bytes = 0; // that came for a kernel that had ended
        std::uint64_t errors = 0;        // accesses refused at `in`
    };

    target_socket<> in;
    tlm_utils::simple_initiator_socket<pe_ipcq> local{"local"}, allocator{"allocator"};
    optional_initiator_socket<tlm_utils::simple_initiator_socket<pe_ipcq>> memory{"memory"};

    pe_ipcq(sc_core::sc_module_name name, const config &settings, pe_dma &dma, message_ledger &ledger);
    ~pe_ipcq() override;

    const pe_location &where() const { return config_.where; }

    // --- from the processing_element ---
    // A LAUNCH has come; and its kernel has ended: waits until nothing of it is on its way, and frees its slots. delay
    // is when that begins and, on return, when it is over. Returns the first failure of what was sent.
    void begin_kernel(std::uint32_t launch, std::uint32_t program, std::uint32_t programs);
    tla_status end_kernel(sc_core::sc_time &delay, tla_error *error);

    // tl_send and tl_recv (kernel/messages.h), within the kernel's thread. TLA_DEADLOCK: the kernel is to be ended.
    tla_status send(std::uint32_t peer, const tl_tile &tile, sc_core::sc_time &delay, tla_error *error);
    tla_status receive(std::uint32_t peer, const tl_tile &tile, sc_core::sc_time &delay, tla_error *error);

    // A message that is taken while the kernel goes on. Those of a program come in the order in which they were begun,
    // tl_recv among them.
    struct receiving {
        const char *call; // of the kernel, for what is said of it
        std::uint32_t peer;
        tl_tile tile;
        std::uint64_t asked_ps; // it begins no earlier
        tla_status status = TLA_OK;
        tla_error why{}; // of a failure
        std::uint64_t end_ps = 0;
        std::uint64_t arrived_ps = 0, sent_ps = 0; // of its last piece
        bool done = false, dropped = false;
    };
    // tl_recv_async; on failure nothing has begun. `what` lives until it is done.
    tla_status begin_receive(receiving &what, tla_error *error);
    // Waits until it is done, in a call of the kernel; returns its status, or TLA_DEADLOCK: it never will be.
    tla_status wait_for(receiving &what, const char *call, sc_core::sc_time &delay, tla_error *error);
    // What has been begun is taken no further: all of it is done when this returns.
    void drop_receives();

    // The program of this launch that runs on a PE; message_ledger::none where none does. Waits until all have come.
    std::uint32_t program_at(const pe_location &place);

    // Where a program of this launch runs; waits until it has come.
    pe_location place_of(std::uint32_t program);

    // The kernel looks whether it can go on: now, or at a time that is not before the kernel's of SystemC.
    void wake() { changed_.notify(sc_core::SC_ZERO_TIME); }

    // What sends and receives of the kernel take is charged there (null: nowhere), from now on.
    void charge(tla_time_account *account) { account_ = account; }

    bool was_used() const { return used_; }
    const statistics &get_statistics() const { return statistics_; }
    std::vector<statistics_part> list_statistics() const override;

  private:
    struct outgoing { // to a program
        tla_message_sender queue{};
        std::uint64_t window = 0; // of the receiver's unit
        struct credit {
            std::uint64_t there_ps, sent_ps; // sent_ps 0: not by the receiver's kernel
        };
        std::deque<credit> credits; // since when each is there
        bool gone = false;
        message_token refusal{}; // status: the slots' allocation
        std::uint64_t answered_ps = 0;
        std::vector<tla_time_part> allocation; // of the slots, once it is known
    };
    struct incoming { // from a program
        tla_message_receiver queue{};
        bool has_slots = false;
        tla_paddr slots{};
        std::uint64_t arrived_ps[TLA_MESSAGE_SLOTS_MAX]{}; // of the pieces that are there
        std::uint64_t sent_ps[TLA_MESSAGE_SLOTS_MAX]{};
        tl_dtype dtype[TLA_MESSAGE_SLOTS_MAX]{};
        std::deque<receiving *> receivings; // begun and not done
        bool serving = false;               // a worker takes them
    };
    struct errand { // a write to another unit
        std::vector<pe_dma::request> parts;
        message_token token;
        std::uint64_t start_ps = 0;
        std::function<void(tla_status, std::uint64_t end_ps)> ended; // may be empty
    };
    struct reading {       // of a tile that is being sent
        unsigned left = 0; // pieces that have not been read out
        std::uint64_t end_ps = 0;
    };
    struct worker { // a thread that does one thing after the other, until it has nothing to do
        sc_core::sc_event due;
        std::function<void()> has;
    };
    using worker_place = std::list<worker>::iterator;
    struct asked { // for slots
        std::uint32_t from;
        std::uint64_t at_ps;
    };

    void start_of_simulation() override;
    void begin_reset() override;
    void make_new() override;
    bool is_busy() const override;
    bool wait_for_program(std::uint32_t program);
    void begin(in_order_request &request, unsigned port) override;
    void arrive(in_order_request &request);
    void serve(unsigned input, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) override;
    message_token *check(tlm::tlm_generic_payload &payload);
    incoming *home_of(const message_token &token);
    void place(const incoming &to, tlm::tlm_generic_payload &payload);
    std::uint64_t take_bytes(const message_token &token, std::uint64_t nbytes, std::uint64_t at_ps);
    void take(const message_token &token, std::uint64_t at_ps);
    void wake_at(std::uint64_t at_ps);

    void start(std::function<void()> what);
    void work(worker_place self);
    void dismiss_workers();
    void post(const std::shared_ptr<errand> &what);
    void perform(errand &what);
    message_token token_to(std::uint32_t peer, message_token::kind what) const;
    void tell(const message_token &what, std::uint64_t at_ps,
              std::function<void(tla_status, std::uint64_t)> ended = {});
    void send_piece(std::uint32_t peer, const tla_message_piece &piece, const tl_tile &tile, std::uint64_t at_ps,
                    const std::shared_ptr<reading> &reads);

    void serve_connections();
    void make_slots(const asked &who);
    tla_status slots_command(tla_command &descriptor, tla_completion &completion, sc_core::sc_time &delay);

    tla_status check_peer(const char *call, std::uint32_t peer, const tl_tile &tile, tla_error *error) const;
    outgoing &connect(std::uint32_t peer, sc_core::sc_time &delay);
    tla_status wait_for_credit(std::uint32_t peer, outgoing &to, std::uint64_t nbytes, sc_core::sc_time &delay,
                               tla_error *error);
    tla_status explain_refusal(std::uint32_t peer, tla_error *error);
    void give_credit(std::uint32_t peer, bool by_kernel, sc_core::sc_time &delay);
    tla_status wait_for_piece(std::uint32_t peer, incoming &from, std::uint64_t nbytes, sc_core::sc_time &delay,
                              tla_message_piece &piece, tla_error *error);
    tla_status wait_until(const message_ledger::wait &what, const std::function<bool()> &can_go_on, tla_error *error);
    tla_status take_message(const char *call, std::uint32_t peer, const tl_tile &tile, bool by_kernel,
                            sc_core::sc_time &delay, const std::function<tla_status(tla_message_piece &)> &next,
                            tla_error *error);
    void serve_receivings(incoming &from);
    static bool front_of(const incoming &from, tla_message_piece &piece);
    bool takes_something() const;
    tla_status read_piece(const incoming &from, const tla_message_piece &piece, const tl_tile &tile,
                          sc_core::sc_time &delay);
    message_ledger::wait waiting(const char *call, std::uint32_t peer, std::uint64_t nbytes, bool for_credit) const;
    void charge_wait(std::uint32_t peer, std::uint64_t sent_ps, std::uint64_t arrived_ps, tla_time_kind until_sent);
    bool has_tables() const { return config_.costs != TLA_SLOT_COSTS_MEMORY; }
    std::uint64_t slots_bytes() const { return config_.slots * config_.slot_size; }

    const config config_;
    requester requester_, trusted_;
    pe_dma &dma_;
    message_ledger &ledger_;
    outlet to_local_, to_memory_; // exact
    std::uint32_t resource_ = 0;

    bool active_ = false;     // a kernel runs, or is about to
    bool has_kernel_ = false; // and until all of it has ended
    std::uint32_t launch_ = 0, program_ = 0, programs_ = 0, next_request_ = 1;
    std::map<std::uint32_t, outgoing> outgoing_; // by program
    std::map<std::uint32_t, incoming> incoming_;
    std::uint64_t errands_ = 0, forwarding_ = 0; // on their way
    std::uint64_t last_end_ps_ = 0;
    tla_status send_failure_ = TLA_OK;
    std::list<worker> workers_;
    std::vector<worker_place> idle_;
    std::deque<asked> asked_;
    bool making_slots_ = false;
    std::uint64_t slots_free_ps_ = 0; // when the last command about slots is over
    sc_core::sc_event changed_, asked_event_;
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
