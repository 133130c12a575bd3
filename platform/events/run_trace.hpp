// A run on a timeline (`run --trace`): its threads, arrows and counters. The page platform/trace_events.md describes it
// for users.
#ifndef TLMALLOC_PLATFORM_EVENTS_RUN_TRACE_HPP
#define TLMALLOC_PLATFORM_EVENTS_RUN_TRACE_HPP

#include "events/chrome_trace.hpp"
#include "events/event_sink.hpp"

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tlmalloc {

class run_trace : public event_sink {
  public:
    static constexpr std::size_t most_links = 64; // that are shown, the busiest ones

    // `kernel` is what ran, `config` the file, as they are called in messages. The file stays the caller's.
    run_trace(std::FILE *out, bool compressed, const char *kernel, const char *config);

    void begin(const event_names &names) override;
    void grown(const found_memory &memory, std::uint64_t ps) override { show_memory(memory, ps); }
    void add(const memory_command &event) override;
    void add(const block_move &event) override;
    void add(const move_stop &event) override;
    void add(const fault_service &event) override;
    void add(const page_exit &event) override;
    void add(const mapping_command &event) override;
    void add(const launch_command &event) override;
    void add(const troubled_access &event) override;
    void add(const time_interval &event) override;
    void add(const dma_transfer &event) override;
    void add(const message_delivery &event) override;
    void end(const run_end &end) override;

  private:
    struct pe_tracks {
        std::uint32_t kernel, reads, writes;
        std::vector<std::uint32_t> kernels; // slices
        std::vector<std::uint32_t> parts;   // of what kernels were in
    };
    // The engine of a module that takes commands.
    struct engine {
        std::uint32_t track, waiting;                              // waiting: a counter
        std::optional<std::uint32_t> pe;                           // it is the one that runs kernels
        std::uint64_t free_ps;                                     // end of its last work
        std::vector<std::pair<std::uint64_t, std::int64_t>> steps; // of what waits: ps, 1 or -1
    };
    struct memory_counters {
        std::uint32_t used, fragmentation;
    };
    struct allocation {
        std::uint32_t slice, object;
    };
    // A slice that is called "read" or so, and of which tensor will be known by its block.
    struct named_by_block {
        std::uint32_t slice;
        const char *name;
        std::uint64_t block;
    };
    struct passed_on {
        std::uint32_t slice, module;
    };
    // One that goes from module to module.
    struct request {
        std::vector<passed_on> passed;
        std::vector<std::uint32_t> arrived; // slices: where it was carried out
    };
    using request_key = std::pair<tla_opcode, std::uint64_t>; // of correlation and request

    std::uint32_t process_of(const std::string &module);
    std::uint32_t track_of(std::uint32_t module, const char *what);
    void add_pe(const std::string &name);
    void add_memory(const found_memory &found);
    void show_memory(const found_memory &memory, std::uint64_t ps);
    std::uint32_t add_command(const command_times &of, const char *category, const json_line &args);
    void add_waiting(engine &of, const command_times &times);
    void add_sender(json_line &args, const command_times &of) const;
    request &request_of(const command_times &of);
    void show_use(std::optional<std::uint64_t> block, std::uint32_t slice);
    void end_kernels();
    void name_tensors(const std::vector<named_tensor> &tensors);
    void draw_uses();
    std::optional<std::uint32_t> sent_to(const request &of, std::uint32_t slice) const;
    void draw_requests();
    void draw_messages();
    void count_waiting();
    void show_links(const link_loads &links);
    std::vector<std::uint32_t> busiest_of(const link_loads &links);
    void show_load(std::uint32_t process, const std::string &name, const link_loads &links, std::uint32_t link);
    void count_load(std::uint32_t process, const std::string &name, const link_loads &links, std::uint32_t link);
    std::optional<std::uint32_t> kernel_at(std::uint32_t pe, std::uint64_t ps, bool ends) const;
    std::string text_of(const run_end &end) const;
    std::string name_of_link(std::uint32_t link) const;

    text_file file_;
    const std::string kernel_, config_;
    chrome_trace trace_;
    event_names names_;
    std::unordered_map<std::string, std::uint32_t> processes_;
    std::uint32_t host_ = 0; // a track
    std::vector<pe_tracks> pes_;
    std::unordered_map<std::string, std::uint32_t> of_moves_;                                      // tracks, by name
    std::vector<engine> engines_;                                                                  // by module
    std::map<std::pair<std::uint32_t, std::optional<tla_memory_kind>>, memory_counters> memories_; // by module
    std::unordered_map<std::uint64_t, allocation> blocks_;                                         // by number
    std::map<std::uint64_t, std::uint32_t> uses_; // by block: the transfer that began first
    std::vector<named_by_block> transfers_;
    std::vector<std::pair<std::uint32_t, std::uint64_t>> moves_; // slices, blocks
    std::map<request_key, request> requests_;
    std::vector<message_delivery> messages_;
    std::size_t links_left_out_ = 0;
};

} // namespace tlmalloc
#endif
