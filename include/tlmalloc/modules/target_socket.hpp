// The common way to be a target: a socket that serves accesses in both coding styles, and the entry of foreign
// initiators.
#ifndef TLMALLOC_MODULES_TARGET_SOCKET_HPP
#define TLMALLOC_MODULES_TARGET_SOCKET_HPP

#include "tlmalloc/modules/detail/in_order.hpp"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/resettable.hpp"
#include "tlmalloc/modules/systemc.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <tlm_utils/multi_socket_bases.h>
#include <utility>
#include <vector>

namespace tlmalloc {

// --- Four phases ---
//
// The approximately timed side of a target: four phases around a b_transport that annotates its time.

// Serves nb_transport_fw by the base protocol (IEEE 1666-2011 15.2) on behalf of a module:
//
//   BEGIN_REQ  The object keeps it until its annotated time, then sends END_REQ. If `outstanding` accepted requests
//              of this initiator have no END_RESP yet, END_REQ waits until a response has ended. This holds back the
//              initiator (back-pressure).
//   service    The object serves an accepted request at once, in the order of acceptance: one of its threads calls the
//              module's b_transport. Data moves here; the annotated delay determines the time of the response. A
//              b_transport that waits holds up its own request only.
//   BEGIN_RESP The object sends it when the response is due. Responses leave in the order of their times, whatever the
//              order of the requests. Each initiator has one response at a time; the next follows END_RESP.
//   END_RESP   The object accepts a call, a return value, or TLM_COMPLETED. It answers with TLM_COMPLETED.
//
// The object acquires a payload with a memory manager at BEGIN_REQ, and releases it when its response has ended. The
// non-blocking calls never call wait(). Phases outside the base protocol get TLM_ACCEPTED. A protocol error is a
// warning /tlmalloc/at/protocol: a second BEGIN_REQ before END_REQ, or an END_RESP without an open response. Without a
// non-blocking call this object costs nothing at run time.
class at_target {
  public:
    // As b_transport and nb_transport_bw. The first argument is the initiator's number at a multi socket, otherwise 0.
    using serve_function = std::function<void(int, tlm::tlm_generic_payload &, sc_core::sc_time &)>;
    using backward_function =
        std::function<tlm::tlm_sync_enum(int, tlm::tlm_generic_payload &, tlm::tlm_phase &, sc_core::sc_time &)>;

    // Create it while the owning module is constructed. `name` is the prefix of the processes. `outstanding` is at
    // least 1; otherwise the constructor reports an error /tlmalloc/at/config.
    at_target(const char *name, unsigned outstanding, serve_function serve, backward_function backward);
    at_target(const at_target &) = delete;
    at_target &operator=(const at_target &) = delete;

    tlm::tlm_sync_enum nb_transport_fw(int initiator, tlm::tlm_generic_payload &payload, tlm::tlm_phase &phase,
                                       sc_core::sc_time &delay);

    std::uint64_t protocol_errors() const { return protocol_errors_; }

  private:
    struct access {
        int initiator;
        tlm::tlm_generic_payload *payload;
    };
    struct initiator_state {
        std::deque<tlm::tlm_generic_payload *> requests; // arrived, not accepted (one, unless the protocol is broken)
        std::deque<tlm::tlm_generic_payload *> due;      // responses that wait for their turn
        tlm::tlm_generic_payload *responding = nullptr;  // BEGIN_RESP sent, no END_RESP yet
        bool ending = false;                             // its END_RESP has arrived
        unsigned arriving = 0;                           // BEGIN_REQ received, annotated time not reached
        unsigned outstanding = 0;                        // accepted, no END_RESP yet
    };
    enum class step { arrive, respond, end_response };
    struct scheduled {
        step what;
        access which;
    };

    void schedule(step what, const access &which, const sc_core::sc_time &delay);
    void advance();
    void work();
    void accept(int initiator);
    void respond(int initiator);
    void finish(int initiator);
    void violation(const char *what);
    initiator_state &state_of(int initiator);

    const std::string name_;
    const unsigned outstanding_;
    const serve_function serve_;
    const backward_function backward_;
    std::deque<initiator_state> initiators_;
    std::multimap<sc_core::sc_time, scheduled> agenda_; // by absolute time; equal times in order of insertion
    std::deque<access> accepted_;                       // requests that wait for a worker
    std::size_t idle_workers_ = 0;
    sc_core::sc_event agenda_changed_, work_to_do_;
    std::uint64_t protocol_errors_ = 0;
};

// --- Sockets ---

// The functions of a module for accesses that take no time.
class untimed_target {
  public:
    // As transport_dbg: returns the number of moved bytes.
    virtual unsigned debug(tlm::tlm_generic_payload &) { return 0; }

    // As get_direct_mem_ptr. A module grants nothing unless it overrides this function.
    virtual bool grant_dmi(unsigned input, tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi);

