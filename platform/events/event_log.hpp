// The event log of a run (`run --events`): a line of JSON for each event. The format is on the page platform/events.md.
#ifndef TLMALLOC_PLATFORM_EVENTS_EVENT_LOG_HPP
#define TLMALLOC_PLATFORM_EVENTS_EVENT_LOG_HPP

#include "events/event_sink.hpp"
#include "events/json_line.hpp"

#include <map>
#include <string>
#include <vector>

namespace tlmalloc {

class event_log : public event_sink {
  public:
    static constexpr unsigned version = 1; // of the format

    // `kernel` is what ran, as it is called in messages. The file stays the caller's.
    event_log(std::FILE *out, bool compressed, const char *kernel);

    void begin(const event_names &names) override;
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
    void write(json_line &row);
    std::uint32_t number_of_ranges(const mapping_command &event);
    void write_links(const link_loads &links);

    text_file file_;
    const std::string kernel_;
    std::map<std::vector<std::uint64_t>, std::uint32_t> ranges_; // numbers of what MAPs are about
};

} // namespace tlmalloc
#endif
