// A kernel's tiles: allocation, holds and release, and the texts for tiles that are invalid, freed, or in use.
#include "kernel/element.h"
#include "kernel_operation.hpp"
#include "modules/memory/owed_frees.hpp"
#include "modules/platform/runtime_text.hpp"
#include "tile_shape.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <cinttypes>
#include <string>

namespace tlmalloc {

namespace {

// Returns "4 x 8 of f32"; for an unknown type, its number.
std::string shape_and_type(const tl_tile &tile) {
    const std::uint32_t type = raw(tile.dtype);
    return shape(tile) + " of " + (type < TL_DTYPE_COUNT ? tla_type_name(tile.dtype) : "type " + std::to_string(type));
}

std::string hexadecimal(std::uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%" PRIx64, value);
    return text;
}

// " (out)": which of the call's tiles.
std::string which(const char *argument) {
    return *argument ? " (" + std::string(argument) + ")" : "";
}

// The bytes of a tile, row by row: from `first`, `rows` times `bytes` bytes, `pitch` bytes apart.
struct rows_of {
    explicit rows_of(const tl_tile &tile) : first(tile.pa.value), bytes(bytes_of(tile)) {
        if (rows_touch(tile) || tile.rows == 0) return;
        const std::uint64_t element = tl_dtype_bytes(tile.dtype);
        rows = tile.rows;
        bytes = tile.columns * element;
        pitch = tile.pitch * element;
    }
    std::uint64_t end() const { return first + (rows - 1) * pitch + bytes; }

