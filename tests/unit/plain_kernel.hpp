// Kernels on plain memory: a table of calls without time, and the host's side of a run. For tests.
#ifndef TLMALLOC_TESTS_PLAIN_KERNEL_HPP
#define TLMALLOC_TESTS_PLAIN_KERNEL_HPP

#include "model/kernel/element.h"
#include "model/kernel/tile_math.h"
#include "model/kernel/tile_transfer.h"
#include "model/kernel/tile_vector.h"
#include "programs/program.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

constexpr uint64_t memory_base = 0x100000000;

// Messages of programs that run as threads, of which one goes on at a time: whoever has the turn.
struct plain_mail {
    std::mutex turn;
    std::condition_variable sent;
    std::map<std::pair<uint32_t, uint32_t>, std::deque<std::vector<uint8_t>>> letters; // by sender and receiver
};

// One program on a PE of plain memory. Every tl_* call that can fail counts; call number fail_at fails.
struct plain_program : tl_context {
    plain_program() : tl_context{&table()} {}

    uint32_t program = 0, programs = 1;
    std::vector<uint64_t> arguments;
    std::vector<uint8_t> *memory = nullptr; // virtual addresses from memory_base on
    std::vector<bool> *stored = nullptr;    // which bytes of memory a store has written
    plain_mail *mail = nullptr; // none: whoever waits for a message has it, and its bytes are those that the tile had
    uint64_t tcm_bytes = 1 << 20, tcm_used = 0, tcm_peak = 0;
    std::map<uint64_t, std::vector<uint8_t>> tiles, scratch; // live allocations by physical address
    uint64_t next_pa = 0x1000;
    unsigned made = 0, fail_at = 0, allocations = 0;
    uint64_t begun = 0;                                       // what does not wait
    std::map<uint64_t, std::pair<uint32_t, tl_tile>> awaited; // messages, by their handles
    uint64_t bytes_loaded = 0;
    bool bad_access = false;
    std::string said;

    using bytes = std::vector<uint8_t>;

    static plain_program &of(tl_context *tl) { return *static_cast<plain_program *>(tl); }
    static const plain_program &of(const tl_context *tl) { return *static_cast<const plain_program *>(tl); }

    bool fails() { return ++made == fail_at; }

    static uint64_t row_bytes(const tl_tile &tile) { return uint64_t(tile.columns) * tl_dtype_bytes(tile.dtype); }
    static uint64_t size_of(const tl_tile &tile) { return tile.rows * row_bytes(tile); }
    static uint64_t pitch_bytes(const tl_tile &tile) {
        return tile.pitch ? uint64_t(tile.pitch) * tl_dtype_bytes(tile.dtype) : row_bytes(tile);
    }

    // Where bytes of the TCM are; nullptr, and a note, when they are not wholly inside a live allocation.
    uint8_t *tcm(uint64_t pa, uint64_t nbytes) {
        for (auto *blocks : {&tiles, &scratch}) {
            auto at = blocks->upper_bound(pa);
            if (at == blocks->begin()) continue;
            --at;
            const uint64_t offset = pa - at->first;
            if (offset <= at->second.size() && nbytes <= at->second.size() - offset) return at->second.data() + offset;
        }
        bad_access = true;
        return nullptr;
    }
    bytes get(const tl_tile &tile) {
        bytes result(size_of(tile));
        for (uint32_t row = 0; row < tile.rows; row++)
            if (const uint8_t *at = tcm(tile.pa.value + row * pitch_bytes(tile), row_bytes(tile)))
                std::copy_n(at, row_bytes(tile), result.begin() + long(row * row_bytes(tile)));
        return result;
    }
    void put(const tl_tile &tile, const bytes &from) {
        for (uint32_t row = 0; row < tile.rows; row++)
            if (uint8_t *at = tcm(tile.pa.value + row * pitch_bytes(tile), row_bytes(tile)))
                std::copy_n(from.begin() + long(row * row_bytes(tile)), row_bytes(tile), at);
    }