  protected:
    ~untimed_target() = default;
};

// A module that serves an access within the call; it may wait.
class access_target : public untimed_target {
  public:
    // As b_transport, from initiator `input` of the socket: answers the payload, and adds the time of the access to the
    // delay.
    virtual void serve(unsigned input, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) = 0;

  protected:
    ~access_target() = default;
};

// Accepts b_transport, the four phases, DMI and debug accesses for a module. At most `Initiators` may be bound (0: any
// number), numbered in the order of their binding. If accesses arrive at one time, the initiator whose name is first as
// text goes first. The socket is a tlm_base_target_socket with TLM's default arguments, and can be bound as such a
// socket.
//
// An in_order_target receives accesses as requests, in the order of their arrival at now + delay. A b_transport returns
// at once, with the delay of the answer, if no process is due before the answer. Otherwise it waits, and the delay is
// zero. A caller that would have to wait, and is not a thread process, gets an error /tlmalloc/time/thread and
// TLM_GENERIC_ERROR_RESPONSE. An access after end_of_accesses_ps (time.hpp) gets the same response without the report.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/kit/TARGET_SOCKET.md.
template <int Initiators = 1, sc_core::sc_port_policy Policy = sc_core::SC_ONE_OR_MORE_BOUND>
class target_socket : public tlm::tlm_target_socket<32>,
                      public tlm_utils::multi_to_multi_bind_base<tlm::tlm_base_protocol_types> {
    using base = tlm::tlm_target_socket<32>;
    using backward = tlm::tlm_bw_transport_if<>;

  public:
    // `outstanding`: accepted requests per initiator without END_RESP (approximately timed), at least 1, otherwise an
    // error /tlmalloc/at/config; more requests wait for END_REQ. `name` is the socket's name; the targets must outlive
    // the socket.
    target_socket(const char *name, access_target &target, unsigned outstanding)
        : target_socket(name, target, &target, nullptr, outstanding) {}
    target_socket(const char *name, in_order_target &target, untimed_target &untimed, unsigned outstanding)
        : target_socket(name, untimed, nullptr, &target, outstanding) {}
    ~target_socket() {
        for (const entry &e : entries_)
            leave_in_order(e);
    }

    // Sets how far a b_transport may run ahead of events elsewhere; 0 by default. Call it before the end of
    // elaboration.
    void look_ahead(const sc_core::sc_time &at_most) { look_ahead_ps_ = at_most.value(); }

    // The reader identifies the requester (extensions.hpp) of accesses that do not come from tlmalloc's own modules. An
    // access with less privilege, or an asid of TLA_ASID_HARDWARE and above, gets TLM_COMMAND_ERROR_RESPONSE. Set the
    // reader at the first tlmalloc socket that an access meets; the reader must outlive the socket.
    void read_rights(const rights_reader &reader, std::uint32_t least_privilege = 0) {
        rights_ = &reader;
        least_privilege_ = least_privilege;
    }

    // An access that is served within the call (not in order) counts as outstanding in this module. The module rejects
    // such accesses during a reset.
    void serve_for(resettable &module) { module_ = &module; }

    // Withdraws every initiator's pointers to the addresses first to last, both included.
    void withdraw_dmi(std::uint64_t first, std::uint64_t last) {
        for (int i = 0; i < this->size(); i++)
            (*this)[i]->invalidate_direct_mem_ptr(first, last);
    }

    // The initiators; valid from the end of elaboration on.
    int size() const { return initiators_.size(); }
    backward *operator[](int input) { return initiators_[input]; }
    backward *operator->() { return initiators_.operator->(); }

    // Every initiator that binds to any base type of this socket is bound here.
    sc_core::sc_port_b<backward> &get_base_port() override { return initiators_; }
    const sc_core::sc_port_b<backward> &get_base_port() const override { return initiators_; }

    // Binding a socket of another width is a compile-time error, which says what to do.
    template <unsigned bits>
    operator tlm::tlm_base_target_socket_b<bits> &() {
        static_assert(bits == 32, "the sockets of tlmalloc are 32 bits wide: connect a tlmalloc::width_adapter<64> "
                                  "(with the width of your socket instead of 64) between the two");
        return *this;
    }

    // Every initiator that is bound calls this once.
    tlm::tlm_fw_transport_if<> &get_base_interface() override {
        if (bound_ == entries_.size()) entries_.emplace_back(*this, bound_);
        return entries_[bound_++];
    }
    const tlm::tlm_fw_transport_if<> &get_base_interface() const override { return entries_.front(); }

    // A multi initiator socket asks here for its latest binding; otherwise it would use the first entry.
    tlm::tlm_fw_transport_if<> *get_last_binder(tlm::tlm_bw_transport_if<> *) override { return &entries_[bound_ - 1]; }

    void end_of_elaboration() override {
        base::end_of_elaboration();
        for (const entry &e : entries_)
            by_name_.push_back(e.input);
        std::stable_sort(by_name_.begin(), by_name_.end(),
                         [this](unsigned a, unsigned b) { return entries_[a].initiator < entries_[b].initiator; });
        for (unsigned place = 0; place < by_name_.size(); place++)
            entries_[by_name_[place]].place = place;
        for (const entry &e : entries_)
            if (in_order_) announce_in_order(e, *in_order_, e.place);
    }

    // From the end of elaboration on: the ports of an in_order_target are places in the order of the initiators' names,
    // compared as text. Ties therefore do not follow the order of binding. An initiator that is bound several times has
    // its places in the order of its bindings.
    unsigned input_at(unsigned place) const { return by_name_[place]; }
    unsigned place_of(unsigned input) const { return entries_[input].place; }

  private:
    target_socket(const char *name, untimed_target &untimed, access_target *serves, in_order_target *in_order,
                  unsigned outstanding)
        : base(name), untimed_(untimed), serves_(serves), in_order_(in_order),
          at_(
              name, outstanding,
              [this](int input, auto &payload, auto &delay) {
                  entry &from = entries_[to_index(input)];
                  const acting_for initiator({from.initiator}, nullptr); // its accesses keep their order
                  from.b_transport(payload, delay);
              },
              [this](int input, auto &payload, auto &phase, auto &delay) {
                  return (*this)[input]->nb_transport_bw(payload, phase, delay);
              }),
          initiators_(sc_core::sc_gen_unique_name((std::string(name) + "_port").c_str())) {
        entries_.emplace_back(*this, 0); // an outer socket leads here
        base::bind(static_cast<tlm::tlm_fw_transport_if<> &>(entries_.front()));
        this->m_port.bind(nobody_);
    }

    // The interface to which one initiator is bound.
    struct entry final : tlm::tlm_fw_transport_if<> {
        entry(target_socket &of, std::size_t number) : socket(of), input(static_cast<unsigned>(number)) {}

        void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) override {
            if (!socket.rights_) {
                serve(payload, delay);
                return;
            }
            said_requester who(*socket.rights_, socket.least_privilege_, payload);
            if (!who.may_pass()) return;
            serve(payload, delay);
            who.answered();
        }
        void serve(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
            if (socket.in_order_) {
                enter(*socket.in_order_, place, payload, delay, socket.look_ahead_ps_);
                return;
            }
            if (refuse_behind_end(to_ps(sc_core::sc_time_stamp()), payload, delay)) return;
            if (!socket.module_) {
                socket.serves_->serve(input, payload, delay);
            } else if (!socket.module_->refuses(payload)) {
                const resettable::visit here(socket.module_);
                socket.serves_->serve(input, payload, delay);
            }
        }
        tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload &payload, tlm::tlm_phase &phase,
                                           sc_core::sc_time &delay) override {
            if (phase == tlm::BEGIN_REQ && refuse_behind_end(to_ps(sc_core::sc_time_stamp()), payload, delay)) {
                delay = sc_core::SC_ZERO_TIME;
                return tlm::TLM_COMPLETED;
            }
            return socket.at_.nb_transport_fw(static_cast<int>(input), payload, phase, delay);
        }
        unsigned transport_dbg(tlm::tlm_generic_payload &payload) override { return socket.untimed_.debug(payload); }
        bool get_direct_mem_ptr(tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) override {
            if (!socket.rights_) return socket.untimed_.grant_dmi(input, payload, dmi);
            const tlm::tlm_response_status untouched = payload.get_response_status();
            const said_requester who(*socket.rights_, socket.least_privilege_, payload);
            payload.set_response_status(untouched);
            return who.may_pass() ? socket.untimed_.grant_dmi(input, payload, dmi)
                                  : socket.untimed_.untimed_target::grant_dmi(input, payload, dmi);
        }

