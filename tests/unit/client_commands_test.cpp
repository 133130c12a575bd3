// The C client on a bare control port: every command as tla_command_encode writes it, by mapped words and by calls.
#include "tlmalloc/command/control_port.h"
#include "tlmalloc/command/port_client.h"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <functional>
#include <memory>
#include <vector>

namespace {

using bytes = std::vector<std::uint8_t>;

// A port, and somebody behind it who answers as a test says.
struct device {
    tla_control_port port{};
    std::vector<bytes> received;
    std::function<tla_completion(const tla_command &)> answer = [](const tla_command &) { return tla_completion{}; };
    bool answers = true;
    unsigned reads = 0;

    void write(std::uint32_t offset, std::uint32_t word) {
        std::uint8_t four[4];
        for (unsigned i = 0; i < 4; i++)
            four[i] = static_cast<std::uint8_t>(word >> 8 * i);
        bool complete = false;
        tla_error error{};
        BOOST_REQUIRE_MESSAGE(tla_control_port_write(&port, offset, four, 4, &complete, &error) == TLA_OK, error.text);
        if (!complete) return;
        received.emplace_back(port.command, port.command + port.staged);
        if (answers) finish();
    }

    void finish() {
        const auto command = std::make_unique<tla_command>();
        BOOST_REQUIRE_EQUAL(tla_command_decode(port.command, port.staged, command.get(), nullptr), TLA_OK);
        tla_completion completion = answer(*command);
        completion.request_id = command->request_id;
        completion.opcode = command->opcode;
        tla_control_port_complete(&port, &completion);
    }

    std::uint32_t read(std::uint32_t offset) {
        std::uint8_t four[4];
        reads++;
        BOOST_REQUIRE_EQUAL(tla_control_port_read(&port, offset, four, 4), TLA_OK);
        return four[0] | std::uint32_t{four[1]} << 8 | std::uint32_t{four[2]} << 16 | std::uint32_t{four[3]} << 24;
    }

