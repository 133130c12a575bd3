#include "split_access.hpp"

#include "payload.hpp"
#include "tlmalloc/modules/requester.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>

namespace tlmalloc {

namespace {

// The part of an access that belongs to bytes [offset, offset + nbytes) of its span.
class part_of_access {
  public:
    part_of_access(tlm::tlm_generic_payload &whole, std::uint64_t offset, std::uint64_t nbytes)
        : whole_(whole), offset_(offset), nbytes_(nbytes), streams_(payload_span(whole) < whole.get_data_length()) {}

    tlm::tlm_response_status transport(tlm::tlm_fw_transport_if<> &out, tla_paddr pa, transfer_extent *extent,
                                       sc_core::sc_time &delay) {
        tlm::tlm_generic_payload part;
        gather();
        part.set_command(whole_.get_command());
        part.set_address(pa.value);
        part.set_data_ptr(streams_ && whole_.get_data_ptr() ? data_.data() : first());
        part.set_data_length(length_);
        part.set_streaming_width(static_cast<unsigned>(nbytes_));
        if (whole_.get_byte_enable_ptr()) {
            part.set_byte_enable_ptr(enables_.data());
            part.set_byte_enable_length(length_);
        }
        requester *const who = whole_.get_extension<requester>();
        part.set_extension(who);
        part.set_extension(extent);
        out.b_transport(part, delay);
        part.clear_extension(who);
        part.clear_extension(extent);
        if (streams_ && whole_.is_read() && part.is_response_ok()) scatter();
        return part.get_response_status();
    }

  private:
    std::uint8_t *first() const { return whole_.get_data_ptr() ? whole_.get_data_ptr() + offset_ : nullptr; }

    // Calls visit(index, n) for each run of the whole's data that is the part's: one for each pass over the span.
    template <typename Visit>
    void each_run(Visit visit) const {
        const std::uint64_t length = whole_.get_data_length(), span = payload_span(whole_);
        for (std::uint64_t pass = 0; pass + offset_ < length; pass += span)
            visit(pass + offset_, std::min(nbytes_, length - pass - offset_));
    }

    // Bytes that are disabled keep what they are, so the data of a read are gathered too.
    void gather() {
        const std::uint8_t *data = streams_ ? whole_.get_data_ptr() : nullptr, *all = whole_.get_byte_enable_ptr();
        each_run([&](std::uint64_t index, std::uint64_t n) {
            length_ += static_cast<unsigned>(n);
            if (data) data_.insert(data_.end(), data + index, data + index + n);
            for (std::uint64_t i = index; all && i < index + n; i++)
                enables_.push_back(all[i % whole_.get_byte_enable_length()]);
        });
    }

    void scatter() {
        auto from = data_.begin();
        each_run([&](std::uint64_t index, std::uint64_t n) {
            std::copy_n(from, n, whole_.get_data_ptr() + index);
            from += static_cast<std::ptrdiff_t>(n);
        });
    }

    tlm::tlm_generic_payload &whole_;
    const std::uint64_t offset_, nbytes_;
    const bool streams_;
    unsigned length_ = 0;
    std::vector<std::uint8_t> data_, enables_; // data: only where it streams
};

} // namespace

void transport_split(tlm::tlm_fw_transport_if<> &out, tlm::tlm_generic_payload &payload,
                     const std::vector<tla_mmu_piece> &pieces, std::vector<transfer_extent> &extents,
                     sc_core::sc_time &delay) {
    tlm::tlm_response_status status = check_attributes(payload);
    payload.set_response_status(status);
    if (status != tlm::TLM_OK_RESPONSE) return;
    const std::uint64_t start = local_ps(delay);
    std::uint64_t end = start, offset = 0;
    for (std::size_t i = 0; i < pieces.size(); i++) {
        const tla_mmu_piece &piece = pieces[i];
        sc_core::sc_time part_delay;
        set_local_ps(part_delay, std::max(start, to_ps(sc_core::sc_time_stamp())));
        const tlm::tlm_response_status answer =
            part_of_access(payload, offset, piece.nbytes)
                .transport(out, piece.pa, extents.empty() ? nullptr : &extents[i], part_delay);
        end = std::max(end, local_ps(part_delay));
        if (status == tlm::TLM_OK_RESPONSE) status = answer;
        offset += piece.nbytes;
    }
    set_local_ps(delay, end);
    payload.set_response_status(status);
}

} // namespace tlmalloc