    // The bytes at a virtual address; nullptr, and a note, outside of the memory.
    uint8_t *outside(uint64_t va, uint64_t nbytes) {
        const uint64_t offset = va - memory_base;
        if (offset <= memory->size() && nbytes <= memory->size() - offset) return memory->data() + offset;
        bad_access = true;
        return nullptr;
    }
    tla_status move(const tl_tile &tile, const tl_tensor &tensor, const uint8_t *mask, bool load) {
        if (tla_tile_transfer_check("", &tile, &tensor, nullptr)) return TLA_INVALID_ARGUMENT;
        tla_tile_transfer transfer;
        tla_tile_transfer_begin(&transfer, &tile, &tensor, mask);
        for (tla_tile_part part; tla_tile_transfer_next(&transfer, &part);)
            for (uint64_t row = 0; row < part.rows; row++) {
                uint8_t *out = outside(part.va + row * part.pitch, part.row_bytes),
                        *in = tcm(tile.pa.value + part.offset + row * part.row_bytes, part.row_bytes);
                if (!out || !in) return TLA_BUS_ERROR;
                std::memcpy(load ? in : out, load ? out : in, part.row_bytes);
                if (load) bytes_loaded += part.row_bytes;
                for (uint64_t i = 0; !load && i < part.row_bytes; i++)
                    (*stored)[size_t(out - memory->data()) + i] = true;
            }
        return TLA_OK;
    }

    // An operation that reads tiles and writes one; the result may be written over an operand.
    tla_status compute(const tl_tile &out, std::vector<tl_tile> from,
                       const std::function<tla_status(const tla_matrix &, const tla_matrix *)> &body) {
        if (fails()) return TLA_UNSUPPORTED;
        std::vector<bytes> data;
        std::vector<tla_matrix> matrices;
        for (const tl_tile &tile : from)
            data.push_back(get(tile));
        for (size_t i = 0; i < from.size(); i++)
            matrices.push_back({data[i].data(), from[i].dtype, from[i].rows, from[i].columns});
        bytes result = get(out);
        const tla_status status = body({result.data(), out.dtype, out.rows, out.columns}, matrices.data());
        if (!status) put(out, result);
        return status;
    }

    static const tl_calls &table();
};

