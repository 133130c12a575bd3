// What a kernel is told of a call that fails: the call, its argument and the value, and which tile.
#include "element_bench.hpp"

#include "tlmalloc/kernel/language.h"
#include "tlmalloc/kernel/messages.h"
#include "tlmalloc/kernel/pipeline.h"

#include <functional>
#include <string>
#include <vector>

using namespace element_bench;

namespace {

using call = std::function<tla_status(tl_context *)>;

bool has(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

struct guarded_bench : bench {
    guarded_bench() = default;
    // The kernel `body`; its status and what the run says of it.
    std::string why(const call &body, tla_status expected) {
        first = body;
        const tla_status status = cpu.command(0, launch(0)).status;
        BOOST_CHECK_EQUAL(tla_status_name(status), tla_status_name(expected));
        return element.last_run().problem.text;
    }
};

tl_tile tile_of(std::uint32_t rows, std::uint32_t columns, tl_dtype type, std::uint64_t at = 1 << 20) {
    return {{std::uint64_t{1} << 37 | at}, rows, columns, type, 0};
}

} // namespace

BOOST_AUTO_TEST_CASE(every_rejected_argument_is_reported_with_its_call_and_value) {
    guarded_bench b;
    const tl_dtype none = static_cast<tl_dtype>(15);
    const tl_tile good = tile_of(4, 4, TL_F32), other = tile_of(4, 5, TL_F32), integers = tile_of(4, 4, TL_I32);
    tl_tile bad_type = good, narrow = good;
    bad_type.dtype = none;
    narrow.pitch = 3;
    const tl_tensor matrix{{hbm(0)}, 2, {4, 4}, {16, 4}, TL_F32};
    struct expected {
        std::string name; // of the call
        std::vector<std::string> says;
        call body;
        tla_status status = TLA_INVALID_ARGUMENT;
    };
    tl_tile out{};
    tl_handle handle{};
    const std::vector<expected> all{
        {"tl_alloc", {"0 x 4 of f32"}, [&](tl_context *tl) { return tl_alloc(tl, 0, 4, TL_F32, &out); }},
        {"tl_alloc", {"4 x 0 of f32"}, [&](tl_context *tl) { return tl_alloc(tl, 4, 0, TL_F32, &out); }},
        {"tl_alloc", {"type 15"}, [&](tl_context *tl) { return tl_alloc(tl, 4, 4, none, &out); }},
        {"tl_alloc",
         {"4294967295 x 4294967295 of f64"},
         [&](tl_context *tl) { return tl_alloc(tl, UINT32_MAX, UINT32_MAX, TL_F64, &out); },
         TLA_EXHAUSTED},
        {"tl_load", {"type 15"}, [&](tl_context *tl) { return tl_load(tl, &bad_type, {hbm(0)}, 16); }},
        {"tl_load", {"4 x 4", "pitch of 3"}, [&](tl_context *tl) { return tl_load(tl, &narrow, {hbm(0)}, 16); }},
        {"tl_store", {"4 x 4", "pitch of 3"}, [&](tl_context *tl) { return tl_store(tl, {hbm(0)}, 16, &narrow); }},
        {"tl_load_async",
         {"pitch of 3"},
         [&](tl_context *tl) { return tl_load_async(tl, &narrow, {hbm(0)}, 16, &handle); }},
        {"tl_store_async",
         {"type 15"},
         [&](tl_context *tl) { return tl_store_async(tl, {hbm(0)}, 16, &bad_type, &handle); }},
        {"tl_fill", {"type 15"}, [&](tl_context *tl) { return tl_fill(tl, &bad_type, 0); }},
        {"tl_dot",
         {"sum of i32", "a of f32", "b of f32"},
         [&](tl_context *tl) { return tl_dot(tl, &integers, &good, &good); }},
        {"tl_dot", {"4 x 5", "4 x 4"}, [&](tl_context *tl) { return tl_dot(tl, &good, &other, &good); }},
        {"tl_add", {"operand 2", "4 x 5"}, [&](tl_context *tl) { return tl_add(tl, &good, &good, &other); }},
        {"tl_add", {"operand 1", "type 15"}, [&](tl_context *tl) { return tl_add(tl, &good, &bad_type, &good); }},
        {"tl_exp", {"i32"}, [&](tl_context *tl) { return tl_exp(tl, &good, &integers); }},
        {"tl_sum", {"axis 2"}, [&](tl_context *tl) { return tl_sum(tl, 2, &good, &good); }},
        {"tl_max", {"4 x 4", "1 x 4"}, [&](tl_context *tl) { return tl_max(tl, 0, &good, &good); }},
        {"tl_softmax", {"4 x 5", "4 x 4"}, [&](tl_context *tl) { return tl_softmax(tl, &good, &other); }},
        {"tl_convert", {"4 x 5", "4 x 4"}, [&](tl_context *tl) { return tl_convert(tl, &good, &other); }},
        {"tl_convert", {"(a)", "type 15"}, [&](tl_context *tl) { return tl_convert(tl, &good, &bad_type); }},
        {"tl_transpose", {"4 x 5"}, [&](tl_context *tl) { return tl_transpose(tl, &good, &other); }},
        {"tl_transpose", {"(out)", "type 15"}, [&](tl_context *tl) { return tl_transpose(tl, &bad_type, &good); }},
        {"tl_load_tensor",
         {"type 15"},
         [&](tl_context *tl) { return tl->calls->load_tensor(tl, &bad_type, &matrix, nullptr, 0); }},
        {"tl_gather_rows",
         {"(index)", "type 15"},
         [&](tl_context *tl) { return tl->calls->gather_rows(tl, &good, &matrix, &bad_type); }},
        {"tl_pin", {"18446744073709551615"}, [&](tl_context *tl) { return tl_pin(tl, &good, UINT64_MAX); }},
        {"tl_free", {"4 x 4 of f32"}, [&](tl_context *tl) { return tl_free(tl, &good); }, TLA_OUT_OF_RANGE},
        {"tl_retain", {"4 x 4 of f32"}, [&](tl_context *tl) { return tl_retain(tl, &good); }, TLA_OUT_OF_RANGE},
        {"tl_unpin", {"4 x 4 of f32"}, [&](tl_context *tl) { return tl_unpin(tl, &good); }, TLA_OUT_OF_RANGE},
        {"tl_wait", {"12345"}, [&](tl_context *tl) { return tl_wait(tl, {12345}); }, TLA_NOT_FOUND},
        {"tl_send", {"message unit"}, [&](tl_context *tl) { return tl_send(tl, 0, &good); }, TLA_UNSUPPORTED},
        {"tl_composite",
         {"kind 3"},
         [&](tl_context *tl) {
             tl_composition what{};
             what.kind = static_cast<tl_composite_kind>(3);
             return tl_composite(tl, &what, nullptr);
         }},
        {"tl_composite",
         {"a of i32"},
         [&](tl_context *tl) {
             tl_composition what{};
             what.kind = TL_MATH;
             what.a = tl_pinned(&integers);
             what.out = tl_pinned(&good);
             return tl_composite(tl, &what, nullptr);
         }},
    };
    b.run([&] {
        for (const expected &one : all) {
            const std::string text = b.why(one.body, one.status);
            BOOST_CHECK_MESSAGE(text.rfind(one.name, 0) == 0, one.name << ": " << text);
            for (const std::string &part : one.says)
                BOOST_CHECK_MESSAGE(has(text, part), one.name << ", " << part << ": " << text);
        }
    });
}

BOOST_AUTO_TEST_CASE(a_full_tcm_is_reported_with_call_tile_and_bytes) {
    guarded_bench b;
    b.run([&] {
        const std::string text = b.why(
            [](tl_context *tl) {
                tl_tile half{}, more{};
                tl_alloc(tl, 1, tcm_bytes / 2, TL_U8, &half);
                const tla_status status = tl_alloc(tl, 100, 500, TL_U8, &more);
                tl_free(tl, &half);
                return status;
            },
            TLA_EXHAUSTED);
        BOOST_CHECK_EQUAL(text, "tl_alloc of 100 x 500 of u8: TCM overflow: requested 50000 bytes, 32768 free, largest "
                                "free block 32768: exhausted; free something first, or configure more memory");
    });
}

// The slice and the TCM of the bench do not refuse what was freed: a tile outside of them is answered with an error.
BOOST_AUTO_TEST_CASE(a_freed_tile_is_reported_with_call_and_tile) {
    guarded_bench b;
    std::uint64_t at = 0;
    b.run([&] {
        const std::string twice = b.why(
            [&](tl_context *tl) {
                tl_tile tile{};
                tl_alloc(tl, 4, 8, TL_F32, &tile);
                at = tile.pa.value;
                tl_free(tl, &tile);
                return tl_free(tl, &tile);
            },
            TLA_NOT_ALLOCATED);
        char expected[200];
        std::snprintf(expected, sizeof expected, "tl_free: a tile of 4 x 8 of f32 at 0x%llx that this kernel has freed",
                      static_cast<unsigned long long>(at));
        BOOST_CHECK_EQUAL(twice, expected);
        const tl_tile nowhere = tile_of(4, 8, TL_F32); // behind the slice
        const std::string outside = b.why([&](tl_context *tl) { return tl_fill(tl, &nowhere, 1); }, TLA_BUS_ERROR);
        BOOST_CHECK_MESSAGE(
            outside.rfind("tl_fill: the TCM returned an error response for a tile of 4 x 8 of f32 at 0x2000100000: ",
                          0) == 0,
            outside);
    });
}

BOOST_AUTO_TEST_CASE(a_tile_in_use_is_reported_with_operation_and_handle) {
    guarded_bench b;
    tl_tile a{}, c{};
    const auto in_between = [&](bool load, const call &body) {
        return [&a, &c, load, body](tl_context *tl) {
            tl_handle handle{};
            tla_status status = tl_alloc(tl, 4, 8, TL_F32, &a);
            if (!status) status = tl_alloc(tl, 4, 8, TL_F32, &c);
            if (!status) status = tl_fill(tl, &a, 1);
            if (!status) status = tl_fill(tl, &c, 1);
            if (!status)
                status =
                    load ? tl_load_async(tl, &a, {hbm(0)}, 32, &handle) : tl_store_async(tl, {hbm(0)}, 32, &a, &handle);
            if (!status) status = body(tl);
            tl_wait_all(tl);
            tl_free(tl, &c);
            tl_free(tl, &a);
            return status;
        };
    };
    struct expected {
        std::string name;
        bool load; // pending; else a store
        call body;
    };
    const std::vector<expected> refused{
        {"tl_add", true, [&](tl_context *tl) { return tl_add(tl, &c, &c, &a); }},
        {"tl_add", true, [&](tl_context *tl) { return tl_add(tl, &a, &c, &c); }},
        {"tl_fill", true, [&](tl_context *tl) { return tl_fill(tl, &a, 2); }},
        {"tl_fill", false, [&](tl_context *tl) { return tl_fill(tl, &a, 2); }},
        {"tl_store", true, [&](tl_context *tl) { return tl_store(tl, {hbm(4096)}, 32, &a); }},
        {"tl_load", false, [&](tl_context *tl) { return tl_load(tl, &a, {hbm(4096)}, 32); }},
        {"tl_store_async", true, [&](tl_context *tl) { return tl_store_async(tl, {hbm(4096)}, 32, &a, nullptr); }},
    };
    b.run([&] {
        for (const expected &one : refused) {
            const std::string text = b.why(in_between(one.load, one.body), TLA_BUSY);
            const std::string what = one.load ? "tl_load_async still fills" : "tl_store_async still reads";
            BOOST_CHECK_MESSAGE(text.rfind(one.name + ": a tile of 4 x 8 of f32 that " + what + " (handle ", 0) == 0,
                                text);
            BOOST_CHECK_MESSAGE(has(text, "call tl_wait first"), text);
        }
        // Reading what is stored, the other tile, what the same engine moves afterwards, and the other columns of the
        // same one disturb nobody.
        const auto fine = [&](bool load, const call &body) {
            BOOST_CHECK_EQUAL(b.why(in_between(load, body), TLA_OK), "");
        };
        fine(false, [&](tl_context *tl) { return tl_add(tl, &c, &a, &a); });
        fine(true, [&](tl_context *tl) { return tl_fill(tl, &c, 3); });
        fine(true, [&](tl_context *tl) { return tl_load_async(tl, &a, {hbm(4096)}, 32, nullptr); }); // one engine
        b.why(
            [&](tl_context *tl) {
                tl_handle handle{};
                tl_alloc(tl, 4, 8, TL_F32, &a);
                const tl_tile left = tl_view(tl, &a, 0, 0, 4, 4), right = tl_view(tl, &a, 0, 4, 4, 4),
                              middle = tl_view(tl, &a, 1, 3, 2, 2);
                BOOST_CHECK_EQUAL(tl_load_async(tl, &left, {hbm(0)}, 16, &handle), TLA_OK);
                BOOST_CHECK_EQUAL(tl_fill(tl, &right, 1), TLA_OK);
                BOOST_CHECK_EQUAL(tl_fill(tl, &middle, 1), TLA_BUSY);
                BOOST_CHECK_EQUAL(tl_wait(tl, handle), TLA_OK);
                BOOST_CHECK_EQUAL(tl_fill(tl, &middle, 1), TLA_OK);
                return tl_free(tl, &a);
            },
            TLA_OK);
    });
}