        // Records the name of the port that leads here, when its binding is complete.
        void register_port(sc_core::sc_port_base &port, const char *) override { initiator = port.name(); }

        target_socket &socket;
        const unsigned input;
        unsigned place = 0;
        std::string initiator;
    };

    // The target of TLM's own port of the socket, which is for one initiator.
    struct no_initiator final : backward {
        tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload &, tlm::tlm_phase &, sc_core::sc_time &) override {
            return tlm::TLM_ACCEPTED;
        }
        void invalidate_direct_mem_ptr(sc_dt::uint64, sc_dt::uint64) override {}
    };

    static std::size_t to_index(int input) { return static_cast<std::size_t>(input); }

    untimed_target &untimed_;
    access_target *const serves_;     // null: requests go to in_order_
    in_order_target *const in_order_; // null: serves_ serves
    std::uint64_t look_ahead_ps_ = 0;
    at_target at_;
    resettable *module_ = nullptr;
    const rights_reader *rights_ = nullptr;
    std::uint32_t least_privilege_ = 0;
    no_initiator nobody_;
    sc_core::sc_port<backward, Initiators, Policy> initiators_;
    std::deque<entry> entries_;
    std::size_t bound_ = 0;
    std::vector<unsigned> by_name_; // the inputs, in the order of the initiators' names
};

} // namespace tlmalloc
#endif