namespace plain_calls {

inline tla_status transfer(tl_context *tl, const tl_tile &tile, tla_vaddr va, uint64_t pitch, bool load) {
    auto &program = plain_program::of(tl);
    if (program.fails()) return TLA_BUS_ERROR;
    return program.move(tile, {va, 2, {tile.rows, tile.columns}, {pitch, tl_dtype_bytes(tile.dtype)}, tile.dtype},
                        nullptr, load);
}

inline tla_status allocate(tl_context *tl, uint32_t rows, uint32_t columns, tl_dtype dtype, tl_tile *tile,
                           bool scratch) {
    auto &program = plain_program::of(tl);
    *tile = tl_tile{};
    const tl_tile wanted{{program.next_pa}, rows, columns, dtype, 0};
    const uint64_t nbytes = plain_program::size_of(wanted);
    if (program.fails()) return scratch ? TLA_EXHAUSTED : TLA_FRAGMENTED;
    if (nbytes == 0) return TLA_INVALID_ARGUMENT;
    if (nbytes > program.tcm_bytes - program.tcm_used) return TLA_EXHAUSTED;
    *tile = wanted;
    (scratch ? program.scratch : program.tiles)[program.next_pa] = std::vector<uint8_t>(nbytes, 0xEE);
    program.next_pa += nbytes + 64;
    program.tcm_used += nbytes;
    program.tcm_peak = std::max(program.tcm_peak, program.tcm_used);
    program.allocations++;
    return TLA_OK;
}

inline tla_status release(tl_context *tl, const tl_tile *tile) {
    auto &program = plain_program::of(tl);
    const uint64_t nbytes = plain_program::size_of(*tile);
    const auto at = program.tiles.find(tile->pa.value);
    if (at == program.tiles.end()) return TLA_NOT_ALLOCATED;
    if (at->second.size() != nbytes) return TLA_SIZE_MISMATCH;
    const bool fails = program.fails(); // the memory is gone all the same: the answer was lost
    program.tiles.erase(at);
    program.tcm_used -= nbytes;
    return fails ? TLA_BUS_ERROR : TLA_OK;
}

inline tla_status map(tl_context *tl, uint32_t number, const tl_tile *out, const std::vector<tl_tile> &from) {
    const tla_operation what{"", uint32_t(from.size()), number};
    return plain_program::of(tl).compute(*out, from, [&](const tla_matrix &o, const tla_matrix *operands) {
        if (tla_matrix_check(&what, &o, operands, nullptr)) return TLA_INVALID_ARGUMENT;
        tla_matrix_map(&what, &o, operands);
        return TLA_OK;
    });
}

inline tla_status begin(tl_context *tl, const tl_tile &tile, tla_vaddr va, uint64_t pitch, tl_handle *handle,
                        bool load) {
    const tla_status status = transfer(tl, tile, va, pitch, load); // has ended when it returns
    if (handle) handle->value = status ? 0 : ++plain_program::of(tl).begun;
    return status;
}

// A product without steps, whole: its matrices come into tiles, of which each is given back.
inline tla_status multiply(tl_context *tl, const tl_composition *what, tl_handle *handle) {
    const tl_calls *const calls = tl->calls;
    std::vector<tl_tile> taken;
    tla_status status = TLA_OK;
    const auto take = [&](uint32_t rows, uint32_t columns, tl_dtype dtype) {
        tl_tile tile{};
        if (!status) status = calls->alloc(tl, rows, columns, dtype, &tile);
        if (!status) taken.push_back(tile);
        return tile;
    };
    const auto tile_of = [&](const tl_operand &operand, bool load) {
        if (operand.kind == TL_PINNED) return operand.tile;
        const tl_tile tile = take(operand.tensor.shape[0], operand.tensor.shape[1], operand.tensor.dtype);
        if (!status && load) status = calls->load_tensor(tl, &tile, &operand.tensor, nullptr, 0);
        return tile;
    };
    BOOST_REQUIRE(what->kind == TL_GEMM && what->step_count == 0 && what->out.kind == TL_STREAMED);
    const tl_tile a = tile_of(what->a, true), b = tile_of(what->b, true), out = tile_of(what->out, false),
                  sum = take(out.rows, out.columns, TL_F32);
    if (!status) status = calls->fill(tl, &sum, 0);
    if (!status) status = calls->dot(tl, &sum, &a, &b);
    if (!status) status = calls->convert(tl, &out, &sum);
    if (!status) status = calls->store_tensor(tl, &what->out.tensor, &out, nullptr);
    for (const tl_tile &tile : taken) {
        const tla_status freed = calls->free(tl, &tile);
        if (!status) status = freed;
    }
    if (handle) handle->value = status ? 0 : ++plain_program::of(tl).begun;
    return status;
}

} // namespace plain_calls

