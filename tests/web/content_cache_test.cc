// SPDX-License-Identifier: MIT
// The cache of contents: bounded, least recently used first, counted right.
#include "heddle/web/detail/content_cache.hh"

#include <map>
#include <random>

#include "heddle/sched/runtime.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

using namespace heddle;
using namespace heddle::http;

namespace {

content of(const std::string& path, std::size_t size) {
  content c;
  c.path = path;
  c.plain.body = piece(std::string(size, 'x'));
  return c;
}

}  // namespace

HEDDLE_TEST(content_cache, "what was used least recently goes first") {
  test::virtual_runtime v;
  content_cache cache(4 * of("/a", 1000).bytes());
  for (const char* path : {"/a", "/b", "/c", "/d"}) cache.insert(of(path, 1000));
  EXPECT_NE(cache.find("/a"), nullptr);  // so /b is the oldest now
  cache.insert(of("/e", 1000));
  EXPECT_EQ(cache.find("/b"), nullptr);
  for (const char* path : {"/a", "/c", "/d", "/e"}) EXPECT_NE(cache.find(path), nullptr) << path;
  EXPECT_EQ(cache.evictions(), 1u);
}

HEDDLE_TEST(content_cache, "empty files are bounded too") {
  test::virtual_runtime v;
  content_cache cache(64 * 1024);
  for (int i = 0; i < 10'000; ++i) cache.insert(of('/' + std::to_string(i), 0));
  EXPECT_LE(cache.bytes(), 64u * 1024);
  EXPECT_LT(cache.count(), 200u);
}

HEDDLE_TEST(content_cache, "an entry that grows is counted, and others make room for it") {
  test::virtual_runtime v;
  content_cache cache(3 * of("/a", 1000).bytes());
  cache.insert(of("/a", 1000));
  cache.insert(of("/b", 1000));
  content& grown = *cache.find("/a");
  static_cast<void>(cache.find("/b"));
  grown.in(content_coding::gzip).body = piece(std::string(3000, 'z'));
  cache.grew(grown);
  EXPECT_EQ(cache.find("/b"), nullptr);
  EXPECT_EQ(cache.bytes(), cache.find("/a")->bytes());
  cache.insert(of("/a", 10));  // takes the place of the other
  EXPECT_EQ(cache.count(), 1u);
  EXPECT_EQ(cache.bytes(), of("/a", 10).bytes());
  cache.erase("/a");
  EXPECT_EQ(cache.bytes(), 0u);
}

HEDDLE_TEST(content_cache, "what is found is what stands there, whatever came and went before") {
  test::virtual_runtime v;
  content_cache cache(1 << 30);
  std::map<std::string, std::size_t> model;
  std::mt19937 draw(7);
  for (int i = 0; i < 20'000; ++i) {
    const std::string path = '/' + std::to_string(draw() % 300);  // more than are kept at hand
    const auto there = model.find(path);
    switch (draw() % 4) {
      case 0:
        model[path] = static_cast<std::size_t>(i % 50);
        cache.insert(of(path, model[path]));
        break;
      case 1:
        model.erase(path);
        cache.erase(path);
        break;
      default:
        content* const c = cache.find(path);
        ASSERT_EQ(c != nullptr, there != model.end()) << path;
        if (c == nullptr) break;
        ASSERT_EQ(c->path, path);
        ASSERT_EQ(c->plain.body.size(), there->second);
    }
    if (i == 10'000) {
      cache.clear();
      model.clear();
    }
  }
  EXPECT_EQ(cache.count(), model.size());
}

HEDDLE_TEST(content_cache, "a piece that is being sent outlives its entry") {
  test::virtual_runtime v;
  content_cache cache(1 << 20);
  const piece sent = cache.insert(of("/a", 1000)).plain.body;
  cache.clear();
  EXPECT_EQ(cache.find("/a"), nullptr);
  EXPECT_EQ(sent.bytes().text(), std::string(1000, 'x'));
}