    tla_port_client client() {
        tla_port_client d{};
        d.polls_max = 10;
        d.context = this;
        d.read = [](void *context, std::uint32_t offset) { return static_cast<device *>(context)->read(offset); };
        d.write = [](void *context, std::uint32_t offset, std::uint32_t word) {
            static_cast<device *>(context)->write(offset, word);
        };
        return d;
    }
};

bytes encoded(const tla_command &command) {
    bytes whole(TLA_COMMAND_MAX_BYTES);
    std::size_t length = 0;
    BOOST_REQUIRE_EQUAL(tla_command_encode(&command, whole.data(), whole.size(), &length), TLA_OK);
    whole.resize(length);
    return whole;
}

std::vector<tla_map_entry> entries_of(std::uint32_t count) {
    std::vector<tla_map_entry> entries(count);
    for (std::uint32_t i = 0; i < count; i++)
        entries[i] = {{std::uint64_t{1} << 32 | i}, {std::uint64_t{2} << 32 | i}, 4096 + i, 1 + i % 3, i};
    return entries;
}

// Every command that the client has, and the same one as a struct.
struct example {
    const char *name;
    std::function<tla_status(tla_port_client *, tla_completion *)> send;
    std::unique_ptr<tla_command> command;
};

std::unique_ptr<tla_command> command_of(tla_opcode opcode, tla_target target) {
    auto command = std::make_unique<tla_command>();
    command->opcode = opcode;
    command->target = target;
    return command;
}

template <typename Call>
example mapping(const char *name, tla_opcode opcode, tla_target target, std::uint32_t count, Call call) {
    auto command = command_of(opcode, target);
    const std::vector<tla_map_entry> entries = entries_of(count);
    command->scope = {1, 0xF0, 0x8001};
    command->count = count;
    std::copy(entries.begin(), entries.end(), command->entries);
    return {name,
            [=](tla_port_client *d, tla_completion *c) {
                return call(d, target, tla_scope{1, 0xF0, 0x8001}, entries.data(), count, c);
            },
            std::move(command)};
}

// A call about mappings that goes to one target only, as a call that is given one.
template <auto call>
tla_status to_controller(tla_port_client *d, tla_target, tla_scope scope, const tla_map_entry *entries,
                         std::uint32_t count, tla_completion *c) {
    return call(d, scope, entries, count, c);
}

std::vector<example> examples() {
    std::vector<example> all;
    all.push_back({"alloc",
                   [](tla_port_client *d, tla_completion *c) {
                       tla_paddr pa;
                       return tla_port_client_alloc(d, TLA_TCM, 12345, &pa, c);
                   },
                   command_of(TLA_OP_ALLOC, TLA_TARGET_MEMORY_CONTROLLER)});
    all.back().command->memory = TLA_TCM;
    all.back().command->nbytes = 12345;
    all.push_back({"request",
                   [](tla_port_client *d, tla_completion *c) {
                       tla_paddr pa;
                       const tla_stack_request request{12345, 7, TLA_FORMAT_KV_2TD};
                       return tla_port_client_request(d, TLA_SRAM, &request, &pa, c);
                   },
                   command_of(TLA_OP_ALLOC, TLA_TARGET_MEMORY_CONTROLLER)});
    all.back().command->memory = TLA_SRAM;
    all.back().command->nbytes = 12345;
    all.back().command->stream = 7;
    all.back().command->format = TLA_FORMAT_KV_2TD;
    all.push_back({"trim", [](tla_port_client *d, tla_completion *c) { return tla_port_client_trim(d, TLA_TCM, c); },
                   command_of(TLA_OP_TRIM, TLA_TARGET_MEMORY_CONTROLLER)});
    all.back().command->memory = TLA_TCM;
    all.push_back({"free",
                   [](tla_port_client *d, tla_completion *c) { return tla_port_client_free(d, {77}, 12345, c); },
                   command_of(TLA_OP_FREE, TLA_TARGET_MEMORY_CONTROLLER)});
    all.back().command->pa = {77};
    all.back().command->nbytes = 12345;
    const std::tuple<const char *, tla_opcode, tla_status (*)(tla_port_client *, tla_paddr, tla_completion *)>
        counts[] = {{"ref", TLA_OP_REF, tla_port_client_ref},
                    {"unref", TLA_OP_UNREF, tla_port_client_unref},
                    {"unpin", TLA_OP_UNPIN, tla_port_client_unpin}};
    for (const auto &[name, opcode, call] : counts) {
        const auto send = call;
        all.push_back({name, [send](tla_port_client *d, tla_completion *c) { return send(d, {78}, c); },
                       command_of(opcode, TLA_TARGET_MEMORY_CONTROLLER)});
        all.back().command->pa = {78};
    }
    all.push_back({"pin",
                   [](tla_port_client *d, tla_completion *c) { return tla_port_client_pin(d, {79}, 1234567, c); },
                   command_of(TLA_OP_PIN, TLA_TARGET_MEMORY_CONTROLLER)});
    all.back().command->pa = {79};
    all.back().command->timeout_ps = 1234567;
    static const std::vector<tla_placed_block> blocks = [] {
        std::vector<tla_placed_block> made(TLA_COMMAND_MAX_BLOCKS);
        for (std::uint32_t i = 0; i < made.size(); i++)
            made[i] = {{std::uint64_t{1} << 40 | i}, 100 + i};
        return made;
    }();
    for (std::uint32_t count : {std::uint32_t{0}, std::uint32_t{1}, std::uint32_t{TLA_COMMAND_MAX_BLOCKS}}) {
        all.push_back({"free_batch",
                       [=](tla_port_client *d, tla_completion *c) {
                           return tla_port_client_free_batch(d, blocks.data(), count, c);
                       },
                       command_of(TLA_OP_FREE_BATCH, TLA_TARGET_MEMORY_CONTROLLER)});
        all.back().command->count = count;
        std::copy_n(blocks.begin(), count, all.back().command->blocks);
        static const tla_mem_object_meta meta{7, 3, {2, 3, 4}, 5, 6};
        all.push_back({"put",
                       [=](tla_port_client *d, tla_completion *c) {
                           return tla_port_client_put(d, 0x1122334455667788, &meta, blocks.data(), count, c);
                       },
                       command_of(TLA_OP_PUT, TLA_TARGET_MEMORY_CONTROLLER)});
        all.back().command->key = 0x1122334455667788;
        all.back().command->meta = meta;
        all.back().command->count = count;
        std::copy_n(blocks.begin(), count, all.back().command->blocks);
    }
    all.push_back({"remove",
                   [](tla_port_client *d, tla_completion *c) { return tla_port_client_remove(d, TLA_TCM, 99, c); },
                   command_of(TLA_OP_REMOVE, TLA_TARGET_MEMORY_CONTROLLER)});
    all.back().command->memory = TLA_TCM;
    all.back().command->key = 99;
    all.push_back({"evict",
                   [](tla_port_client *d, tla_completion *c) {
                       tla_paddr pa;
                       const tla_stack_request request{12345, 7, TLA_FORMAT_KV_2TD};
                       return tla_port_client_evict(d, TLA_HBM, &request, 1, &pa, c);
                   },
                   command_of(TLA_OP_EVICT, TLA_TARGET_MEMORY_CONTROLLER)});
    all.back().command->nbytes = 12345;
    all.back().command->stream = 7;
    all.back().command->format = TLA_FORMAT_KV_2TD;
    all.back().command->busy = true;
    all.push_back({"va_alloc",
                   [](tla_port_client *d, tla_completion *c) {
                       tla_vaddr va;
                       return tla_port_client_va_alloc(d, 1 << 20, &va, c);
                   },
                   command_of(TLA_OP_VA_ALLOC, TLA_TARGET_VA_MANAGER)});
    all.back().command->nbytes = 1 << 20;
    all.push_back({"va_free",
                   [](tla_port_client *d, tla_completion *c) { return tla_port_client_va_free(d, {4096}, 8192, c); },
                   command_of(TLA_OP_VA_FREE, TLA_TARGET_VA_MANAGER)});
    all.back().command->va = {4096};
    all.back().command->nbytes = 8192;
    const std::uint32_t most = TLA_COMMAND_MAX_ENTRIES;
    for (std::uint32_t count : {std::uint32_t{1}, std::uint32_t{7}, most}) {
        all.push_back(mapping("map", TLA_OP_MAP, TLA_TARGET_VA_MANAGER, count, tla_port_client_map));
        all.push_back(mapping("unmap", TLA_OP_UNMAP, TLA_TARGET_IO_CPU, count, tla_port_client_unmap));
        all.push_back(mapping("invalidate", TLA_OP_INVALIDATE, TLA_TARGET_PE_MMU, count, tla_port_client_invalidate));
        all.push_back(
            mapping("bind", TLA_OP_BIND, TLA_TARGET_MEMORY_CONTROLLER, count, to_controller<tla_port_client_bind>));
        all.push_back(mapping("unbind", TLA_OP_UNBIND, TLA_TARGET_MEMORY_CONTROLLER, count,
                              to_controller<tla_port_client_unbind>));
    }
    all.push_back({"move",
                   [](tla_port_client *d, tla_completion *c) {
                       tla_paddr moved;
                       return tla_port_client_move(d, {81}, TLA_TCM, &moved, c);
                   },
                   command_of(TLA_OP_MOVE, TLA_TARGET_MEMORY_CONTROLLER)});
    all.back().command->pa = {81};
    all.back().command->memory = TLA_TCM;
    tla_pe_set pes{};
    pes.cubes[2] = 0x11;
    pes.cubes[15] = 0x8000;
    all.push_back({"pe_dma",
                   [pes](tla_port_client *d, tla_completion *c) {
                       return tla_port_client_pe_dma(d, TLA_TARGET_IO_CPU, &pes, {99}, 4096, true, 0xA5, c);
                   },
                   command_of(TLA_OP_PE_DMA, TLA_TARGET_IO_CPU)});
    all.back().command->pa = {99};
    all.back().command->nbytes = 4096;
    all.back().command->write = true;
    all.back().command->pattern = 0xA5;
    all.back().command->pes = pes;
    all.push_back({"launch_all",
                   [pes](tla_port_client *d, tla_completion *c) {
                       const std::uint64_t arguments[] = {5, 6};
                       return tla_port_client_launch_all(d, TLA_TARGET_M_CPU, &pes, 1, 2, 9, arguments, 2, c);
                   },
                   command_of(TLA_OP_LAUNCH, TLA_TARGET_M_CPU)});
    all.back().command->kernel = 1, all.back().command->program = 2, all.back().command->programs = 9;
    all.back().command->count = 2;
    all.back().command->arguments[0] = 5, all.back().command->arguments[1] = 6;
    all.back().command->pes = pes;
    const std::uint32_t most_arguments = TLA_COMMAND_MAX_ARGUMENTS;
    for (std::uint32_t count : {std::uint32_t{0}, std::uint32_t{1}, std::uint32_t{5}, most_arguments}) {
        std::vector<std::uint64_t> arguments(count);
        for (std::uint32_t i = 0; i < count; i++)
            arguments[i] = 0x0102030405060708 * (i + 1);
        all.push_back({"launch",
                       [=](tla_port_client *d, tla_completion *c) {
                           return tla_port_client_launch(d, 2, 3, 4, arguments.data(), count, c);
                       },
                       command_of(TLA_OP_LAUNCH, TLA_TARGET_PROCESSING_ELEMENT)});
        tla_command &command = *all.back().command;
        command.kernel = 2, command.program = 3, command.programs = 4, command.count = count;
        std::copy(arguments.begin(), arguments.end(), command.arguments);
    }
    return all;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_command_goes_out_by_calls_as_the_encoder_writes_it) {
    for (const example &e : examples())
        BOOST_TEST_CONTEXT(e.name << " of " << e.command->count) {
            device d;
            tla_port_client client = d.client();
            client.request_id = 41;
            tla_completion completion{};
            BOOST_CHECK_EQUAL(e.send(&client, &completion), TLA_OK);
            BOOST_CHECK_EQUAL(completion.request_id, 42u);
            e.command->request_id = 42;
            BOOST_REQUIRE_EQUAL(d.received.size(), 1u);
            BOOST_CHECK(d.received[0] == encoded(*e.command));
            BOOST_CHECK_EQUAL(e.send(&client, nullptr), TLA_OK); // without a completion, again
            BOOST_CHECK_EQUAL(client.request_id, 43u);
        }
}

BOOST_AUTO_TEST_CASE(every_command_goes_out_by_mapped_words_as_the_encoder_writes_it) {
    for (const example &e : examples())
        BOOST_TEST_CONTEXT(e.name << " of " << e.command->count) {
            std::vector<std::uint32_t> page(TLA_PORT_BYTES / 4, 0xEEEEEEEE);
            page[TLA_PORT_STATE / 4] = TLA_PORT_RUNNING;
            tla_port_client client{};
            client.port = page.data();
            client.polls_max = 3;
            BOOST_CHECK_EQUAL(e.send(&client, nullptr), TLA_BUSY);
            e.command->request_id = 1;
            const bytes expected = encoded(*e.command);
            const auto *words = reinterpret_cast<const std::uint8_t *>(page.data());
            BOOST_CHECK(bytes(words, words + expected.size()) == expected);
            BOOST_CHECK_EQUAL(page[expected.size() / 4], 0xEEEEEEEE);
        }
}

BOOST_AUTO_TEST_CASE(the_client_returns_addresses_on_success_and_the_status_on_failure) {
    device d;
    tla_port_client client = d.client();
    tla_paddr pa{1};
    tla_vaddr va{2};
    d.answer = [](const tla_command &) {
        tla_completion c{};
        c.value = 0xABC000;
        return c;
    };
    BOOST_CHECK_EQUAL(tla_port_client_alloc(&client, TLA_HBM, 1, &pa, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_port_client_va_alloc(&client, 1, &va, nullptr), TLA_OK);
    tla_paddr moved{3};
    BOOST_CHECK_EQUAL(tla_port_client_move(&client, pa, TLA_TCM, &moved, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(pa.value, 0xABC000u);
    BOOST_CHECK_EQUAL(va.value, 0xABC000u);
    BOOST_CHECK_EQUAL(moved.value, 0xABC000u);
    d.answer = [](const tla_command &) {
        tla_completion c{};
        c.status = TLA_FRAGMENTED;
        c.total_free = 100;
        return c;
    };
    tla_completion completion{};
    BOOST_CHECK_EQUAL(tla_port_client_alloc(&client, TLA_HBM, 1, &pa, &completion), TLA_FRAGMENTED);
    BOOST_CHECK_EQUAL(completion.total_free, 100u);
    BOOST_CHECK_EQUAL(tla_port_client_va_alloc(&client, 1, &va, nullptr), TLA_FRAGMENTED);
    BOOST_CHECK_EQUAL(pa.value, 0xABC000u);
    BOOST_CHECK_EQUAL(va.value, 0xABC000u);
}

BOOST_AUTO_TEST_CASE(commands_that_no_descriptor_can_encode_are_rejected_before_any_word_is_written) {
    device d;
    tla_port_client client = d.client(), unreachable{};
    const std::vector<tla_map_entry> entries = entries_of(TLA_COMMAND_MAX_ENTRIES + 1);
    const std::uint64_t arguments[TLA_COMMAND_MAX_ARGUMENTS + 1] = {};
    tla_paddr pa{};
    BOOST_CHECK_EQUAL(tla_port_client_alloc(&client, TLA_MEMORY_KIND_COUNT, 1, &pa, nullptr), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(
        tla_port_client_map(&client, TLA_TARGET_PE_MMU, {}, entries.data(), TLA_COMMAND_MAX_ENTRIES + 1, nullptr),
        TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_port_client_map(&client, TLA_TARGET_PE_MMU, {}, nullptr, 1, nullptr), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_port_client_map(&client, tla_target{}, {}, entries.data(), 1, nullptr), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_port_client_launch(&client, 0, 1, 1, nullptr, 0, nullptr), TLA_INVALID_ARGUMENT);
    tla_pe_set three{};
    three.cubes[0] = 7; // programs 1, 2 and 3 of 3
    BOOST_CHECK_EQUAL(tla_port_client_launch_all(&client, TLA_TARGET_IO_CPU, &three, 0, 1, 3, nullptr, 0, nullptr),
                      TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_port_client_launch(&client, 0, 0, 1, arguments, TLA_COMMAND_MAX_ARGUMENTS + 1, nullptr),
                      TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(d.port.state, TLA_PORT_IDLE);
    BOOST_CHECK_EQUAL(client.request_id, 0u);
    BOOST_CHECK_EQUAL(tla_port_client_free(&unreachable, {0}, 1, nullptr), TLA_INVALID_ARGUMENT);
}

BOOST_AUTO_TEST_CASE(a_slow_device_is_polled_and_a_dead_one_is_given_up) {
    device d;
    tla_port_client client = d.client();
    d.answers = false;
    BOOST_CHECK_EQUAL(tla_port_client_free(&client, {0}, 1, nullptr), TLA_BUSY);
    BOOST_CHECK_EQUAL(d.reads, 10u); // polls_max, the state alone
    d.finish();
    static unsigned waits;
    waits = 0;
    client.relax = [](void *context) {
        if (++waits == 4) static_cast<device *>(context)->finish();
    };
    BOOST_CHECK_EQUAL(tla_port_client_free(&client, {0}, 1, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(waits, 4u);
}

BOOST_AUTO_TEST_CASE(an_eviction_that_finds_nothing_is_sent_again_so_many_times_and_not_more) {
    device d;
    tla_port_client client = d.client();
    const tla_stack_request request{100, 0, TLA_FORMAT_UNDEFINED};
    tla_paddr pa{77};
    d.answer = [&](const tla_command &) {
        tla_completion busy{};
        busy.status = TLA_BUSY;
        return busy;
    };
    BOOST_CHECK_EQUAL(tla_port_client_evict(&client, TLA_HBM, &request, 5, &pa, nullptr), TLA_BUSY);
    BOOST_CHECK_EQUAL(d.received.size(), 5u);
    BOOST_CHECK_EQUAL(tla_port_client_evict(&client, TLA_HBM, &request, 0, &pa, nullptr), TLA_BUSY);
    BOOST_CHECK_EQUAL(d.received.size(), 6u);
    BOOST_CHECK_EQUAL(pa.value, 77u);
    d.answer = [&](const tla_command &) {
        tla_completion done{};
        done.status = d.received.size() < 9 ? TLA_BUSY : TLA_OK;
        done.value = 4096;
        return done;
    };
    BOOST_CHECK_EQUAL(tla_port_client_evict(&client, TLA_HBM, &request, 50, &pa, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(d.received.size(), 9u);
    BOOST_CHECK_EQUAL(pa.value, 4096u);
    d.answers = false; // what is not answered is not sent again
    BOOST_CHECK_EQUAL(tla_port_client_evict(&client, TLA_HBM, &request, 50, &pa, nullptr), TLA_BUSY);
    BOOST_CHECK_EQUAL(d.received.size(), 10u);
}

BOOST_AUTO_TEST_CASE(the_client_reads_results_of_batches_and_gets_word_by_word) {
    device d;
    tla_port_client client = d.client();
    const tla_stack_request request{100, 0, TLA_FORMAT_UNDEFINED};
    const tla_mem_object_meta meta{2, 3, {4, 5, 6}, 7, 8};
    std::vector<tla_placed_block> left(TLA_COMMAND_MAX_BLOCKS);
    for (std::uint32_t i = 0; i < left.size(); i++)
        left[i] = {{(std::uint64_t{9} << 40) + i}, 1000 + i};
    std::vector<std::uint8_t> result(TLA_COMMAND_MAX_BYTES);
    std::size_t length = 0;
    d.answers = false; // what is left comes with the completion
    std::function<void()> finish = [&] {
        tla_command command;
        BOOST_REQUIRE_EQUAL(tla_command_decode(d.port.command, d.port.staged, &command, nullptr), TLA_OK);
        tla_completion done{};
        done.request_id = command.request_id;
        done.opcode = command.opcode;
        length = command.opcode == TLA_OP_GET
                     ? tla_object_result_encode(&meta, left.data(), TLA_COMMAND_MAX_BLOCKS, result.data())
                     : tla_batch_result_encode(left.data(), command.count, result.data());
        tla_control_port_complete_with(&d.port, &done, result.data(), static_cast<std::uint32_t>(length));
    };
    struct both {
        device *d;
        std::function<void()> *finish;
    } context{&d, &finish};
    client.context = &context;
    client.relax = [](void *self) { (*static_cast<both *>(self)->finish)(); };
    client.read = [](void *self, std::uint32_t offset) { return static_cast<both *>(self)->d->read(offset); };
    client.write = [](void *self, std::uint32_t offset, std::uint32_t word) {
        static_cast<both *>(self)->d->write(offset, word);
    };
    std::vector<tla_paddr> taken(TLA_COMMAND_MAX_BLOCKS);
    BOOST_CHECK_EQUAL(tla_port_client_alloc_batch(&client, TLA_HBM, &request, TLA_COMMAND_MAX_BLOCKS, TLA_BATCH_CARVED,
                                                  taken.data(), nullptr),
                      TLA_OK);
    for (std::uint32_t i = 0; i < taken.size(); i++)
        BOOST_REQUIRE_EQUAL(taken[i].value, left[i].pa.value);
    tla_mem_object_meta found{};
    std::vector<tla_placed_block> blocks(TLA_COMMAND_MAX_BLOCKS);
    std::uint32_t count = 0;
    BOOST_CHECK_EQUAL(tla_port_client_get(&client, TLA_HBM, 5, &found, blocks.data(), 231, &count, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(count, 232u);
    BOOST_CHECK_EQUAL(found.shape[2], 6u);
    BOOST_CHECK_EQUAL(found.positions, 8u);
    BOOST_CHECK_EQUAL(blocks[230].pa.value, left[230].pa.value);
    BOOST_CHECK_EQUAL(blocks[230].nbytes, 1230u);
    BOOST_CHECK_EQUAL(blocks[231].nbytes, 0u); // there was no room for it
}