    std::uint64_t first, rows = 1, bytes, pitch = 0;
};

// Whether two tiles have a byte in common; views of one tile side by side have none.
bool overlap(const tl_tile &one, const tl_tile &other) {
    rows_of a(one), b(other);
    if (a.bytes == 0 || b.bytes == 0 || a.first >= b.end() || b.first >= a.end()) return false;
    while (a.rows > 0 && b.rows > 0) {
        if (a.first < b.first + b.bytes && b.first < a.first + a.bytes) return true;
        rows_of &lower = a.first < b.first ? a : b;
        lower.first += lower.pitch;
        lower.rows--;
    }
    return false;
}

} // namespace

// --- arguments -------------------------------------------------------------------------------------------------------

tla_status processing_element::check_type(const tl_tile &tile, const char *argument) {
    if (raw(tile.dtype) < TL_DTYPE_COUNT) return TLA_OK;
    return problem(TLA_INVALID_ARGUMENT, "%s: a tile%s of the unknown type %u: use a value of tl_dtype", call_,
                   which(argument).c_str(), raw(tile.dtype));
}

tla_status processing_element::check_tile(const tl_tile &tile, const char *argument) {
    if (const tla_status status = check_type(tile, argument)) return status;
    if (tile.pitch == 0 || tile.pitch >= tile.columns) return TLA_OK;
    return problem(TLA_INVALID_ARGUMENT, "%s: a tile%s of %s with a pitch of %u: must be at least its columns", call_,
                   which(argument).c_str(), shape(tile).c_str(), tile.pitch);
}

// Checks the size of a tile before its allocation: the number of its bytes must fit.
tla_status processing_element::check_size(const tl_tile &wanted) {
    if (const tla_status status = check_type(wanted, "")) return status;
    if (elements(wanted) == 0)
        return problem(TLA_INVALID_ARGUMENT, "%s: a tile of %s: must have at least one row and one column", call_,
                       shape_and_type(wanted).c_str());
    if (elements(wanted) > UINT64_MAX / tl_dtype_bytes(wanted.dtype))
        return problem(TLA_EXHAUSTED, "%s: a tile of %s: must be less than 2^64 bytes", call_,
                       shape_and_type(wanted).c_str());
    return TLA_OK;
}

// --- the allocator's answers -----------------------------------------------------------------------------------------

tla_status processing_element::refuse_alloc(const tl_tile &wanted, const tla_completion &completion) {
    const std::string what = std::string(call_) + " of " + shape_and_type(wanted) + ": TCM";
    if (is_shortage(completion))
        return problem(completion.status, "%s",
                       shortage(what, completion, bytes_of(wanted), config_.tcm_reserved,
                                limits_of(TLA_TCM, config_.tcm_segmented, config_.tcm_divided))
                           .c_str());
    return problem(completion.status, "%s: %s", what.c_str(), refusal_text(completion.status));
}

tla_status processing_element::refuse_tile(tla_status status, const tl_tile &tile) {
    const std::string what = "a tile of " + shape_and_type(tile) + " at " + hexadecimal(tile.pa.value);
    if (was_freed(tile)) return problem(status, "%s: %s that this kernel has freed", call_, what.c_str());
    if (status == TLA_BUS_ERROR)
        return problem(status,
                       "%s: the TCM returned an error response for %s: the kernel must hold the tile, and write bytes "
                       "before it reads them",
                       call_, what.c_str());
    return problem(status, "%s: %s: %s", call_, what.c_str(), refusal_text(status));
}

// --- the calls -------------------------------------------------------------------------------------------------------

// Removes one of the tiles that begin where this tile does; false if there was no such tile.
static bool drop(std::vector<tl_tile> &tiles, const tl_tile &tile) {
    const auto is_it = [&tile](const tl_tile &other) { return other.pa.value == tile.pa.value; };
    const auto found = std::find_if(tiles.begin(), tiles.end(), is_it);
    if (found == tiles.end()) return false;
    tiles.erase(found);
    return true;
}

tla_status processing_element::allocate(std::uint32_t rows, std::uint32_t columns, tl_dtype dtype, tl_tile &tile) {
    tile = tl_tile{};
    const tl_tile wanted{{}, rows, columns, dtype, 0};
    if (const tla_status status = check_size(wanted)) return status;
    tla_command descriptor{};
    descriptor.opcode = TLA_OP_ALLOC;
    descriptor.memory = TLA_TCM;
    descriptor.nbytes = bytes_of(wanted);
    tla_completion completion{};
    if (const tla_status status = command(descriptor, completion)) {
        run_.refused = completion;
        run_.refused.nbytes = descriptor.nbytes;
        completion.status = status;
        return refuse_alloc(wanted, completion);
    }
    tile = wanted;
    tile.pa = {completion.value};
    held_.push_back(tile);
    forget_freed(tile);
    while (drop(owed_, tile)) { // it was freed after all
    }
    return TLA_OK;
}

tla_status processing_element::hold(tl_hold what, const tl_tile &tile, std::uint64_t timeout_ns) {
    static const char *const calls[TL_HOLD_COUNT] = {"tl_retain", "tl_pin", "tl_unpin"};
    static const tla_opcode opcodes[TL_HOLD_COUNT] = {TLA_OP_REF, TLA_OP_PIN, TLA_OP_UNPIN};
    if (static_cast<unsigned>(what) >= TL_HOLD_COUNT)
        return problem(TLA_INVALID_ARGUMENT, "%s: unknown call %u: use a value of tl_hold", call_,
                       static_cast<unsigned>(what));
    if (timeout_ns > UINT64_MAX / 1000)
        return problem(TLA_INVALID_ARGUMENT, "%s: a time-out of %llu ns: must be at most %llu", call_,
                       static_cast<unsigned long long>(timeout_ns), static_cast<unsigned long long>(UINT64_MAX / 1000));
    if (const tla_status status = check_no_scratch(calls[what], tile)) return status;
    tla_command descriptor{};
    descriptor.opcode = opcodes[what];
    descriptor.pa = tile.pa;
    descriptor.timeout_ps = timeout_ns * 1000;
    tla_completion completion{};
    if (const tla_status status = command(descriptor, completion)) return refuse_tile(status, tile);
    if (what == TL_UNPIN)
        drop(pinned_, tile);
    else
        (what == TL_RETAIN ? held_ : pinned_).push_back(tile);
    return TLA_OK;
}

// A kernel that fails frees its tiles before it returns: a tl_free that fails too must not replace the first failure.
tla_status processing_element::release(const tl_tile &tile) {
    const tla_error before = run_.problem;
    const tla_status status = give_back(tile);
    if (status && before.status) {
        of_free_ = run_.problem;
        run_.problem = before;
    }
    return status;
}

tla_status processing_element::give_back(const tl_tile &tile) {
    if (const tla_status status = check_no_scratch("tl_free", tile)) return status;
    if (const tla_status status = check_unused(tile)) return status;
    tla_command descriptor{};
    descriptor.opcode = TLA_OP_FREE;
    descriptor.pa = tile.pa;
    descriptor.nbytes = bytes_of(tile);
    tla_completion completion{};
    const tla_status status = command(descriptor, completion);
    if (stays_owed(status)) owed_.push_back(tile);
    if (status) return refuse_tile(status, tile);
    drop(held_, tile);
    note_freed(tile);
    return TLA_OK;
}

// The kernel has ended. Frees the tiles whose tl_free was unsuccessful; the kernel fails all the same.
tla_status processing_element::free_owed() {
    if (owed_.empty()) return TLA_OK;
    const auto is_held = [this](const tl_tile &tile) {
        return std::any_of(held_.begin(), held_.end(),
                           [&tile](const tl_tile &other) { return other.pa.value == tile.pa.value; });
    };
    const tla_error before = run_.problem;
    std::vector<tl_tile> owed;
    owed.swap(owed_); // FREEs that fail again are added there
    free_owed_in_rounds(
        owed, [&](const tl_tile &tile) { return is_held(tile) ? give_back(tile) : TLA_OK; },
        [this] { delay_ += from_ps(config_.retry.delay_ps); });
    const tla_status left = owed.empty() ? TLA_OK : run_.problem.status;
    if (before.status || !left) run_.problem = before;
    return left;
}

// --- tiles that were freed -------------------------------------------------------------------------------------------

void processing_element::note_freed(const tl_tile &tile) {
    const auto same = [&tile](const tl_tile &other) { return other.pa.value == tile.pa.value; };
    if (std::none_of(held_.begin(), held_.end(), same)) freed_[tile.pa.value] = tile;
}

// The block has an owner again.
void processing_element::forget_freed(const tl_tile &taken) {
    const auto begins_before_end = freed_.lower_bound(taken.pa.value + bytes_of(taken));
    for (auto before = begins_before_end; before != freed_.begin();) {
        --before;
        if (before->first + bytes_of(before->second) <= taken.pa.value) break;
        before = freed_.erase(before);
    }
}

bool processing_element::was_freed(const tl_tile &tile) const {
    const auto behind = freed_.upper_bound(tile.pa.value);
    return behind != freed_.begin() && overlap(std::prev(behind)->second, tile);
}

// --- tiles that are in use -------------------------------------------------------------------------------------------

// A tile stays until what uses it was waited for, unless it has references that keep it.
tla_status processing_element::check_unused(const tl_tile &tile) {
    const auto same = [&tile](const tl_tile &other) { return other.pa.value == tile.pa.value; };
    if (std::count_if(held_.begin(), held_.end(), same) > 1) return TLA_OK;
    const std::uint64_t first = tile.pa.value, bytes = reach_of(tile);
    for (const auto &[handle, what] : operations_)
        for (const tile_use &used : what->uses)
            if (first < used.tile.pa.value + reach_of(used.tile) && used.tile.pa.value < first + bytes)
                return problem(TLA_BUSY,
                               "tl_free: the tile is still used by %s (handle %" PRIu64 "): call tl_wait first",
                               what->call, handle);
    return TLA_OK;
}

// A call must not read a tile that an outstanding operation writes, nor write a tile that such an operation uses.
// Transfers of one engine are moved one after the other. Several messages may be in flight into one tile, like the
// tokens of a barrier: only the last stays.
tla_status processing_element::check_use(const tl_tile &tile, bool written, const void *engine) {
    if (config_.tells_freed && was_freed(tile))
        SC_REPORT_WARNING("/tlmalloc/processing_element/guard",
                          (std::string(name()) + ": " + call_ + ": a tile of " + shape_and_type(tile) + " at " +
                           hexadecimal(tile.pa.value) + " that this kernel has freed")
                              .c_str());
    for (const auto &[handle, what] : operations_)
        for (const tile_use &used : what->uses)
            if ((written || used.written) && !(engine && what->engine == engine) && overlap(used.tile, tile))
                return problem(TLA_BUSY, "%s: a tile of %s that %s still %s (handle %" PRIu64 "): call tl_wait first",
                               call_, shape_and_type(tile).c_str(), what->call, used.written ? "fills" : "reads",
                               handle);
    return TLA_OK;
}

} // namespace tlmalloc