inline const tl_calls &plain_program::table() {
    static const tl_calls made = [] {
        using namespace plain_calls;
        tl_calls t{};
        t.version = TL_CALLS_VERSION;
        t.bytes = sizeof t;
        // One cube of `programs` PEs.
        t.program_id = [](const tl_context *tl, uint32_t axis) {
            return axis == TL_PE || axis == TL_ALL ? of(tl).program : 0;
        };
        t.num_programs = [](const tl_context *tl, uint32_t axis) {
            return axis == TL_PE || axis == TL_ALL ? of(tl).programs : 1;
        };
        t.argument = [](const tl_context *tl, uint32_t index) {
            return index < of(tl).arguments.size() ? of(tl).arguments[index] : 0;
        };
        t.fail = [](tl_context *tl, tla_status status, const char *why) {
            of(tl).said = why;
            return status;
        };
        t.end = [](tl_context *, tla_status, const char *why) { throw std::runtime_error(why); };
        t.alloc = [](tl_context *tl, uint32_t rows, uint32_t columns, tl_dtype dtype, tl_tile *tile) {
            return allocate(tl, rows, columns, dtype, tile, false);
        };
        t.scratch = [](tl_context *tl, uint32_t rows, uint32_t columns, tl_dtype dtype, tl_tile *tile) {
            return allocate(tl, rows, columns, dtype, tile, true);
        };
        t.free = release;
        t.load = [](tl_context *tl, const tl_tile *tile, tla_vaddr source, uint64_t pitch) {
            return transfer(tl, *tile, source, pitch, true);
        };
        t.store = [](tl_context *tl, tla_vaddr destination, uint64_t pitch, const tl_tile *tile) {
            return transfer(tl, *tile, destination, pitch, false);
        };
        t.load_async = [](tl_context *tl, const tl_tile *tile, tla_vaddr source, uint64_t pitch, tl_handle *handle) {
            return begin(tl, *tile, source, pitch, handle, true);
        };
        t.store_async = [](tl_context *tl, tla_vaddr destination, uint64_t pitch, const tl_tile *tile,
                           tl_handle *handle) { return begin(tl, *tile, destination, pitch, handle, false); };
        t.wait = [](tl_context *tl, tl_handle handle) {
            if (handle.value == 0) return TLA_OK;
            auto &messages = of(tl).awaited;
            const auto found = messages.find(handle.value);
            if (found == messages.end()) return of(tl).fails() ? TLA_BUS_ERROR : TLA_OK;
            const auto [peer, tile] = found->second;
            messages.erase(found);
            return tl->calls->receive(tl, peer, &tile);
        };
        t.wait_all = [](tl_context *tl) { return of(tl).fails() ? TLA_BUS_ERROR : TLA_OK; };
        t.send = [](tl_context *tl, uint32_t peer, const tl_tile *tile) {
            plain_program &p = of(tl);
            if (p.fails()) return TLA_BUS_ERROR;
            if (!p.mail) return TLA_OK;
            p.mail->letters[{p.program, peer}].push_back(p.get(*tile));
            p.mail->sent.notify_all();
            return TLA_OK;
        };
        t.receive = [](tl_context *tl, uint32_t peer, const tl_tile *tile) {
            plain_program &p = of(tl);
            if (p.fails()) return TLA_BUS_ERROR;
            if (!p.mail) return TLA_OK;
            std::unique_lock<std::mutex> turn(p.mail->turn, std::adopt_lock);
            auto &letters = p.mail->letters[{peer, p.program}];
            p.mail->sent.wait(turn, [&] { return !letters.empty(); });
            turn.release();
            const bytes letter = letters.front();
            letters.pop_front();
            if (letter.size() != size_of(*tile)) return TLA_INVALID_ARGUMENT;
            p.put(*tile, letter);
            return TLA_OK;
        };
        t.program_at = [](tl_context *, uint32_t, uint32_t, uint32_t pe, uint32_t *found) {
            *found = pe;
            return TLA_OK;
        };
        t.mesh_columns = [](const tl_context *) { return 1u; };
        t.place_of = [](tl_context *, uint32_t which, tl_place *place) {
            *place = {0, 0, which};
            return TLA_OK;
        };
        t.collective_settings = [](const tl_context *, tl_collective_settings *settings) { *settings = {}; };
        // Taken by the wait: whoever sends does not wait for it.
        t.receive_async = [](tl_context *tl, uint32_t peer, const tl_tile *tile, tl_handle *handle) {
            if (handle) *handle = tl_handle{};
            if (of(tl).fails()) return TLA_BUS_ERROR;
            const uint64_t number = ++of(tl).begun;
            of(tl).awaited[number] = {peer, *tile};
            if (handle) *handle = tl_handle{number};
            return TLA_OK;
        };
        t.composite = multiply;
        t.load_tensor = [](tl_context *tl, const tl_tile *tile, const tl_tensor *tensor, const tl_tile *mask,
                           float other) {
            if (of(tl).fails()) return TLA_BUS_ERROR;
            if (!mask) return of(tl).move(*tile, *tensor, nullptr, true);
            bytes filled(size_of(*tile));
            tla_tile_fill(filled.data(), tile->dtype, other, size_t(tile->rows) * tile->columns);
            of(tl).put(*tile, filled);
            return of(tl).move(*tile, *tensor, of(tl).get(*mask).data(), true);
        };
        t.store_tensor = [](tl_context *tl, const tl_tensor *tensor, const tl_tile *tile, const tl_tile *mask) {
            if (of(tl).fails()) return TLA_BUS_ERROR;
            return of(tl).move(*tile, *tensor, mask ? of(tl).get(*mask).data() : nullptr, false);
        };
        t.gather_rows = [](tl_context *tl, const tl_tile *tile, const tl_tensor *tensor, const tl_tile *index) {
            if (of(tl).fails()) return TLA_BUS_ERROR;
            const bytes indices = of(tl).get(*index);
            const uint32_t count = index->rows * index->columns, size = tl_dtype_bytes(index->dtype);
            for (uint32_t i = 0; i < count; i++) {
                tl_tile row = *tile;
                row.rows /= count;
                row.pa.value += i * row.rows * pitch_bytes(*tile);
                tl_tensor one = *tensor;
                const uint64_t which = tla_element_get_integer(indices.data() + i * size, index->dtype);
                if (which >= tensor->shape[0]) return TLA_INVALID_ARGUMENT;
                one.va.value += which * tensor->stride[0];
                one.shape[0] = 1;
                if (const tla_status status = of(tl).move(row, one, nullptr, true)) return status;
            }
            return TLA_OK;
        };
        t.dot = [](tl_context *tl, const tl_tile *sum, const tl_tile *a, const tl_tile *b) {
            return of(tl).compute(*sum, {*a, *b}, [](const tla_matrix &s, const tla_matrix *m) {
                if (s.type != TL_F32 || m[0].columns != m[1].rows || s.rows != m[0].rows || s.columns != m[1].columns)
                    return TLA_INVALID_ARGUMENT;
                tla_tile_dot(s.bytes, m[0].bytes, m[0].type, m[1].bytes, m[1].type, s.rows, m[0].columns, s.columns);
                return TLA_OK;
            });
        };
        t.transpose = [](tl_context *tl, const tl_tile *out, const tl_tile *a) {
            return of(tl).compute(*out, {*a}, [](const tla_matrix &o, const tla_matrix *m) {
                if (o.type != m->type || o.rows != m->columns || o.columns != m->rows) return TLA_INVALID_ARGUMENT;
                tla_tile_transpose(o.bytes, m->bytes, tl_dtype_bytes(o.type), m->rows, m->columns);
                return TLA_OK;
            });
        };
        t.fill = [](tl_context *tl, const tl_tile *tile, float value) {
            return of(tl).compute(*tile, {}, [&](const tla_matrix &o, const tla_matrix *) {
                tla_tile_fill(o.bytes, o.type, value, size_t(o.rows) * o.columns);
                return TLA_OK;
            });
        };
        t.convert = [](tl_context *tl, const tl_tile *out, const tl_tile *a) {
            return of(tl).compute(*out, {*a}, [](const tla_matrix &o, const tla_matrix *m) {
                if (o.rows != m->rows || o.columns != m->columns) return TLA_INVALID_ARGUMENT;
                tla_tile_convert(o.bytes, o.type, m->bytes, m->type, size_t(o.rows) * o.columns);
                return TLA_OK;
            });
        };
        t.unary = [](tl_context *tl, tl_unary what, const tl_tile *out, const tl_tile *a) {
            return map(tl, what, out, {*a});
        };
        t.binary = [](tl_context *tl, tl_binary what, const tl_tile *out, const tl_tile *a, const tl_tile *b) {
            return map(tl, what, out, {*a, *b});
        };
        t.ternary = [](tl_context *tl, tl_ternary what, const tl_tile *out, const tl_tile *a, const tl_tile *b,
                       const tl_tile *c) {
            return map(tl, what, out, {*a, *b, *c});
        };
        t.reduce = [](tl_context *tl, tl_reduction what, uint32_t axis, const tl_tile *out, const tl_tile *a) {
            return of(tl).compute(*out, {*a}, [&](const tla_matrix &o, const tla_matrix *m) {
                if (tla_matrix_reduce_check(what, axis, &o, m, nullptr)) return TLA_INVALID_ARGUMENT;
                tla_matrix_reduce(what, axis, &o, m);
                return TLA_OK;
            });
        };
        t.softmax = [](tl_context *tl, const tl_tile *out, const tl_tile *a) {
            return of(tl).compute(*out, {*a}, [](const tla_matrix &o, const tla_matrix *m) {
                if (tla_matrix_softmax_check(&o, m, nullptr)) return TLA_INVALID_ARGUMENT;
                tla_matrix_softmax(&o, m);
                return TLA_OK;
            });
        };
        return t;
    }();
    return made;
}

