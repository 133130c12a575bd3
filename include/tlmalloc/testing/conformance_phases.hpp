// The battery's rules A1 to A13: the four phases.
#ifndef TLMALLOC_TESTING_CONFORMANCE_PHASES_HPP
#define TLMALLOC_TESTING_CONFORMANCE_PHASES_HPP

#include "tlmalloc/testing/conformance_probe.hpp"

namespace tlmalloc::testing::conformance {

// --- four phases -----------------------------------------------------------------------------------------------------

constexpr response_end all_endings[] = {response_end::completed, response_end::updated, response_end::call};

inline void a1(probe &p) {
    for (const response_end ending : all_endings) {
        p.from.ending = ending;
        for (int i = 0; i < 4; i++)
            p.read(p.first(), 16);
    }
}

inline void a2(probe &p) {
    p.from.response_delay = sc_core::sc_time(200, sc_core::SC_NS);
    for (const response_end ending : {response_end::call, response_end::updated}) {
        p.from.ending = ending;
        p.many(16);
    }
}

inline void a3(probe &p) {
    for (const sc_core::sc_time &delay : {sc_core::SC_ZERO_TIME, sc_core::sc_time(7, sc_core::SC_NS)}) {
        probe::request r{tlm::TLM_READ_COMMAND, p.first(), bytes(8), {}, {}, {}, delay};
        p.send(r); // the checker compares arguments with the answers
    }
    p.many(8);
}

inline void a4(probe &p) {
    bytes data(8);
    tlm::tlm_generic_payload &payload = p.from.make(tlm::TLM_READ_COMMAND, p.first(), data.data(), data.size());
    const sc_core::sc_time begin = sc_core::sc_time_stamp(), delay(1, sc_core::SC_US);
    p.from.begin(payload, delay);
    const sc_core::sc_time responded = p.from.finish(payload);
    p.from.give_back(payload);
    require(responded >= begin + delay, "a response comes before the annotated time of its request");
}

inline void a5(probe &p) {
    for (const response_end ending : all_endings) {
        p.from.ending = ending;
        bytes data(8);
        tlm::tlm_generic_payload &payload = p.from.make(tlm::TLM_READ_COMMAND, p.first(), data.data(), data.size());
        p.from.begin(payload);
        p.from.finish(payload);
        sc_core::wait(sc_core::sc_time(10, sc_core::SC_US));
        const int references = payload.get_ref_count();
        p.from.give_back(payload);
        require(references >= 1, "the target released a reference that was not its own");
        require(references == 1, "the target holds a payload whose response has ended");
    }
}

inline void a6(probe &p) {
    p.from.ending = response_end::call;
    p.read(p.first(), 8);
    require(p.from.last_end_response_answer() == tlm::TLM_COMPLETED, "END_RESP is not answered with TLM_COMPLETED");
}

inline void a7(probe &p) {
    bytes data(8);
    tlm::tlm_generic_payload &payload = p.from.make(tlm::TLM_READ_COMMAND, p.first(), data.data(), data.size());
    sc_core::sc_spawn_options method;
    method.spawn_method();
    sc_core::sc_event sent;
    sc_core::sc_spawn(
        [&] {
            p.from.begin(payload); // a wait() in here is an error
            sent.notify(sc_core::SC_ZERO_TIME);
        },
        nullptr, &method);
    sc_core::wait(sent);
    p.from.ending = response_end::call; // END_RESP comes from a method as well
    p.from.finish(payload);
    p.from.give_back(payload);
}

inline void a8(probe &p) {
    bytes data(8);
    tlm::tlm_generic_payload &payload = p.from.make(tlm::TLM_READ_COMMAND, p.first(), data.data(), data.size());
    for (const bool under_way : {false, true}) {
        if (under_way) p.from.begin(payload);
        tlm::tlm_phase phase = conformance_unknown_phase;
        sc_core::sc_time delay;
        require(p.from.out->nb_transport_fw(payload, phase, delay) == tlm::TLM_ACCEPTED,
                "an unknown phase is not answered with TLM_ACCEPTED");
    }
    p.from.finish(payload);
    require(payload.is_response_ok(), "an unknown phase spoilt the access");
    p.from.give_back(payload);
}

inline void a9(probe &p) {
    bytes data(8);
    tlm::tlm_generic_payload &payload = p.from.make(tlm::TLM_READ_COMMAND, p.first(), data.data(), data.size());
    const std::vector<const void *> before = extensions(payload);
    p.from.begin(payload);
    p.from.finish(payload);
    sc_core::wait(sc_core::sc_time(10, sc_core::SC_US));
    const bool same = extensions(payload) == before;
    p.from.give_back(payload);
    require(same, "the target leaves an extension on the payload");
}

inline void a10(probe &p) {
    p.many(200);
}

inline void a11(probe &p) {
    if (!p.target->writable) throw not_applicable{"the target is read only"};
    for (const coding style : {coding::loosely_timed, coding::approximately_timed}) {
        p.from.style = style;
        p.write(p.first(), probe::pattern(6 + (style == coding::loosely_timed)));
        p.from.style = style == coding::loosely_timed ? coding::approximately_timed : coding::loosely_timed;
        require(p.read(p.first(), 32) == probe::pattern(6 + (style == coding::loosely_timed)),
                "blocking and non-blocking accesses do not see the same bytes");
    }
}

// Requests that touch the same bytes, all under way together, each of another length: what each read must bring.
inline void a12(probe &p) {
    if (!p.target->writable) throw not_applicable{"the target is read only"};
    for (unsigned round = 0; round < 8; round++)
        for (const std::uint64_t at : {p.first() + 3, p.last() - 203}) {
            const std::uint64_t end = at + 184; // the last 16 of 200 bytes
            const bytes before = p.read(end, 16), all = probe::pattern(round, 200),
                        few = probe::pattern(round + 50, 16);
            bytes buffers[] = {bytes(16), all, bytes(16), few, bytes(16)};
            std::vector<tlm::tlm_generic_payload *> sent;
            for (bytes &b : buffers) {
                const bool write = sent.size() % 2 == 1;
                sent.push_back(&p.from.make(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND,
                                            b.size() > 16 ? at : end, b.data(), b.size()));
                p.from.begin(*sent.back());
            }
            for (tlm::tlm_generic_payload *payload : sent) {
                p.from.finish(*payload);
                require(payload->is_response_ok(), "one of several requests is refused");
                p.from.give_back(*payload);
            }
            require(buffers[0] == before, "a read brings what a later request writes");
            require(buffers[2] == bytes(all.begin() + 184, all.end()), "a read overtakes the write before it");
            require(buffers[4] == few && p.read(end, 16) == few, "a write overtakes the write before it");
        }
}

inline void a13(probe &p) {
    std::vector<bytes> buffers(8, bytes(32, 0xa5));
    if (p.target->writable) p.write(p.first(), probe::pattern(3));
    std::vector<tlm::tlm_generic_payload *> sent;
    p.from.style = coding::loosely_timed; // what is not said to begin
    for (bytes &b : buffers) {
        sent.push_back(&p.from.make(tlm::TLM_READ_COMMAND, p.first(), b.data(), b.size()));
        p.from.begin(*sent.back());
        const bytes beside = p.read(p.first(), 32);
        require(!p.target->writable || beside == probe::pattern(3), "a blocking read brings the wrong bytes");
        if (p.target->writable) p.write(p.first() + 64, probe::pattern(static_cast<unsigned>(sent.size())));
    }
    for (std::size_t i = 0; i < sent.size(); i++) {
        p.from.finish(*sent[i]);
        const bool ok = sent[i]->is_response_ok();
        p.from.give_back(*sent[i]);
        require(ok, "a request is refused beside blocking calls");
        require(!p.target->writable || buffers[i] == probe::pattern(3), "a request beside blocking calls goes wrong");
    }
}

} // namespace tlmalloc::testing::conformance

#endif
