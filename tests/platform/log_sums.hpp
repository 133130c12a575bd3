// What the event log of a run says sums up to its report.
#ifndef TLMALLOC_TESTS_PLATFORM_LOG_SUMS_HPP
#define TLMALLOC_TESTS_PLATFORM_LOG_SUMS_HPP

#include "platform/event_log.hpp"

#include <algorithm>
#include <set>

namespace log_sums {

struct logged {
    report r;
    event_log log;
    std::string text;
};

using sums = std::map<std::string, std::int64_t>;

inline void check_commands(const logged &l) {
    std::map<std::string, sums> told;
    std::map<std::int64_t, std::int64_t> engine_free_ps; // by module
    for (const json_t *row : l.log.of("memory")) {
        const std::string module = "npu." + l.log.name("modules", number(row, "module"));
        const std::string op = text_of(row, "op");
        if (text_of(row, "status") == "TLA_BUSY") { // by the fault plan, before the engine
            BOOST_CHECK(json_is_null(json_object_get(row, "free")) && json_is_null(json_object_get(row, "largest")));
            if (contains(module, ".controller")) told[module]["refused"]++; // an owner of slices tells it again
            continue;
        }
        sums &of = told[module + " " + text_of(row, "channel")];
        of["allocs"] += op == "ALLOC" || op == "PLACE";
        of["frees"] += op == "FREE";
        of["failed"] += text_of(row, "status") != "TLA_OK";
        of["busy_ps"] += number(row, "service");
        BOOST_CHECK_LE(number(row, "arrival"), number(row, "start"));
        BOOST_CHECK_LE(number(row, "start"), number(row, "done"));
    }
    for (const json_t *row : l.log.of("mapping")) { // BIND
        const std::string module = "npu." + l.log.name("modules", number(row, "module"));
        if (contains(module, ".controller") && text_of(row, "status") == "TLA_BUSY") told[module]["refused"]++;
    }
    const json_t *const config = json_object_get(l.r.json.get(), "config");
    const bool moves = text_of(config, "controller.move") != "off",
               faults = text_of(config, "mmu.fault_handler") == "controller";
    std::size_t i = 0;
    json_t *row = nullptr;
    json_array_foreach(l.r.list("controllers"), i, row) {
        sums &of = told[text_of(row, "name") + " " + text_of(row, "channel")];
        for (const char *key : {"allocs", "frees", "failed", "busy_ps"}) {
            const bool beside =
                std::string(key) == "busy_ps" && (moves || faults || json_is_integer(json_object_get(row, "commits")));
            // Commits, BIND, compaction and page faults have no row here.
            BOOST_CHECK_MESSAGE(beside ? of[key] <= number(row, key) : of[key] == number(row, key),
                                text_of(row, "name") << " " << key << ": " << of[key] << ", " << number(row, key));
        }
    }
    std::int64_t refused = 0;
    for (const auto &[module, of] : told)
        if (of.count("refused")) refused += of.at("refused");
    BOOST_CHECK_EQUAL(refused, l.r.sum("controllers", "refused_commands"));
    BOOST_CHECK_EQUAL(refused > 0, contains(l.r.run.err, "rejected by the fault plan"));
    sums of_all;
    for (const json_t *mapping : l.log.of("mapping")) {
        const std::string module = l.log.name("modules", number(mapping, "module"));
        if (module.size() < 4 || module.substr(module.size() - 4) != ".mmu") continue;
        if (text_of(mapping, "status") != "TLA_OK") continue; // it has changed nothing
        const std::int64_t ranges = number(mapping, "ranges");
        const auto all = l.log.of("ranges");
        const auto found =
            std::find_if(all.begin(), all.end(), [&](const json_t *of) { return number(of, "number") == ranges; });
        BOOST_REQUIRE(found != all.end());
        const auto entries =
            static_cast<std::int64_t>(json_array_size(json_object_get(*found, "list of [va, pa, bytes]")));
        if (text_of(mapping, "op") == "MAP") of_all["maps"] += entries;
        if (text_of(mapping, "op") == "UNMAP") of_all["unmaps"] += entries;
    }
    for (const char *key : {"maps", "unmaps"})
        BOOST_CHECK_EQUAL(of_all[key], l.r.sum("mmus", key));
    sums accesses;
    for (const json_t *access : l.log.of("access"))
        accesses[text_of(access, "what")]++;
    BOOST_CHECK_EQUAL(accesses["stale"], l.r.sum("mmus", "stale_accesses"));
    BOOST_CHECK_EQUAL(accesses["fault"], l.r.sum("mmus", "faults"));
    BOOST_CHECK_EQUAL(accesses["fallback"], l.r.sum("mmus", "pa_fallbacks"));
    BOOST_CHECK_EQUAL(accesses["demand"], l.r.sum("mmus", "demand_faults"));
}

// The report has the same DRAM commands of each slice as the log.
inline void check_dram_commands(const logged &l) {
    std::map<std::string, const json_t *> told;
    for (const json_t *row : l.log.of("commands"))
        told["npu." + l.log.name("pes", number(row, "pe")) + ".slice"] = row;
    std::size_t i = 0, with_banks = 0;
    json_t *slice = nullptr;
    json_array_foreach(l.r.list("slices"), i, slice) {
        if (!json_object_get(slice, "activates")) continue;
        with_banks++;
        const json_t *const row = told[text_of(slice, "name")];
        BOOST_REQUIRE_MESSAGE(row, text_of(slice, "name") << " has no row of commands");
        for (const char *key : {"activates", "precharges", "read_commands", "write_commands", "refreshes",
                                "idle_refreshes", "all_closed_ps", "open_bank_ps"})
            BOOST_CHECK_EQUAL(number(row, key), number(slice, key));
    }
    BOOST_CHECK_EQUAL(with_banks, told.size());
}

// The report counts the same moves and stops as the log.
inline void check_moves(const logged &l) {
    sums told, stopped;
    for (const json_t *row : l.log.of("move")) {
        const std::string place =
            "npu." + l.log.name("modules", number(row, "module")) + " " + text_of(row, "channel") + " ";
        told[place + "moved_blocks"]++;
        told[place + "moved_bytes"] += number(row, "bytes");
        told[place + "compacted_blocks"] += text_of(row, "by") == "compaction";
    }
    for (const json_t *row : l.log.of("stop"))
        stopped["npu." + l.log.name("modules", number(row, "module"))] += number(row, "end") - number(row, "begin");
    std::size_t i = 0;
    json_t *row = nullptr;
    json_array_foreach(l.r.list("controllers"), i, row) {
        if (!json_is_integer(json_object_get(row, "moved_blocks"))) continue;
        const std::string name = text_of(row, "name");
        for (const char *key : {"moved_blocks", "moved_bytes", "compacted_blocks"})
            BOOST_CHECK_EQUAL(told[name + " " + text_of(row, "channel") + " " + key], number(row, key));
        BOOST_CHECK_EQUAL(stopped[name], number(row, "stop_ps"));
    }
}

// The report counts the same page faults, and pages that leave, as the log.
inline void check_pages(const logged &l) {
    std::int64_t fetched = 0, prefetched = 0, by_controllers = 0, written = 0;
    const auto faults = l.log.of("page fault"), exits = l.log.of("page exit");
    for (const json_t *row : faults) {
        BOOST_CHECK_LE(number(row, "begin"), number(row, "end"));
        by_controllers += text_of(row, "by") == "controller";
        fetched += number(row, "fetched");
        prefetched += number(row, "prefetched");
    }
    for (const json_t *row : exits) {
        BOOST_CHECK_LT(number(row, "begin"), number(row, "end"));
        written += json_is_true(json_object_get(row, "written"));
    }
    BOOST_CHECK_EQUAL(faults.size(), l.r.sum("mmus", "demand_faults"));
    if (by_controllers > 0)
        BOOST_CHECK_EQUAL(by_controllers, l.r.sum("controllers", "given_pages") +
                                              l.r.sum("controllers", "known_pages") +
                                              l.r.sum("controllers", "collided_pages"));
    const json_t *const paging = json_object_get(l.r.json.get(), "paging");
    BOOST_CHECK(paging || (exits.empty() && fetched + prefetched == 0));
    if (!paging) return;
    BOOST_CHECK_EQUAL(exits.size(), number(paging, "evictions"));
    BOOST_CHECK_EQUAL(written, number(paging, "write_backs"));
    BOOST_CHECK_EQUAL(fetched, number(paging, "fetches"));
    BOOST_CHECK_EQUAL(prefetched, number(paging, "prefetches"));
}

// Every block that was allocated is freed, once for each reference, later, and its memory is not given to another one
// meanwhile. A block that moves has its old place until the row of its move, and then its new one.
inline void check_blocks(const logged &l) {
    struct block {
        std::int64_t module, address, bytes, references;
    };
    std::map<std::int64_t, block> live;
    std::set<std::pair<std::int64_t, std::int64_t>> occupied; // first byte, end
    const auto occupy = [&occupied](std::int64_t address, std::int64_t bytes) {
        const auto behind = occupied.lower_bound({address, 0});
        if (behind != occupied.end()) BOOST_CHECK_LE(address + bytes, behind->first);
        if (behind != occupied.begin()) BOOST_CHECK_LE(std::prev(behind)->second, address);
        occupied.insert({address, address + bytes});
    };
    for (const auto &[kind, held] : l.log.rows) {
        const json_t *const row = held.get();
        if (kind != "memory" && kind != "move") continue;
        if (!json_is_integer(json_object_get(row, "block"))) continue;
        const std::int64_t number_of_block = number(row, "block"), address = number(row, "address");
        if (kind == "move") {
            BOOST_REQUIRE(live.count(number_of_block));
            block &of = live[number_of_block];
            BOOST_CHECK_EQUAL(of.module, number(row, "module"));
            BOOST_CHECK_EQUAL(of.address, address);
            BOOST_CHECK_EQUAL(of.bytes, number(row, "bytes"));
            BOOST_CHECK_LE(number(row, "begin"), number(row, "freed"));
            occupied.erase({address, address + of.bytes});
            of.address = number(row, "to_address");
            if (json_is_null(json_object_get(row, "to_channel"))) // to another controller's block
                live.erase(number_of_block);
            else
                occupy(of.address, of.bytes);
        } else if (text_of(row, "op") == "ALLOC" || text_of(row, "op") == "PLACE") {
            if (text_of(row, "status") != "TLA_OK") continue;
            const block made{number(row, "module"), address, number(row, "bytes"), 1};
            BOOST_CHECK(live.emplace(number_of_block, made).second);
            occupy(address, made.bytes);
        } else if (text_of(row, "op") == "REF" && text_of(row, "status") == "TLA_OK") {
            live.at(number_of_block).references++;
        } else if (text_of(row, "op") == "FREE" && text_of(row, "status") == "TLA_OK") {
            BOOST_REQUIRE(live.count(number_of_block));
            block &of = live[number_of_block];
            BOOST_CHECK_EQUAL(of.module, number(row, "module"));
            BOOST_CHECK_EQUAL(of.address, address);
            if (--of.references > 0) continue;
            occupied.erase({address, address + of.bytes});
            live.erase(number_of_block);
        }
    }
    BOOST_CHECK(live.empty());
}

// What is free at most for the command of a row of the log, given its memory's row of the report: in a memory in two
// parts the room of the command's part, L1 for EVICT and PUT.
inline std::int64_t room_of_part(const json_t *command, const json_t *memory) {
    if (!json_is_integer(json_object_get(memory, "l1_bytes"))) return number(memory, "free_bytes");
    const std::string op = text_of(command, "op");
    const std::int64_t l1 = number(memory, "l1_bytes"), l1_used = number(memory, "l1_used_bytes");
    if (op == "EVICT" || op == "PUT") return l1 - l1_used;
    return number(memory, "free_bytes") - (l1 - l1_used);
}

// The free list as the last row of a channel has left it is that of the report.
inline void check_free_lists(const logged &l) {
    std::map<std::string, const json_t *> last;
    for (const auto &[kind, held] : l.log.rows)
        if (const json_t *const row = held.get();
            kind == "move" || (kind == "memory" && !text_of(row, "channel").empty()))
            last["npu." + l.log.name("modules", number(row, "module")) + " " + text_of(row, "channel")] = row;
    std::size_t i = 0, compared = 0, by_themselves = 0; // of memories that grow: commits have no row
    json_t *row = nullptr;
    json_array_foreach(l.r.list("controllers"), i, row) {
        const auto found = last.find(text_of(row, "name") + " " + text_of(row, "channel"));
        if (found == last.end()) continue;
        if (json_is_integer(json_object_get(row, "commits"))) {
            by_themselves++;
            continue;
        }
        const std::int64_t room = room_of_part(found->second, row);
        BOOST_CHECK_EQUAL(number(found->second, "free"), std::min(number(row, "free_bytes"), room));
        BOOST_CHECK_EQUAL(number(found->second, "largest"), std::min(number(row, "largest_free_bytes"), room));
        BOOST_CHECK_EQUAL(number(found->second, "free_blocks"), number(row, "free_blocks"));
        compared++;
    }
    BOOST_CHECK(compared > 0 || by_themselves > 0);
}

// The blocks that a transfer begins in are those that are allocated there while it goes on.
inline void check_transfers(const logged &l) {
    std::map<std::int64_t, std::pair<const json_t *, const json_t *>> lives; // ALLOC, FREE
    for (const json_t *row : l.log.of("memory")) {
        if (!json_is_integer(json_object_get(row, "block")) || text_of(row, "status") != "TLA_OK") continue;
        auto &[alloc, free] = lives[number(row, "block")];
        if (text_of(row, "op") == "FREE") free = row;
        if (!alloc) alloc = row;
    }
    const bool leave = text_of(json_object_get(l.r.json.get(), "config"), "mmu.eviction") != "off";
    for (const json_t *row : l.log.of("transfer")) {
        // A tile whose bytes have left for a message may be freed before the answer to the last write is back.
        const char *const in_use = json_is_true(json_object_get(row, "for_message")) ? "start" : "end";
        for (const auto &[key, address] : {std::pair{"block", "address"}, std::pair{"tile_block", "tile"}}) {
            if (leave && std::string(key) == "block") continue; // its page may have left before the transfer ended
            if (!json_is_integer(json_object_get(row, key))) {
                // Slots of messages are their receiver's: their writes go to its window.
                BOOST_CHECK(json_is_true(json_object_get(row, "for_message")) ||
                            json_is_null(json_object_get(row, address)));
                continue;
            }
            const auto &[alloc, free] = lives.at(number(row, key));
            BOOST_CHECK_LE(number(alloc, "arrival"), number(row, "end")); // on demand it comes meanwhile
            BOOST_CHECK_GE(number(free, "done"), number(row, in_use));
            const std::int64_t offset = number(row, address) - number(alloc, "address");
            if (std::string(key) == "block" && json_is_false(json_object_get(row, "physical"))) continue;
            BOOST_CHECK(offset >= 0 && offset < number(alloc, "bytes"));
        }
    }
}

inline void check_time(const logged &l) {
    std::map<std::int64_t, std::map<std::string, std::int64_t>> spent;
    std::map<std::int64_t, std::int64_t> begin_ps, end_ps;
    for (const json_t *row : l.log.of("interval")) {
        const std::int64_t who = number(row, "who"), from = number(row, "begin"), to = number(row, "end");
        BOOST_CHECK_LT(from, to);
        if (end_ps.count(who))
            BOOST_CHECK_EQUAL(end_ps[who], from);
        else
            begin_ps[who] = from;
        end_ps[who] = to;
        spent[who][text_of(row, "kind")] += to - from;
    }
    std::size_t i = 0, j = 0;
    json_t *kernel = nullptr, *part = nullptr;
    json_array_foreach(l.r.list("kernels"), i, kernel) {
        const auto who = static_cast<std::int64_t>(i) + 1;
        BOOST_CHECK_EQUAL(l.log.name("pes", who - 1), text_of(kernel, "pe"));
        sums went;
        json_array_foreach(json_object_get(kernel, "went"), j, part) went[text_of(part, "kind")] += number(part, "ps");
        BOOST_CHECK(spent[who] == went);
        if (went.empty()) continue;
        BOOST_CHECK_EQUAL(begin_ps[who], number(kernel, "start_ps"));
        BOOST_CHECK_EQUAL(end_ps[who], number(kernel, "end_ps"));
    }
    for (const json_t *launch : l.log.of("launch")) {
        const std::string module = l.log.name("modules", number(launch, "module"));
        json_array_foreach(l.r.list("kernels"), i, kernel) {
            if (text_of(kernel, "pe") + ".element" != module) continue;
            BOOST_CHECK_EQUAL(number(launch, "began"), number(kernel, "start_ps"));
            BOOST_CHECK_EQUAL(number(launch, "began") + number(launch, "took"), number(kernel, "end_ps"));
        }
    }
}

inline std::int64_t sum_of(const json_t *list) {
    std::int64_t sum = 0;
    std::size_t i = 0;
    json_t *value = nullptr;
    json_array_foreach(list, i, value) sum += json_integer_value(value);
    return sum;
}

inline void check_links(const logged &l) {
    const std::vector<const json_t *> told = l.log.of("link");
    BOOST_REQUIRE_EQUAL(told.size(), json_array_size(l.r.list("links")));
    const std::int64_t width = number(l.log.of("buckets").at(0), "width");
    for (std::size_t i = 0; i < told.size(); i++) {
        const json_t *const row = json_array_get(l.r.list("links"), i);
        BOOST_CHECK_EQUAL(number(told[i], "link"), number(row, "link"));
        const std::pair<const char *, const char *> figures[] = {
            {"bytes", "bytes"}, {"messages", "messages"}, {"busy", "busy_ps"}, {"waited", "waited_ps"}};
        for (const auto &[ours, theirs] : figures)
            BOOST_CHECK_EQUAL(sum_of(json_object_get(told[i], ours)), number(row, theirs));
        const json_t *const busy = json_object_get(told[i], "busy");
        BOOST_CHECK_LE(json_array_size(busy), 256);
        for (std::size_t bucket = 0; bucket < json_array_size(busy); bucket++)
            BOOST_CHECK_LE(json_integer_value(json_array_get(busy, bucket)), width);
    }
}

inline void check_messages(const logged &l) {
    std::int64_t bytes = 0;
    const std::vector<const json_t *> told = l.log.of("message");
    for (const json_t *row : told) {
        bytes += number(row, "bytes");
        BOOST_CHECK_LE(number(row, "sent"), number(row, "received"));
        l.log.name("pes", number(row, "from"));
        l.log.name("pes", number(row, "to"));
    }
    const json_t *const sum = l.r.list("message_sums");
    BOOST_CHECK_EQUAL(static_cast<std::int64_t>(told.size()), sum ? number(sum, "received") : 0);
    BOOST_CHECK_EQUAL(bytes, sum ? number(sum, "received_bytes") : 0);
}

// All of it, of a run that was told whole.
inline void check_all(const logged &l) {
    check_commands(l);
    check_dram_commands(l);
    check_moves(l);
    check_pages(l);
    check_blocks(l);
    check_free_lists(l);
    check_transfers(l);
    check_time(l);
    check_links(l);
    check_messages(l);
    BOOST_CHECK_EQUAL(l.log.rows.back().first, "end");
    BOOST_CHECK_EQUAL(number(l.log.rows.back().second.get(), "lost"), 0);
    BOOST_CHECK_EQUAL(number(l.log.rows.back().second.get(), "end"), l.r.number("sim_time_ps"));
    BOOST_CHECK_EQUAL(l.log.of("tensor").size(), json_array_size(l.r.list("tensors")));
}

} // namespace log_sums

#endif