// The host: tensors side by side in memory, inputs filled, outputs full of 0xCC.
struct plain_run {
    const tl_kernel_info &kernel;
    tl_workload workload;
    std::vector<uint8_t> memory;
    std::vector<bool> stored;
    std::vector<uint64_t> offsets;

    plain_run(const char *name, uint32_t programs, uint64_t elements_per_pe, uint64_t seed = 1,
              const std::vector<const char *> &parameters = {})
        : kernel(*tl_find_kernel(name)), workload(tl_kernel_workload(&kernel, programs, elements_per_pe, seed)) {
        for (const char *parameter : parameters)
            BOOST_REQUIRE_EQUAL(tl_kernel_set_parameter(&kernel, parameter, &workload, nullptr), TLA_OK);
        for (uint32_t i = 0; i < tl_kernel_tensor_count(&kernel); i++) {
            offsets.push_back(memory.size() + 256); // a gap around each, which must stay as it is
            memory.resize(offsets[i] + tl_kernel_tensor_bytes(&kernel, &workload, i) + 256, 0xCC);
            if (tl_kernel_goes_in(&kernel, i)) tl_kernel_fill(&kernel, &workload, i, memory.data() + offsets[i]);
        }
        stored.resize(memory.size());
    }
    plain_program context(uint32_t program) {
        plain_program tl;
        tla_vaddr at[TL_KERNEL_TENSORS_MAX];
        for (uint32_t i = 0; i < tl_kernel_tensor_count(&kernel); i++)
            at[i].value = memory_base + offsets[i];
        tl.arguments.resize(TL_KERNEL_ARGUMENTS_MAX);
        tl.arguments.resize(tl_kernel_arguments(&kernel, &workload, at, tl.arguments.data()));
        tl.program = program;
        tl.programs = workload.programs;
        tl.memory = &memory;
        tl.stored = &stored;
        return tl;
    }
    tla_status verify(tla_error *error) {
        const void *tensors[TL_KERNEL_TENSORS_MAX], *files[TL_KERNEL_TENSORS_MAX] = {};
        for (uint32_t i = 0; i < tl_kernel_tensor_count(&kernel); i++)
            tensors[i] = memory.data() + offsets[i];
        return tl_kernel_verify(&kernel, &workload, tensors, files, error);
    }
    // Runs every program; all must succeed, keep inside their memory, give everything back and take what they are sent.
    void launch() {
        plain_mail mail;
        std::vector<plain_program> all;
        std::vector<tla_status> status(workload.programs, TLA_UNSUPPORTED);
        std::vector<std::thread> threads;
        for (uint32_t program = 0; program < workload.programs; program++) {
            all.push_back(context(program));
            all.back().mail = &mail;
        }
        for (uint32_t program = 0; program < workload.programs; program++)
            threads.emplace_back([&, program] {
                const std::lock_guard<std::mutex> turn(mail.turn);
                status[program] = kernel.run(&all[program]);
            });
        for (std::thread &thread : threads)
            thread.join();
        for (uint32_t program = 0; program < workload.programs; program++) {
            BOOST_REQUIRE_MESSAGE(status[program] == TLA_OK, tla_status_name(status[program])
                                                                 << ": " << all[program].said);
            BOOST_REQUIRE(all[program].tiles.empty());
            BOOST_REQUIRE(!all[program].bad_access);
        }
        for (const auto &[way, letters] : mail.letters)
            BOOST_REQUIRE_MESSAGE(letters.empty(), way.first << " to " << way.second);
    }
    void check_every_output_byte_and_no_other_is_written() {
        std::vector<bool> expected(memory.size());
        for (uint32_t i = 0; i < tl_kernel_tensor_count(&kernel); i++)
            for (uint64_t byte = 0;
                 tl_kernel_comes_out(&kernel, i) && byte < tl_kernel_tensor_bytes(&kernel, &workload, i); byte++)
                expected[offsets[i] + byte] = true;
        BOOST_CHECK(stored == expected);
    }
};

#endif
