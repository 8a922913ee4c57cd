// SPDX-License-Identifier: MIT
// The place that keeps certificates and account keys between runs. `directory_store` keeps each in
// a file; a program may have a store of its own, such as a database that several machines share.
//
//   auto store = std::make_shared<acme::directory_store>("/var/lib/heddle");
//   co_await store->save("ca.example/www.example.org", pem);
//   // writes /var/lib/heddle/ca.example/www.example.org.pem
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "heddle/core/task.hh"

namespace heddle::acme {

/// A claim on a name, which ends with the last copy; null if another process has it.
using store_claim = std::shared_ptr<void>;

/// Names consist of parts in [a-z0-9.-_], separated by '/'. Texts are PEM: of a certificate its
/// key, then the chain; of an account its key. Only NAME.failures is a line of numbers and names,
/// about the certificate NAME whose last orders failed.
/// Thread: one color. Fails: throws failure that names the place.
class certificate_store {
 public:
  virtual ~certificate_store() = default;

  /// The text of this name; nothing if there is none.
  [[nodiscard]] virtual task<std::optional<std::string>> load(std::string name) = 0;
  /// Stores the text: load() gives it afterwards, also after a power failure. If save() fails,
  /// load() gives the text before.
  [[nodiscard]] virtual task<> save(std::string name, std::string text) = 0;
  /// Where the text of this name is, for messages: a path, say.
  [[nodiscard]] virtual std::string place_of(const std::string& name) const { return name; }
  /// A claim for the process that renews a certificate; null if another has it. Does not wait.
  [[nodiscard]] virtual task<store_claim> claim(std::string name) = 0;
};

/// Files FOLDER/NAME.pem (and NAME.failures) that only their owner may read, in folders that only
/// it may enter. A file is written beside its place, synced, and moved there, and then its folder
/// is synced, so that there is never half a file. claim() locks FOLDER/NAME.lock (flock, which ends
/// with the process).
class directory_store final : public certificate_store {
 public:
  static constexpr std::size_t bytes_max = 1024 * 1024;  ///< size of one text

  explicit directory_store(std::string folder);

  [[nodiscard]] task<std::optional<std::string>> load(std::string name) override;
  [[nodiscard]] task<> save(std::string name, std::string text) override;
  [[nodiscard]] task<store_claim> claim(std::string name) override;
  [[nodiscard]] std::string place_of(const std::string& name) const override;

 private:
  [[nodiscard]] std::string path_of(const std::string& name, const char* ending) const;
  [[nodiscard]] task<> make_folders(std::string path) const;

  std::string folder_;
  std::shared_ptr<std::set<std::string>> claimed_;  // names claimed in this process
};

}  // namespace heddle::acme
