// SPDX-License-Identifier: MIT
// Records, KeyUpdate and alerts. A record that is whole in the block that brought it is opened
// there, and the contents of several are moved together. Only a record that spans blocks needs
// memory. After an error the alert is the last record that is sealed.
#include "tls/record_engine.hh"

#include <openssl/crypto.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "tls/trouble.hh"

namespace heddle::tls::detail {
namespace {

constexpr const char* reading = "reading from a TLS stream: ";
constexpr std::size_t key_update_bytes = 5;
// AES-GCM stays safe for 2^24.5 full records with one key (RFC 8446, 5.5).
constexpr std::uint64_t key_records_max = std::uint64_t{1} << 24;

// The head of a KeyUpdate (RFC 8446, 4 and 4.6.3): type, and a length of 1 in three bytes.
constexpr std::array key_update_head{std::byte{24}, std::byte{0}, std::byte{0}, std::byte{1}};

std::size_t length_in(const std::byte* head) noexcept {
  return std::to_integer<std::size_t>(head[3]) << 8 | std::to_integer<std::size_t>(head[4]);
}

}  // namespace

/// Values of AlertDescription (RFC 8446, 6).
enum class record_engine::alert : std::uint8_t {
  close_notify = 0,
  unexpected_message = 10,
  bad_record_mac = 20,
  record_overflow = 22,
  illegal_parameter = 47,
  decode_error = 50,
  user_canceled = 90,
};

record_engine::record_engine(const record_start& start, const limits& bounds)
    : engine(bounds, engine_state::used),
      read_(start.kind, start.of_peer),
      write_(start.kind, start.of_us),
      agreed_(start.agreed) {
  write_.set_sequence(start.sent);
}

record_engine::~record_engine() { drop_half(); }

void record_engine::take_over(received&& in, std::size_t eaten, out_buffer&& out,
                              bool input_ended) noexcept {
  in_ = std::move(in);
  eaten_ = eaten;
  out_ = std::move(out);
  input_ended_ = input_ended;
}

void record_engine::drop_half() noexcept {
  std::free(half_);
  half_ = nullptr;
  half_have_ = 0;
}

bool record_engine::no_memory() {
  fail({std::errc::not_enough_memory, std::string(reading) + "out of memory"});
  return false;
}

/// Sends the alert; the stream fails.
bool record_engine::refuse(alert what, const char* why) {
  static_cast<void>(send_alert(true, what));
  if (!broken()) fail({std::errc::protocol_error, std::string(reading) + why});
  return false;
}

bool record_engine::head_is_good(const std::byte* head) {
  if (head[0] != static_cast<std::byte>(content::application_data))
    return refuse(alert::unexpected_message, "a record that is not encrypted");
  const std::size_t length = length_in(head);
  if (length > ciphertext_bytes_max)
    return refuse(alert::record_overflow, "a record of more than 16,640 bytes");
  if (length <= record_tag_bytes)
    return refuse(alert::bad_record_mac, "a record that is shorter than its tag");
  return true;
}

/// Adds bytes of the block to a record that spans blocks; false if it is not whole yet, or broken.
bool record_engine::fill_half() {
  const auto take = [this](std::byte* into, std::size_t wanted) {
    const std::size_t part = std::min(wanted, in_.size() - eaten_);
    std::memcpy(into, in_.data().data() + eaten_, part);
    eaten_ += part;
    half_have_ = static_cast<std::uint16_t>(half_have_ + part);
    return part == wanted;
  };
  if (half_have_ < record_head_bytes) {
    if (!take(head_.data() + half_have_, record_head_bytes - half_have_)) return false;
    if (!head_is_good(head_.data())) return false;
  }
  const std::size_t whole = record_head_bytes + length_in(head_.data());
  if (half_ == nullptr) {
    half_ = static_cast<std::byte*>(std::malloc(whole));
    if (half_ == nullptr) return no_memory();
    std::ranges::copy(head_, half_);
  }
  return take(half_ + half_have_, whole - half_have_);
}

/// Opens a whole record in its place; finds its content's type behind the padding (5.4).
bool record_engine::unseal(std::byte* record, std::size_t size, content_place& out) {
  switch (read_.open(record, size)) {
    case traffic_key::opened::no_memory:
      return no_memory();
    case traffic_key::opened::forged:
      return refuse(alert::bad_record_mac, "a record that was changed on its way");
    case traffic_key::opened::good:
      break;
  }
  std::byte* const text = record + record_head_bytes;
  std::size_t end = size - record_head_bytes - record_tag_bytes;
  if (end > content_bytes_max + 1)
    return refuse(alert::record_overflow, "a record with more than 16,384 bytes of content");
  while (end != 0 && text[end - 1] == std::byte{0}) --end;
  if (end == 0) return refuse(alert::unexpected_message, "a record of nothing but padding");
  out = {text, end - 1, static_cast<content>(text[end - 1])};
  return true;
}

/// Counts an empty record, which costs the peer nothing. Refuses more than the limit in a row.
bool record_engine::count_empty() {
  if (++empty_in_a_row_ <= bounds_.empty_records_max) return true;
  return refuse(alert::unexpected_message,
                "more empty records in a row than limits::empty_records_max");
}

/// Handles a record other than application data with content.
bool record_engine::handle(const content_place& c) {
  if (message_have_ != 0 && c.kind != content::handshake)
    return refuse(alert::unexpected_message, "a record within a handshake message");
  const byte_view text(c.at, c.size);
  switch (c.kind) {
    case content::application_data:
      return count_empty();
    case content::handshake:
      return handle_handshake(text);
    case content::alert:
      return handle_alert(text);
    case content::change_cipher_spec:
      break;
  }
  return refuse(alert::unexpected_message, "a record of a type that does not belong here");
}

bool record_engine::handle_handshake(byte_view text) {
  if (text.empty())
    return refuse(alert::unexpected_message, "an empty part of a handshake message");
  for (std::size_t i = 0; i != text.size(); ++i) {
    const std::size_t at = message_have_++;
    message_.at(at) = text[i];
    if (at < key_update_head.size() && text[i] != key_update_head.at(at))
      return at == 0 ? refuse(alert::unexpected_message, "a handshake message other than KeyUpdate")
                     : refuse(alert::decode_error, "a KeyUpdate of a wrong length");
    if (message_have_ != message_.size()) continue;
    message_have_ = 0;
    // RFC 8446, 5.1: no message may follow in a record before the keys change.
    if (i + 1 != text.size())
      return refuse(alert::unexpected_message, "bytes behind a KeyUpdate in its record");
    if (!handle_key_update()) return false;
  }
  return true;
}

bool record_engine::handle_key_update() {
  if (message_[4] > std::byte{1})
    return refuse(alert::illegal_parameter, "a KeyUpdate that asks for something unknown");
  if (too_many_late_messages())
    return refuse(alert::unexpected_message, "more key updates than limits::key_updates_max");
  if (!read_.advance()) return no_memory();
  // After close_notify no record may be sent.
  if (message_[4] == std::byte{1} && state() != engine_state::ended && !send_key_update())
    return false;
  return true;
}

bool record_engine::handle_alert(byte_view text) {
  constexpr std::size_t alert_bytes = 2;
  if (text.size() != alert_bytes) return refuse(alert::decode_error, "an alert of a wrong length");
  switch (const auto what = static_cast<alert>(text[1])) {
    case alert::close_notify:
      read_ended_ = true;
      return true;
    case alert::user_canceled:  // close_notify follows
      return count_empty();
    default:  // RFC 8446, 6.2: every other alert is fatal, at any level
      fail(trouble_of_alert("reading from a TLS stream", static_cast<std::uint8_t>(what)));
      return false;
  }
}

/// Gives `kept` bytes of the block, which begin at `from`.
engine::step record_engine::give(received& into, std::size_t from, std::size_t kept) {
  if (eaten_ == in_.size()) {
    in_.remove_prefix(from);
    in_.truncate(kept);
    into = std::move(in_);
    eaten_ = 0;
  } else {
    into = received::copy_of(byte_view(in_.data().data() + from, kept));
  }
  return step::done;
}

engine::step record_engine::open(received& into) {
  into.release();
  std::size_t from = 0;  // the content of the block's records, moved together
  std::size_t kept = 0;
  while (!broken() && !read_ended_) {
    const std::size_t left = in_.size() - eaten_;
    if (left == 0) {
      if (kept != 0) return give(into, from, kept);
      let_go();
      if (!input_ended_) return step::wants_input;
      fail(trouble_of_cut("reading from a TLS stream"));
      break;
    }
    content_place c{};
    std::byte* const here = in_.writable().data() + eaten_;
    const bool has_head = half_have_ == 0 && left >= record_head_bytes;
    if (has_head && !head_is_good(here)) break;
    const std::size_t size = has_head ? record_head_bytes + length_in(here) : 0;
    if (has_head && size <= left) {
      eaten_ += size;
      if (!unseal(here, size, c)) break;
      if (c.kind == content::application_data && c.size != 0 && message_have_ == 0) {
        std::byte* const block = in_.writable().data();
        if (kept == 0) {
          from = static_cast<std::size_t>(c.at - block);
        } else {
          std::memmove(block + from + kept, c.at, c.size);
        }
        kept += c.size;
        empty_in_a_row_ = 0;
      } else if (!handle(c)) {
        break;
      }
      continue;
    }
    if (!fill_half()) continue;  // the block is used up, or the engine is broken
    const std::size_t whole = half_have_;
    half_have_ = 0;
    if (!unseal(half_, whole, c)) break;
    if (c.kind == content::application_data && c.size != 0 && message_have_ == 0) {
      empty_in_a_row_ = 0;
      into = received::owned(std::exchange(half_, nullptr), record_head_bytes,
                             static_cast<std::uint32_t>(c.size));
      return step::done;
    }
    const bool good = handle(c);
    drop_half();
    if (!good) break;
  }
  if (broken()) drop_half();
  if (kept != 0) {
    if (read_ended_) eaten_ = in_.size();  // the peer may send nothing after close_notify
    return give(into, from, kept);         // an error is returned by the next call
  }
  let_go();
  return broken() ? step::failed : step::done;
}

/// Seals one record behind what is in out_.
bool record_engine::seal_record(content kind, text_cursor& from, std::size_t size) {
  if (!out_.reserve(size + record_extra_bytes) || !write_.seal(out_.end(), kind, from, size)) {
    fail({std::errc::not_enough_memory, "writing to a TLS stream: out of memory"});
    return false;
  }
  out_.grow(size + record_extra_bytes);
  return true;
}

bool record_engine::send_key_update() {
  std::byte message[key_update_bytes] = {};  // the last byte asks for no answer
  std::ranges::copy(key_update_head, message);
  const byte_view text(message, sizeof message);
  text_cursor from(std::span(&text, 1));
  if (!seal_record(content::handshake, from, sizeof message)) return false;
  return write_.advance() || no_memory();
}

bool record_engine::send_alert(bool fatal, alert what) {
  if (!begin_end()) return true;
  const std::byte message[2] = {fatal ? std::byte{2} : std::byte{1}, static_cast<std::byte>(what)};
  const byte_view text(message, sizeof message);
  text_cursor from(std::span(&text, 1));
  return seal_record(content::alert, from, sizeof message);
}

std::size_t record_engine::seal(std::span<const byte_view> texts, std::size_t most) {
  std::size_t size = 0;
  for (const byte_view& t : texts) size += t.size();
  size = std::min(size, most);
  if (broken() || size == 0) return 0;
  const std::size_t records = (size + content_bytes_max - 1) / content_bytes_max;
  if (!out_.reserve(size + records * record_extra_bytes)) {
    fail({std::errc::not_enough_memory, "writing to a TLS stream: out of memory"});
    return 0;
  }
  text_cursor from(texts);
  std::size_t sealed = 0;
  while (sealed != size) {
    // RFC 8446, 5.5: a key seals a limited number of records, of which KeyUpdate is the last.
    const std::uint64_t most_records = std::min(bounds_.records_per_key_max, key_records_max);
    if (write_.sequence() + 1 >= most_records && !send_key_update()) break;
    const std::size_t part = std::min(size - sealed, content_bytes_max);
    if (!seal_record(content::application_data, from, part)) break;
    sealed += part;
  }
  return sealed;
}

void record_engine::say_end() noexcept {
  if (broken()) return;
  try {
    static_cast<void>(send_alert(false, alert::close_notify));
  } catch (const std::bad_alloc&) {
    fail({std::errc::not_enough_memory, {}});
  }
}

session record_engine::agreed() const {
  session s = *agreed_;
  s.trouble = trouble_.text;
  return s;
}

}  // namespace heddle::tls::detail
